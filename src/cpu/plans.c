#include "plans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "kwsim/log.h"
#include "kwsim/clock.h"

#if KW_CPU_DOUBLE
static const char WISDOM_NAME[] = "fftw-double.wisdom";
#else
static const char WISDOM_NAME[] = "fftw-single.wisdom";
#endif

/* Replaced atomically; merged with what another process wrote meanwhile. */
static void save_wisdom(const char *path)
{
    char fresh[4200];
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    FFTW(import_wisdom_from_filename)(path);
    if (!FFTW(export_wisdom_to_filename)(fresh) || rename(fresh, path) != 0) {
        unlink(fresh);
        kw_log(KW_LOG_DETAIL, "FFT plans are not kept: cannot write %s", path);
    }
}

static void make_plans(KW(plans) * plans, const kw_layout *layout, kw_real *plane, kw_complex *spectrum,
                       kw_complex *tile)
{
    const int flags = FFTW_MEASURE | FFTW_DESTROY_INPUT;
    int64_t columns = layout->slots.n[KW_COLUMNS];
    FFTW(iodim64) to[2] = {{layout->slots.n[KW_ROWS], columns, layout->slots.bins}, {columns, 1, 1}};
    FFTW(iodim64) from[2] = {{layout->slots.n[KW_ROWS], layout->slots.bins, columns}, {columns, 1, 1}};
    FFTW(iodim64) gather = {layout->slots.n[KW_LINES], layout->spec_pitch, KW_TILE};
    FFTW(iodim64) scatter = {layout->slots.n[KW_LINES], KW_TILE, layout->spec_pitch};
    FFTW(iodim64) lines = {KW_TILE, 1, 1};
    plans->plane_forward =
        FFTW(plan_guru64_dft_r2c)(2, to, 0, NULL, plane, spectrum, FFTW_MEASURE | FFTW_PRESERVE_INPUT);
    plans->plane_inverse = FFTW(plan_guru64_dft_c2r)(2, from, 0, NULL, spectrum, plane, flags);
    plans->line_forward =
        FFTW(plan_guru64_dft)(1, &gather, 1, &lines, spectrum, tile, FFTW_FORWARD, FFTW_MEASURE | FFTW_PRESERVE_INPUT);
    plans->line_inverse = FFTW(plan_guru64_dft)(1, &scatter, 1, &lines, tile, spectrum, FFTW_BACKWARD, flags);
}

/* FNV-1a over the printed plans. */
static void name_plans(KW(plans) * plans)
{
    FFTW(plan)
    all[10] = {plans->plane_forward,   plans->plane_inverse,   plans->line_forward,    plans->line_inverse,
               plans->axis_forward[0], plans->axis_forward[1], plans->axis_forward[2], plans->axis_inverse[0],
               plans->axis_inverse[1], plans->axis_inverse[2]};
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < 10; i++) {
        char *text = all[i] != NULL ? FFTW(sprint_plan)(all[i]) : NULL;
        for (const char *c = text; c != NULL && *c != '\0'; c++) {
            hash ^= (unsigned char)*c;
            hash *= UINT64_C(1099511628211);
        }
        free(text);
    }
    snprintf(plans->id, sizeof plans->id, "fftw-%016llx", (unsigned long long)hash);
}

kw_status KW(plans_make)(KW(plans) * plans, const kw_layout *layout, kw_real *plane, kw_complex *spectrum,
                         kw_complex *tile, int wisdom)
{
    char path[4096];
    double start = kw_clock_seconds();
    bool kept = wisdom && kw_cache_path(WISDOM_NAME, path, sizeof path);
    if (kept) FFTW(import_wisdom_from_filename)(path);
    make_plans(plans, layout, plane, spectrum, tile);
    if (!plans->plane_forward || !plans->plane_inverse || !plans->line_forward || !plans->line_inverse)
        return kw_fail(KW_ERR_RESOURCE, "FFTW cannot plan transforms of %lld x %lld x %lld points",
                       (long long)layout->slots.n[0], (long long)layout->slots.n[1], (long long)layout->slots.n[2]);
    if (kept) save_wisdom(path);
    name_plans(plans);
    plans->seconds = kw_clock_seconds() - start;
    return KW_OK;
}

kw_status KW(plans_make_axes)(KW(plans) * plans, const kw_layout *layout, const int width[3], kw_complex *tile,
                              int wisdom)
{
    char path[4096];
    double start = kw_clock_seconds();
    bool kept = wisdom && kw_cache_path(WISDOM_NAME, path, sizeof path);
    for (int a = 0; a < layout->slots.dims; a++) {
        int64_t n = layout->slots.n[layout->slots.slot[a]], w = width[a];
        bool columns = layout->slots.slot[a] == KW_COLUMNS;
        FFTW(iodim64) line = {n, columns ? 1 : w, columns ? 1 : w}, lines = {w, columns ? n : 1, columns ? n : 1};
        plans->axis_forward[a] = FFTW(plan_guru64_dft)(1, &line, 1, &lines, tile, tile, FFTW_FORWARD, FFTW_MEASURE);
        plans->axis_inverse[a] = FFTW(plan_guru64_dft)(1, &line, 1, &lines, tile, tile, FFTW_BACKWARD, FFTW_MEASURE);
        if (plans->axis_forward[a] == NULL || plans->axis_inverse[a] == NULL)
            return kw_fail(KW_ERR_RESOURCE, "FFTW cannot plan transforms of %lld points", (long long)n);
    }
    if (kept) save_wisdom(path);
    name_plans(plans);
    plans->seconds += kw_clock_seconds() - start;
    return KW_OK;
}

void KW(plans_destroy)(KW(plans) * plans)
{
    for (int a = 0; a < 3; a++) {
        if (plans->axis_forward[a] != NULL) FFTW(destroy_plan)(plans->axis_forward[a]);
        if (plans->axis_inverse[a] != NULL) FFTW(destroy_plan)(plans->axis_inverse[a]);
        plans->axis_forward[a] = plans->axis_inverse[a] = NULL;
    }
    FFTW(plan) * all[4] = {&plans->plane_forward, &plans->plane_inverse, &plans->line_forward, &plans->line_inverse};
    for (int i = 0; i < 4; i++) {
        if (*all[i] != NULL) FFTW(destroy_plan)(*all[i]);
        *all[i] = NULL;
    }
}
