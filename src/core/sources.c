#include "kwsim/sources.h"

#include <math.h>
#include <stdlib.h>

static double factor(const kw_problem *problem, const kw_source *source, double medium)
{
    const kw_grid *grid = &problem->grid;
    double dims = kw_grid_dims(grid), dt = problem->time.dt, cell = 1.0;
    int first = kw_axis_active(grid, 0) ? 0 : kw_axis_active(grid, 1) ? 1 : 2;
    if (source->prescaled) return 1.0;
    for (int i = 0; i < 3; i++)
        if (kw_axis_active(grid, i)) cell *= grid->h[i];
    if (source->quantity == KW_SOURCE_VOLUME) return dt * medium / (dims * cell);
    if (source->quantity == KW_SOURCE_P)
        return source->mode == KW_DIRICHLET ? 1.0 / (dims * medium * medium)
                                            : 2.0 * dt / (dims * medium * grid->h[first]);
    return source->mode == KW_DIRICHLET ? 1.0 : 2.0 * medium * dt / grid->h[source->quantity - KW_SOURCE_UX];
}

/* ---- order ---- */

typedef struct placed {
    int64_t offset, number;
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

kw_status kw_source_order(const kw_grid *grid, const kw_source *source, int64_t *order)
{
    placed *all = malloc((size_t)source->count * sizeof *all + 1);
    if (all == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
    bool sorted = true;
    for (int64_t i = 0; i < source->count; i++) {
        all[i] = (placed){kw_grid_offset(grid, source->index + 3 * i), i};
        sorted &= i == 0 || all[i - 1].offset <= all[i].offset;
    }
    if (!sorted) qsort(all, (size_t)source->count, sizeof *all, by_place);
    for (int64_t i = 0; i < source->count; i++) order[i] = all[i].number;
    free(all);
    return KW_OK;
}

/* ---- scales ---- */

static kw_status scale_planes(const kw_problem *problem, const kw_source *source, const kw_field_source *fields,
                              const int64_t *order, double *plane, double *scale)
{
    kw_quantity quantity = source->quantity == KW_SOURCE_VOLUME ? KW_QUANTITY_RHO0 : KW_QUANTITY_C0;
    int64_t held = -1;
    for (int64_t j = 0; j < source->count; j++) {
        const int64_t *index = source->index + 3 * order[j];
        if (index[0] != held) KW_TRY(fields->read(fields->self, quantity, index[0], 1, KW_DOUBLE, plane));
        held = index[0];
        scale[order[j]] = factor(problem, source, plane[index[1] * problem->grid.n[2] + index[2]]);
    }
    return KW_OK;
}

kw_status kw_source_scales(const kw_problem *problem, const kw_source *source, const kw_field_source *fields,
                           double *scale)
{
    const kw_map *map = &problem->map[source->quantity == KW_SOURCE_VOLUME ? KW_QUANTITY_RHO0 : KW_QUANTITY_C0];
    kw_status status = KW_OK;
    if (kw_map_is_constant(map)) {
        for (int64_t i = 0; i < source->count; i++) scale[i] = factor(problem, source, map->min);
    } else {
        int64_t *order = malloc((size_t)source->count * sizeof *order + 1);
        double *plane = malloc((size_t)(problem->grid.n[1] * problem->grid.n[2]) * sizeof *plane);
        if (order == NULL || plane == NULL) status = kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
        if (status == KW_OK) status = kw_source_order(&problem->grid, source, order);
        if (status == KW_OK) status = scale_planes(problem, source, fields, order, plane, scale);
        free(order);
        free(plane);
    }
    for (int64_t i = 0; i < source->count && source->weight != NULL && status == KW_OK; i++)
        scale[i] *= source->weight[i];
    return status;
}

/* ---- values ---- */

static double sample_at(const double *signal, int64_t samples, int64_t k)
{
    return k >= 0 && k < samples ? signal[k] : 0.0;
}

double kw_source_value(const kw_source *source, int64_t i, int64_t n)
{
    const double *signal = source->signal + kw_source_row(source, i) * source->samples;
    if (source->lag == NULL) {
        if (n < source->samples) return signal[n];
        return source->after == KW_AFTER_HOLD ? signal[source->samples - 1] : 0.0;
    }
    double x = (double)(n * source->oversampling) - source->lag[i], below = floor(x), f = x - below;
    int64_t k = (int64_t)below;
    return -f * (f - 1.0) * (f - 2.0) / 6.0 * sample_at(signal, source->samples, k - 1) +
           (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0 * sample_at(signal, source->samples, k) -
           (f + 1.0) * f * (f - 2.0) / 2.0 * sample_at(signal, source->samples, k + 1) +
           (f + 1.0) * f * (f - 1.0) / 6.0 * sample_at(signal, source->samples, k + 2);
}

bool kw_source_acts(const kw_source *source, int64_t n)
{
    return n < source->act_steps || source->after != KW_AFTER_STOP;
}

double kw_problem_amplitude(const kw_problem *problem)
{
    const kw_map *map = problem->map;
    double largest = problem->has_p0 ? fmax(fabs(map[KW_QUANTITY_P0].min), fabs(map[KW_QUANTITY_P0].max)) : 0.0;
    double impedance = map[KW_QUANTITY_C0].max * map[KW_QUANTITY_RHO0].max;
    for (int64_t s = 0; s < problem->source_count; s++) {
        const kw_source *source = &problem->sources[s];
        double unit = source->quantity == KW_SOURCE_P ? 1.0 : impedance, heaviest = source->weight == NULL ? 1.0 : 0.0;
        for (int64_t i = 0; i < source->count && source->weight != NULL; i++)
            heaviest = fmax(heaviest, fabs(source->weight[i]));
        if (source->prescaled && source->quantity == KW_SOURCE_P)
            unit = kw_grid_dims(&problem->grid) * map[KW_QUANTITY_C0].max * map[KW_QUANTITY_C0].max;
        if (source->quantity == KW_SOURCE_VOLUME) /* what dt of it makes in a cell, as a pressure */
            unit =
                factor(problem, source, map[KW_QUANTITY_RHO0].max) * map[KW_QUANTITY_C0].max * map[KW_QUANTITY_C0].max;
        unit *= fmax(1.0, heaviest);
        for (int64_t i = 0; i < source->signals * source->samples; i++)
            largest = fmax(largest, fabs(source->signal[i]) * unit);
    }
    return largest;
}
