/* Tables and maps, converted from core's doubles and from the source of voxels. */
#include <stdlib.h>
#include <string.h>

#include "kwsim/tables.h"
#include "sim.h"

static const kw_precision OWN = sizeof(kw_real) == 8 ? KW_DOUBLE : KW_SINGLE;

/* ---- tables ---- */

static void convert_table(kw_real *dst, const double *src, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dst[i] = (kw_real)src[i];
}

/* One axis: PML, and the gradient factors as the tiles read them. `work` holds 2 n[axis] numbers. */
static void fill_axis_tables(kw_sim *sim, int a, double *work)
{
    const kw_slots *slots = &sim->layout.slots;
    const kw_problem *problem = sim->problem;
    int64_t n = slots->n[slots->slot[a]];
    kw_table_pml(problem, slots->axis[a], false, work);
    convert_table(sim->pml[a], work, n);
    kw_table_pml(problem, slots->axis[a], true, work);
    convert_table(sim->pml_staggered[a], work, n);
    kw_table_gradient(&problem->grid, slots->axis[a], n, work);
    if (slots->slot[a] == KW_LINES) {
        convert_table(sim->gradient[a], work, 2 * n);
        return;
    }
    for (int64_t column = 0; column < slots->n[KW_ROWS] * slots->bins; column++) {
        int64_t bin = slots->slot[a] == KW_ROWS ? column / slots->bins : column % slots->bins;
        sim->gradient[a][2 * column] = (kw_real)work[2 * bin];
        sim->gradient[a][2 * column + 1] = (kw_real)work[2 * bin + 1];
    }
}

/* The tables of |k|, each over the lines' folded half and all columns, divided by the number of points. k2 holds the
 * axes' k^2 by slot. */
static void fill_spectral_tables(kw_sim *sim, double *const k2[3])
{
    const kw_layout *layout = &sim->layout;
    const kw_problem *problem = sim->problem;
    double scale = 1.0 / (double)kw_grid_points(&problem->grid), c_ref = problem->c_ref, dt = problem->time.dt;
    double y = problem->absorption.power;
#pragma omp parallel for num_threads(sim->threads) schedule(static)
    for (int64_t x = 0; x < layout->slots.n[KW_LINES] / 2 + 1; x++)
        for (int64_t column = 0; column < layout->slots.n[KW_ROWS] * layout->slots.bins; column++) {
            double sum = k2[KW_LINES][x] + k2[KW_ROWS][column / layout->slots.bins] +
                         k2[KW_COLUMNS][column % layout->slots.bins];
            int64_t at = x * layout->spec_pitch + column;
            sim->kappa[at] = (kw_real)(scale * kw_kappa(c_ref, dt, sum));
            if (sim->kappa_source != NULL) sim->kappa_source[at] = (kw_real)(scale * kw_kappa_source(c_ref, dt, sum));
            for (int j = 0; j < 2; j++)
                if (sim->power[j] != NULL) sim->power[j][at] = (kw_real)(scale * kw_power_of_k(sum, y - 2 + j));
        }
}

static kw_status fill_tables(kw_sim *sim)
{
    const kw_slots *slots = &sim->layout.slots;
    int64_t total = slots->n[0] + slots->n[1] + slots->n[2];
    double *memory = calloc((size_t)total * 3, sizeof(double));
    if (memory == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for tables");
    double *work = memory + total;
    double *k2[3] = {memory, memory + slots->n[0], memory + slots->n[0] + slots->n[1]};
    for (int a = 0; a < slots->dims; a++) {
        kw_table_k2(&sim->problem->grid, slots->axis[a], slots->n[slots->slot[a]], k2[slots->slot[a]]);
        fill_axis_tables(sim, a, work);
    }
    fill_spectral_tables(sim, k2);
    free(memory);
    return KW_OK;
}

/* ---- voxels ---- */

/* Copies dense planes of the source into a padded field. */
static kw_status fill_field(kw_sim *sim, const kw_field_source *source, kw_quantity quantity, kw_real *field)
{
    const kw_grid *grid = &sim->problem->grid;
    int64_t plane = grid->n[1] * grid->n[2];
    int64_t planes = (INT64_C(8) << 20) / plane;
    planes = planes < 1 ? 1 : planes > grid->n[0] ? grid->n[0] : planes;
    kw_real *slab = malloc((size_t)(planes * plane) * sizeof *slab);
    if (slab == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory to read the %s", kw_quantity_name(quantity));
    kw_status status = KW_OK;
    for (int64_t x0 = 0; x0 < grid->n[0] && status == KW_OK; x0 += planes) {
        int64_t nx = x0 + planes < grid->n[0] ? planes : grid->n[0] - x0;
        status = source->read(source->self, quantity, x0, nx, OWN, slab);
        for (int64_t i = 0; i < nx * plane && status == KW_OK; i++)
            field[kw_layout_offset(&sim->layout, x0 * plane + i)] = slab[i];
    }
    free(slab);
    return status;
}

/* tau and eta of a plane of the user's grid, from c0 and alpha in double. */
static void absorb_plane(kw_sim *sim, int64_t x, int64_t plane, const double *c0, const double *alpha)
{
    for (int64_t i = 0; i < plane; i++) {
        int64_t at = kw_layout_offset(&sim->layout, x * plane + i);
        double tau, eta;
        kw_absorption_factors(sim->problem, c0[i], alpha[i], &tau, &eta);
        sim->tau_map[at] = (kw_real)tau;
        if (sim->eta_map != NULL) sim->eta_map[at] = (kw_real)eta;
    }
}

static kw_status fill_absorption(kw_sim *sim, const kw_field_source *source)
{
    const kw_problem *problem = sim->problem;
    const kw_map *map = problem->map;
    double tau, eta;
    if (!problem->absorption.on) return KW_OK;
    kw_absorption_factors(problem, map[KW_QUANTITY_C0].min, map[KW_QUANTITY_ALPHA].min, &tau, &eta);
    sim->tau = (kw_real)tau;
    sim->eta = (kw_real)eta;
    if (sim->tau_map == NULL) return KW_OK;
    int64_t plane = problem->grid.n[1] * problem->grid.n[2];
    double *c0 = malloc((size_t)plane * 2 * sizeof *c0);
    if (c0 == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the absorption");
    double *alpha = c0 + plane;
    kw_status status = KW_OK;
    for (int64_t x = 0; x < problem->grid.n[0] && status == KW_OK; x++) {
        status = source->read(source->self, KW_QUANTITY_C0, x, 1, KW_DOUBLE, c0);
        if (status == KW_OK) status = source->read(source->self, KW_QUANTITY_ALPHA, x, 1, KW_DOUBLE, alpha);
        if (status == KW_OK) absorb_plane(sim, x, plane, c0, alpha);
    }
    free(c0);
    return status;
}

static kw_status fill_medium(kw_sim *sim, const kw_field_source *source)
{
    const kw_map *map = sim->problem->map;
    sim->dt = (kw_real)sim->problem->time.dt;
    sim->c2 = (kw_real)(map[KW_QUANTITY_C0].min * map[KW_QUANTITY_C0].min);
    sim->rho0 = (kw_real)map[KW_QUANTITY_RHO0].min;
    sim->bona = (kw_real)map[KW_QUANTITY_BONA].min;
    if (sim->rho0_map != NULL) KW_TRY(fill_field(sim, source, KW_QUANTITY_RHO0, sim->rho0_map));
    for (int a = 0; a < sim->layout.slots.dims && sim->problem->staggered; a++)
        KW_TRY(
            fill_field(sim, source, (kw_quantity)(KW_QUANTITY_RHO0_X + sim->layout.slots.axis[a]), sim->staggered[a]));
    if (sim->bona_map != NULL) KW_TRY(fill_field(sim, source, KW_QUANTITY_BONA, sim->bona_map));
    if (sim->c2_map != NULL) {
        KW_TRY(fill_field(sim, source, KW_QUANTITY_C0, sim->c2_map));
        int64_t count = sim->layout.slots.n[KW_LINES] * sim->layout.real_pitch;
        for (int64_t i = 0; i < count; i++) sim->c2_map[i] *= sim->c2_map[i];
    }
    return fill_absorption(sim, source);
}

kw_status KW(fill)(kw_sim *sim, const kw_field_source *source)
{
    KW_TRY(fill_tables(sim));
    KW_TRY(fill_medium(sim, source));
    if (sim->mixed.on) KW_TRY(KW(mixed_tables)(sim));
    KW_TRY(KW(sources_fill)(sim, source));
    KW_TRY(KW(recordings_fill)(sim));
    return sim->problem->has_p0 ? fill_field(sim, source, KW_QUANTITY_P0, sim->p) : KW_OK;
}
