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

/* Sorts the numbers of the points by their plane (counting sort); start has a place for each plane and one more. */
static void sort_by_plane(const kw_source *source, int64_t planes, int64_t *start, int64_t *order)
{
    for (int64_t i = 0; i < source->count; i++) start[source->index[3 * i] + 1]++;
    for (int64_t x = 0; x < planes; x++) start[x + 1] += start[x];
    for (int64_t i = 0; i < source->count; i++) order[start[source->index[3 * i]]++] = i;
    for (int64_t x = planes; x > 0; x--) start[x] = start[x - 1];
    start[0] = 0;
}

static kw_status scale_planes(const kw_problem *problem, const kw_source *source, const kw_field_source *fields,
                              const int64_t *start, const int64_t *order, double *plane, double *scale)
{
    for (int64_t x = 0; x < problem->grid.n[0]; x++) {
        if (start[x] == start[x + 1]) continue;
        KW_TRY(fields->read(fields->self, KW_QUANTITY_C0, x, 1, KW_DOUBLE, plane));
        for (int64_t j = start[x]; j < start[x + 1]; j++) {
            const int64_t *index = source->index + 3 * order[j];
            scale[order[j]] = factor(problem, source, plane[index[1] * problem->grid.n[2] + index[2]]);
        }
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
    int64_t planes = problem->grid.n[0], points = problem->grid.n[1] * problem->grid.n[2];
    int64_t *start = calloc((size_t)(planes + 1), sizeof *start),
            *order = malloc((size_t)source->count * sizeof *order);
    double *plane = malloc((size_t)points * sizeof *plane);
    kw_status status = KW_OK;
    if (start == NULL || order == NULL || plane == NULL) {
        status = kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
    } else {
        sort_by_plane(source, planes, start, order);
        status = scale_planes(problem, source, fields, start, order, plane, scale);
    }
    free(start);
    free(order);
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
