#include "kwsim/sources.h"

#include <math.h>
#include <stdlib.h>

static double factor(const kw_problem *problem, const kw_source *source, double c0)
{
    const kw_grid *grid = &problem->grid;
    double dims = kw_grid_dims(grid), dt = problem->time.dt;
    int first = kw_axis_active(grid, 0) ? 0 : kw_axis_active(grid, 1) ? 1 : 2;
    if (source->quantity == KW_SOURCE_P)
        return source->mode == KW_DIRICHLET ? 1.0 / (dims * c0 * c0) : 2.0 * dt / (dims * c0 * grid->h[first]);
    return source->mode == KW_DIRICHLET ? 1.0 : 2.0 * c0 * dt / grid->h[source->quantity - KW_SOURCE_UX];
}

/* Factors of the points in plane x, whose sound speeds are in `plane`. */
static void scale_plane(const kw_problem *problem, const kw_source *source, int64_t x, const double *plane,
                        double *scale)
{
    for (int64_t i = 0; i < source->count; i++) {
        const int64_t *index = source->index + 3 * i;
        if (index[0] == x) scale[i] = factor(problem, source, plane[index[1] * problem->grid.n[2] + index[2]]);
    }
}

static kw_status scale_planes(const kw_problem *problem, const kw_source *source, const kw_field_source *fields,
                              char *wanted, double *plane, double *scale)
{
    for (int64_t i = 0; i < source->count; i++) wanted[source->index[3 * i]] = 1;
    for (int64_t x = 0; x < problem->grid.n[0]; x++) {
        if (!wanted[x]) continue;
        KW_TRY(fields->read(fields->self, KW_QUANTITY_C0, x, 1, KW_DOUBLE, plane));
        scale_plane(problem, source, x, plane, scale);
    }
    return KW_OK;
}

kw_status kw_source_scales(const kw_problem *problem, const kw_source *source, const kw_field_source *fields,
                           double *scale)
{
    const kw_map *c0 = &problem->map[KW_QUANTITY_C0];
    if (kw_map_is_constant(c0)) {
        for (int64_t i = 0; i < source->count; i++) scale[i] = factor(problem, source, c0->min);
        return KW_OK;
    }
    char *wanted = calloc((size_t)problem->grid.n[0], 1);
    double *plane = malloc((size_t)(problem->grid.n[1] * problem->grid.n[2]) * sizeof *plane);
    kw_status status = wanted != NULL && plane != NULL ? scale_planes(problem, source, fields, wanted, plane, scale)
                                                       : kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
    free(wanted);
    free(plane);
    return status;
}

double kw_source_value(const kw_source *source, int64_t row, int64_t n)
{
    const double *signal = source->signal + (source->signals > 1 ? row * source->samples : 0);
    if (n < source->samples) return signal[n];
    return source->after == KW_AFTER_HOLD ? signal[source->samples - 1] : 0.0;
}

bool kw_source_acts(const kw_source *source, int64_t n)
{
    return n < source->samples || source->after != KW_AFTER_STOP;
}

double kw_problem_amplitude(const kw_problem *problem)
{
    const kw_map *map = problem->map;
    double largest = problem->has_p0 ? fmax(fabs(map[KW_QUANTITY_P0].min), fabs(map[KW_QUANTITY_P0].max)) : 0.0;
    double impedance = map[KW_QUANTITY_C0].max * map[KW_QUANTITY_RHO0].max;
    for (int64_t s = 0; s < problem->source_count; s++) {
        const kw_source *source = &problem->sources[s];
        for (int64_t i = 0; i < source->signals * source->samples; i++)
            largest = fmax(largest, fabs(source->signal[i]) * (source->quantity == KW_SOURCE_P ? 1.0 : impedance));
    }
    return largest;
}
