/* Time-varying sources (README, "Sources"). Additive ones are spread by the k-space correction,
 *
 *     rho_i += F^-1 {kappa_src F(scatter s)},   kappa_src = cos(c_ref dt |k|/2)
 *
 * with one signal for all points once, at the start, as the field of a signal of 1; with a signal per point every step.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static int find_axis(const kw_sim *sim, const kw_source *source)
{
    for (int a = 0; a < sim->layout.slots.dims; a++)
        if ((int)source->quantity == KW_SOURCE_UX + sim->layout.slots.axis[a]) return a;
    return -1;
}

/* Takes the entries in the order of their places. */
static void take_entries(kw_sim *sim, kw_cpu_source *source, const int64_t *order, const double *scale)
{
    const kw_source *asked = source->source;
    int64_t *start = source->plane_start;
    for (int64_t at = 0; at < asked->count; at++) {
        int64_t dense = kw_grid_offset(&sim->problem->grid, asked->index + 3 * order[at]);
        source->offset[at] = kw_layout_offset(&sim->layout, dense);
        source->entry[at] = order[at];
        source->scale[at] = (kw_real)scale[order[at]];
        start[source->offset[at] / sim->layout.real_pitch + 1]++;
    }
    for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++) start[x + 1] += start[x];
}

kw_status KW(sources_fill)(kw_sim *sim, const kw_field_source *fields)
{
    for (int64_t s = 0; s < sim->problem->source_count; s++) {
        kw_cpu_source *source = &sim->sources[s];
        size_t count = (size_t)source->source->count;
        double *scale = malloc(count * sizeof *scale + 1);
        int64_t *order = malloc(count * sizeof *order + 1);
        kw_status status =
            scale != NULL && order != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
        if (status == KW_OK) status = kw_source_scales(sim->problem, source->source, fields, scale);
        if (status == KW_OK) status = kw_source_order(&sim->problem->grid, source->source, order);
        if (status == KW_OK) take_entries(sim, source, order, scale);
        free(order);
        free(scale);
        KW_TRY(status);
        source->axis = find_axis(sim, source->source);
    }
    return KW_OK;
}

/* source->field = F^-1 {kappa_src F(scatter)}, of signal values at step n, or of a signal of 1 if n < 0 */
static void spread(kw_sim *sim, const kw_cpu_source *source, int64_t n)
{
    const kw_layout *layout = &sim->layout;
#pragma omp for schedule(static)
    for (int64_t x = 0; x < layout->slots.n[KW_LINES]; x++) {
        kw_real *plane = source->field + x * layout->real_pitch;
        memset(plane, 0, (size_t)layout->real_pitch * sizeof *plane);
        for (int64_t i = source->plane_start[x]; i < source->plane_start[x + 1]; i++) {
            kw_real value = n < 0 ? 1 : (kw_real)kw_source_value(source->source, source->entry[i], n);
            source->field[source->offset[i]] += source->scale[i] * value;
        }
        if (source->source->mode == KW_ADDITIVE)
            KW(plane_forward)(&sim->plans, plane, sim->spare + x * layout->spec_pitch);
    }
    if (source->source->mode != KW_ADDITIVE) return; /* mixed space: as it is scattered */
    KW(lines_scale)(sim, sim->kappa_source, sim->spare);
#pragma omp for schedule(static)
    for (int64_t x = 0; x < layout->slots.n[KW_LINES]; x++) KW(plane_inverse)
    (&sim->plans, sim->spare + x * layout->spec_pitch, source->field + x * layout->real_pitch);
}

void KW(sources_start)(kw_sim *sim)
{
#pragma omp parallel num_threads(sim->threads)
    for (int64_t s = 0; s < sim->problem->source_count; s++) {
        const kw_cpu_source *source = &sim->sources[s];
        if (source->field != NULL && !kw_source_varies(source->source)) spread(sim, source, -1);
    }
}

void KW(sources_prepare)(kw_sim *sim)
{
    for (int64_t s = 0; s < sim->problem->source_count; s++) {
        const kw_cpu_source *source = &sim->sources[s];
        bool each = source->field != NULL && kw_source_varies(source->source);
        if (each && kw_source_acts(source->source, sim->steps)) spread(sim, source, sim->steps);
    }
}

KW_SIMD static void add_field(kw_real *restrict v, const kw_real *restrict field, kw_real gain, int64_t count)
{
    for (int64_t q = 0; q < count; q++) v[q] += gain * field[q];
}

/* What one source does to a plane of one field. */
static void apply(kw_sim *sim, const kw_cpu_source *source, kw_real *field, int64_t x)
{
    int64_t n = sim->steps, first = x * sim->layout.real_pitch;
    const kw_source *asked = source->source;
    if (!kw_source_acts(asked, n)) return;
    if (asked->mode == KW_ADDITIVE) {
        kw_real gain = !kw_source_varies(asked) ? (kw_real)kw_source_value(asked, 0, n) : 1;
        if (gain != 0) add_field(field + first, source->field + first, gain, kw_plane_points(sim));
        return;
    }
    for (int64_t i = source->plane_start[x]; i < source->plane_start[x + 1]; i++) {
        kw_real value = source->scale[i] * (kw_real)kw_source_value(asked, source->entry[i], n);
        if (asked->mode == KW_DIRICHLET)
            field[source->offset[i]] = value;
        else
            field[source->offset[i]] += value;
    }
}

void KW(sources_velocity)(kw_sim *sim, int a, int64_t x)
{
    for (int64_t s = 0; s < sim->problem->source_count; s++)
        if (sim->sources[s].axis == a) apply(sim, &sim->sources[s], sim->u[a], x);
}

/* The same value into every part of the density. */
void KW(sources_pressure)(kw_sim *sim, int64_t x)
{
    for (int64_t s = 0; s < sim->problem->source_count; s++)
        for (int a = 0; a < sim->layout.slots.dims && sim->sources[s].axis < 0; a++)
            apply(sim, &sim->sources[s], sim->rho[a], x);
}
