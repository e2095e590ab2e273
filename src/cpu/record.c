/* What a step leaves behind: samples in rings and accumulators (recording.h). Rows are worked off in runs that are
 * contiguous in memory where they can be: whole boxes at the speed of memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/stencil.h"
#include "kwsim/tables.h"
#include "sim.h"

#define KW_REAL kw_real
#include "kwsim/accumulate.h"

enum { RUN = 512 }; /* rows worked off together */

/* ---- places ---- */

/* Weights of one point along lines, rows and columns; the second ones read a component staggered along that slot. */
typedef struct kw_cpu_stencil {
    kw_stencil slot[3], staggered[3];
} kw_cpu_stencil;

/* Bounds of the box that a recording covers, by slot. */
static void box_by_slot(const kw_sim *sim, const kw_box *box, int64_t lo[3], int64_t n[3])
{
    for (int slot = 0; slot < 3; slot++) {
        lo[slot] = 0;
        n[slot] = 1;
    }
    for (int a = 0; a < sim->layout.slots.dims; a++) {
        int axis = sim->layout.slots.axis[a], slot = sim->layout.slots.slot[a];
        lo[slot] = box->lo[axis];
        n[slot] = box->hi[axis] - box->lo[axis];
    }
}

static bool is_simple(const kw_sensor_set *set) { return set->interpolation == KW_NEAREST && !set->average; }

int64_t KW(recording_points)(const kw_problem *problem, const kw_recording *asked)
{
    int64_t points = 0;
    if (asked->kind != KW_RECORD_SENSORS) return 0;
    for (int64_t s = asked->first_set; s < asked->first_set + asked->set_count; s++)
        if (!is_simple(&problem->sets[s])) points += problem->sets[s].count;
    return points;
}

size_t KW(stencil_size)(void) { return sizeof(kw_cpu_stencil); }

static kw_cpu_stencil make_stencil(const kw_sim *sim, const kw_sensor_set *set, int64_t point)
{
    kw_cpu_stencil stencil;
    double position[3];
    kw_sensor_position(sim->problem, set, point, position);
    for (int slot = 0; slot < 3; slot++)
        stencil.slot[slot] = stencil.staggered[slot] = kw_stencil_make(KW_NEAREST, 1, 0);
    for (int a = 0; a < sim->layout.slots.dims; a++) {
        int axis = sim->layout.slots.axis[a], slot = sim->layout.slots.slot[a];
        double index = kw_sensor_index(sim->problem, set->interpolation, axis, position[axis]);
        int64_t n = sim->problem->grid.n[axis];
        stencil.slot[slot] = kw_stencil_make(set->interpolation, n, index);
        stencil.staggered[slot] = kw_stencil_make(set->interpolation, n, index - 0.5);
    }
    return stencil;
}

static void fill_set(kw_sim *sim, kw_cpu_recording *recording, int64_t s, int64_t *row, int64_t *point)
{
    const kw_sensor_set *set = &sim->problem->sets[s];
    for (int64_t i = 0; i < set->rows; i++, (*row)++) {
        if (is_simple(set)) {
            kw_sensor_place place = kw_sensor_locate(sim->problem, set->first + i);
            recording->offset[*row] = kw_layout_offset(&sim->layout, kw_grid_offset(&sim->problem->grid, place.index));
        } else {
            recording->offset[*row] = -1 - *point; /* of its first point */
            *point += set->average ? set->count : 1;
        }
    }
    if (is_simple(set)) return;
    int64_t first = *point - set->count;
    for (int64_t i = 0; i < set->count; i++)
        ((kw_cpu_stencil *)recording->stencil)[first + i] = make_stencil(sim, set, i);
}

kw_status KW(recordings_fill)(kw_sim *sim)
{
    const kw_problem *problem = sim->problem;
    for (int a = 0; a < sim->layout.slots.dims; a++) {
        if (sim->shift[a] == NULL) continue;
        int64_t n = sim->layout.slots.n[sim->layout.slots.slot[a]];
        double *shift = malloc((size_t)(2 * n) * sizeof *shift);
        if (shift == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for tables");
        kw_shift_kernel(n, shift);
        for (int64_t j = 0; j < 2 * n; j++) sim->shift[a][j] = (kw_real)shift[j];
        free(shift);
    }
    for (int r = 0; r < problem->recording_count; r++) {
        kw_cpu_recording *recording = &sim->recordings[r];
        const kw_recording *asked = recording->asked;
        int64_t row = 0, point = 0, extremes = kw_bit_count(asked->max) + kw_bit_count(asked->min);
        for (int64_t s = asked->first_set; s < asked->first_set + asked->set_count; s++)
            fill_set(sim, recording, s, &row, &point);
        for (int64_t i = 0; i < extremes * recording->rows; i++)
            recording->slots[i] = i < kw_bit_count(asked->max) * recording->rows ? -INFINITY : INFINITY;
        double *phase = malloc((size_t)(recording->phases + 1) * sizeof *phase);
        if (phase == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for tables");
        kw_recording_phases(problem, asked, phase);
        for (int64_t i = 0; i < recording->phases; i++) recording->phase[i] = (kw_real)phase[i];
        free(phase);
    }
    return KW_OK;
}

/* ---- values ---- */

static int64_t slot_stride(const kw_layout *layout, int slot)
{
    return slot == KW_LINES ? layout->real_pitch : slot == KW_ROWS ? layout->slots.n[KW_COLUMNS] : 1;
}

/* Active axis of a component, and whether it is to be moved to the grid point; -1 for p. */
static int component(const kw_sim *sim, int what, bool *centred)
{
    *centred = what >= KW_REC_UX_CENTRED;
    if (what == KW_REC_P) return -1;
    int axis = (what - KW_REC_UX) % 3;
    for (int a = 0; a < sim->layout.slots.dims; a++)
        if (sim->layout.slots.axis[a] == axis) return a;
    return 0; /* flat axes have no component: never asked for */
}

/* `count` neighbouring columns of u_a moved to their grid points; `at` is the first one's place by slot. */
KW_SIMD static void centre_run(const kw_sim *sim, int a, const int64_t at[3], int64_t count, kw_real *restrict out)
{
    const kw_layout *layout = &sim->layout;
    int slot = layout->slots.slot[a];
    int64_t n = layout->slots.n[slot], stride = slot_stride(layout, slot), first = 0;
    for (int i = 0; i < 3; i++)
        if (i != slot) first += at[i] * slot_stride(layout, i);
    for (int64_t z = 0; z < count; z++) out[z] = 0;
    for (int64_t m = 0; m < n; m++) {
        const kw_real *restrict u = sim->u[a] + first + m * stride, *restrict shift = sim->shift[a] + at[slot] - m + n;
        if (slot == KW_COLUMNS) {
            kw_real one = u[0];
            for (int64_t z = 0; z < count; z++) out[z] += shift[z] * one;
        } else {
            kw_real factor = shift[0];
            for (int64_t z = 0; z < count; z++) out[z] += factor * u[z];
        }
    }
}

static void place_of(const kw_layout *layout, int64_t offset, int64_t at[3])
{
    int64_t columns = layout->slots.n[KW_COLUMNS];
    at[KW_LINES] = offset / layout->real_pitch;
    at[KW_ROWS] = offset % layout->real_pitch / columns;
    at[KW_COLUMNS] = offset % layout->real_pitch % columns;
}

/* The value of quantity `what` at a grid point. */
static kw_real value_at(const kw_sim *sim, int what, const int64_t at[3])
{
    bool centred;
    int a = component(sim, what, &centred);
    kw_real value;
    if (centred) {
        centre_run(sim, a, at, 1, &value);
        return value;
    }
    const kw_real *field = a < 0 ? sim->p : sim->u[a];
    return field[at[0] * sim->layout.real_pitch + at[1] * sim->layout.slots.n[KW_COLUMNS] + at[2]];
}

/* A stencil of many taps reads a staggered component where it lies; one or two taps read the exactly moved one. */
static kw_real stencil_value(const kw_sim *sim, int what, const kw_cpu_stencil *stencil)
{
    bool centred;
    int a = component(sim, what, &centred);
    const kw_stencil *axis[3] = {&stencil->slot[0], &stencil->slot[1], &stencil->slot[2]};
    int own = a >= 0 ? sim->layout.slots.slot[a] : 0;
    if (centred && stencil->staggered[own].taps > 2) {
        axis[own] = &stencil->staggered[own];
        what -= 3;
    }
    kw_real sum = 0;
    for (int i = 0; i < axis[0]->taps; i++)
        for (int j = 0; j < axis[1]->taps; j++)
            for (int k = 0; k < axis[2]->taps; k++) {
                const int64_t *n = sim->layout.slots.n;
                int64_t at[3] = {(axis[0]->first + i) % n[0], (axis[1]->first + j) % n[1], (axis[2]->first + k) % n[2]};
                kw_real weight = (kw_real)(axis[0]->weight[i] * axis[1]->weight[j] * axis[2]->weight[k]);
                sum += weight * value_at(sim, what, at);
            }
    return sum;
}

/* Rows first ... first+count-1 of a quantity into out. */
static void list_values(const kw_sim *sim, const kw_cpu_recording *recording, int what, int64_t first, int64_t count,
                        kw_real *out)
{
    const kw_cpu_stencil *stencils = recording->stencil;
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = recording->offset[first + i], at[3];
        if (offset >= 0) {
            place_of(&sim->layout, offset, at);
            out[i] = value_at(sim, what, at);
            continue;
        }
        int64_t row = sim->problem->sets[recording->asked->first_set].first + first + i;
        const kw_sensor_set *set = &sim->problem->sets[kw_sensor_locate_set(sim->problem, row)];
        int64_t points = set->average ? set->count : 1;
        kw_real sum = 0;
        for (int64_t k = 0; k < points; k++) sum += stencil_value(sim, what, &stencils[-1 - offset + k]);
        out[i] = sum / (kw_real)points;
    }
}

static void box_values(const kw_sim *sim, int what, const int64_t at[3], int64_t count, kw_real *out)
{
    bool centred;
    int a = component(sim, what, &centred);
    if (centred) {
        centre_run(sim, a, at, count, out);
        return;
    }
    const kw_real *field = a < 0 ? sim->p : sim->u[a];
    int64_t offset = at[0] * sim->layout.real_pitch + at[1] * sim->layout.slots.n[KW_COLUMNS] + at[2];
    memcpy(out, field + offset, (size_t)count * sizeof *out);
}

/* ---- accumulators ---- */

/* Everything that one run of rows adds. `value` holds the needed quantities; slot s of row i is slots[s rows + i]. */
KW_SIMD static void accumulate(const kw_cpu_recording *recording, int64_t first, int64_t count, int64_t sample,
                               kw_real (*value)[RUN])
{
    const kw_recording *asked = recording->asked;
    int64_t rows = recording->rows;
    kw_real *slot = recording->slots + first;
    for (int q = 0; q < KW_RECORDED; q++) {
        if (!kw_bit(asked->max, q)) continue;
        for (int64_t i = 0; i < count; i++) slot[i] = value[q][i] > slot[i] ? value[q][i] : slot[i];
        slot += rows;
    }
    for (int q = 0; q < KW_RECORDED; q++) {
        if (!kw_bit(asked->min, q)) continue;
        for (int64_t i = 0; i < count; i++) slot[i] = value[q][i] < slot[i] ? value[q][i] : slot[i];
        slot += rows;
    }
    for (int q = 0; q < KW_RECORDED; q++) {
        if (!kw_bit(asked->rms, q)) continue;
        for (int64_t i = 0; i < count; i++) kw_sum_add(&slot[i], &slot[rows + i], value[q][i] * value[q][i]);
        slot += 2 * rows;
    }
    for (int q = 0; q < KW_RECORDED; q++)
        for (int f = 0; f < asked->frequencies && kw_bit(asked->fourier, q); f++) {
            const kw_real *phase = recording->phase + 2 * (sample * asked->frequencies + f);
            for (int64_t i = 0; i < count; i++) {
                kw_sum_add(&slot[i], &slot[rows + i], value[q][i] * phase[0]);
                kw_sum_add(&slot[2 * rows + i], &slot[3 * rows + i], value[q][i] * phase[1]);
            }
            slot += 4 * rows;
        }
}

/* p three samples ago times u there and then, u from six samples around it. */
KW_SIMD static void accumulate_intensity(const kw_sim *sim, const kw_cpu_recording *recording, int64_t first,
                                         int64_t count, int64_t sample, kw_real (*value)[RUN])
{
    int64_t rows = recording->rows, dims = sim->layout.slots.dims;
    int64_t at = kw_recording_history(sim->problem, recording->asked);
    kw_real *p = recording->slots + at * rows + first, *sum = p - 2 * dims * rows;
    memcpy(p + sample % KW_INTENSITY_P * rows, value[KW_REC_P], (size_t)count * sizeof *p);
    const kw_real *then = p + (sample + 1) % KW_INTENSITY_P * rows; /* three samples ago */
    for (int a = 0; a < dims; a++) {
        kw_real *u = p + (KW_INTENSITY_P + KW_INTENSITY_U * a) * rows;
        const kw_real *now = value[KW_REC_UX_CENTRED + sim->layout.slots.axis[a]];
        memcpy(u + sample % KW_INTENSITY_U * rows, now, (size_t)count * sizeof *u);
        if (sample < KW_INTENSITY_U - 1) continue;
        const kw_real *old[KW_INTENSITY_U];
        for (int k = 0; k < KW_INTENSITY_U; k++) old[k] = u + (sample + 1 + k) % KW_INTENSITY_U * rows;
        kw_real *carry = sum + (2 * a + 1) * rows, *total = sum + 2 * a * rows;
        for (int64_t i = 0; i < count; i++)
            kw_sum_add(&total[i], &carry[i],
                       then[i] * kw_centre_in_time(old[0][i], old[1][i], old[2][i], old[3][i], old[4][i], old[5][i]));
    }
}

static void keep_run(kw_sim *sim, kw_cpu_recording *recording, const int64_t *at, int64_t first, int64_t count,
                     int64_t sample)
{
    kw_real value[KW_RECORDED][RUN];
    unsigned needs = kw_recording_needs(sim->problem, recording->asked);
    int series = 0, all = kw_bit_count(recording->asked->series);
    for (int q = 0; q < KW_RECORDED; q++) {
        if (!kw_bit(needs, q)) continue;
        if (at != NULL)
            box_values(sim, q, at, count, value[q]);
        else
            list_values(sim, recording, q, first, count, value[q]);
        if (!kw_bit(recording->asked->series, q)) continue;
        kw_real *to = recording->ring + (recording->waiting * all + series++) * recording->rows + first;
        memcpy(to, value[q], (size_t)count * sizeof *to);
    }
    accumulate(recording, first, count, sample, value);
    if (recording->asked->intensity) accumulate_intensity(sim, recording, first, count, sample, value);
}

static void keep_box(kw_sim *sim, kw_cpu_recording *recording, int64_t sample)
{
    int64_t lo[3], n[3];
    box_by_slot(sim, &recording->asked->cover, lo, n);
#pragma omp parallel for num_threads(sim->threads) schedule(static)
    for (int64_t row = 0; row < n[KW_LINES] * n[KW_ROWS]; row++)
        for (int64_t z = 0; z < n[KW_COLUMNS]; z += RUN) {
            int64_t at[3] = {lo[0] + row / n[KW_ROWS], lo[1] + row % n[KW_ROWS], lo[2] + z};
            int64_t count = n[KW_COLUMNS] - z < RUN ? n[KW_COLUMNS] - z : RUN;
            keep_run(sim, recording, at, row * n[KW_COLUMNS] + z, count, sample);
        }
}

static void keep_list(kw_sim *sim, kw_cpu_recording *recording, int64_t sample)
{
    int64_t runs = (recording->rows + RUN - 1) / RUN;
#pragma omp parallel for num_threads(sim->threads) schedule(dynamic) if (runs > 8 || recording->stencil != NULL)
    for (int64_t run = 0; run < runs; run++) {
        int64_t first = run * RUN, left = recording->rows - first;
        keep_run(sim, recording, NULL, first, left < RUN ? left : RUN, sample);
    }
}

void KW(record)(kw_sim *sim)
{
    for (int r = 0; r < sim->problem->recording_count; r++) {
        kw_cpu_recording *recording = &sim->recordings[r];
        int64_t sample = kw_recording_samples(recording->asked, sim->steps);
        if (kw_recording_samples(recording->asked, sim->steps + 1) == sample) continue;
        if (sim->mixed.on) KW(mixed_pressure)(sim);
        if (recording->asked->kind == KW_RECORD_SENSORS)
            keep_list(sim, recording, sample);
        else
            keep_box(sim, recording, sample);
        recording->waiting += recording->ring != NULL;
    }
}
