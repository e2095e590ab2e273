/* Memory and tables of the recordings. */
#include <stdlib.h>
#include <string.h>

#include <new>
#include <vector>

#include "check.h"
#include "kwsim/stencil.h"
#include "sim.h"

namespace
{

const size_t ALIGNMENT = 512;

bool is_simple(const kw_sensor_set *set) { return set->interpolation == KW_NEAREST && !set->average; }

/* What one recording holds. */
struct counts {
    double rows, offsets, stencil_rows, points, phases, slots, ring;
};

counts find_counts(const kw_problem *problem, const kw_recording *asked)
{
    counts c = {};
    int64_t steps = problem->time.steps > 0 ? problem->time.steps : problem->time.asked_steps;
    c.rows = (double)kw_recording_rows(problem, asked);
    c.offsets = asked->kind == KW_RECORD_SENSORS ? c.rows : 0;
    for (int64_t s = asked->first_set; s < asked->first_set + asked->set_count; s++) {
        if (is_simple(&problem->sets[s])) continue;
        c.stencil_rows += (double)problem->sets[s].rows;
        c.points += (double)problem->sets[s].count;
    }
    c.phases = 2.0 * asked->frequencies * (double)kw_recording_samples(asked, steps);
    c.slots = c.rows * kw_recording_slots(problem, asked);
    c.ring = c.rows * kw_bit_count(asked->series) * (double)kw_recording_ring(problem, asked, KW_SINGLE);
    return c;
}

double piece(double bytes)
{
    double whole = (double)ALIGNMENT;
    return (double)(int64_t)((bytes + whole - 1) / whole) * whole;
}

unsigned all_needs(const kw_problem *problem)
{
    unsigned needs = 0;
    for (int r = 0; r < problem->recording_count; r++) needs |= kw_recording_needs(problem, &problem->recordings[r]);
    return needs;
}

template <typename T> T *carve(char **at, double count)
{
    T *result = reinterpret_cast<T *>(*at);
    *at += (size_t)piece(count * (double)sizeof(T));
    return count > 0 ? result : nullptr;
}

void shape(kw_sim *sim, kw_gpu_recording *recording)
{
    const kw_recording *asked = recording->asked;
    const kw_problem *problem = sim->problem;
    kw_device_recording *r = &recording->device;
    r->box = asked->kind != KW_RECORD_SENSORS;
    r->rows = kw_recording_rows(problem, asked);
    r->ring_steps = kw_recording_ring(problem, asked, KW_SINGLE);
    if (r->ring_steps == 0) r->ring_steps = 1;
    r->from = asked->from;
    r->to = asked->to;
    r->every = asked->every;
    r->needs = kw_recording_needs(problem, asked);
    r->series = asked->series;
    r->max = asked->max;
    r->min = asked->min;
    r->rms = asked->rms;
    r->fourier = asked->fourier;
    r->frequencies = asked->frequencies;
    r->history = kw_recording_history(problem, asked);
    r->series_count = kw_bit_count(asked->series);
    r->intensity = asked->intensity;
    for (int i = 0; i < 3; i++) {
        r->active[i] = -1;
        r->n[i] = 1;
    }
    for (int a = 0; a < sim->slots.dims; a++) {
        int axis = sim->slots.axis[a], slot = sim->slots.slot[a];
        r->active[axis] = a;
        r->lo[slot] = (int)asked->cover.lo[axis];
        r->n[slot] = (int)(asked->cover.hi[axis] - asked->cover.lo[axis]);
    }
}

void fill_stencil(const kw_sim *sim, const kw_sensor_set *set, int64_t point, kw_device_stencil *stencil)
{
    double position[3];
    kw_sensor_position(sim->problem, set, point, position);
    for (int i = 0; i < 6; i++) {
        stencil->taps[i] = 1;
        stencil->weight[i][0] = 1;
    }
    for (int a = 0; a < sim->slots.dims; a++) {
        int axis = sim->slots.axis[a], slot = sim->slots.slot[a];
        double index = kw_sensor_index(sim->problem, set->interpolation, axis, position[axis]);
        for (int staggered = 0; staggered < 2; staggered++) {
            int i = slot + 3 * staggered;
            kw_stencil made = kw_stencil_make(set->interpolation, sim->problem->grid.n[axis], index - 0.5 * staggered);
            stencil->taps[i] = made.taps;
            stencil->first[i] = (int)made.first;
            for (int t = 0; t < made.taps; t++) stencil->weight[i][t] = (float)made.weight[t];
        }
    }
}

template <typename T> kw_status upload(kw_sim *sim, const T *device, const std::vector<T> &host)
{
    return host.empty() ? KW_OK : kw_upload(sim, device, host.data(), host.size() * sizeof(T));
}

/* Marks the rows of p that a stencil of p reads. */
void mark_stencil(kw_sim *sim, const kw_device_stencil *stencil)
{
    const int lines = (int)sim->slots.n[KW_LINES], rows = (int)sim->slots.n[KW_ROWS];
    for (int x = 0; x < stencil->taps[KW_LINES]; x++)
        for (int y = 0; y < stencil->taps[KW_ROWS]; y++) {
            int line = (stencil->first[KW_LINES] + x) % lines, row = (stencil->first[KW_ROWS] + y) % rows;
            sim->mixed.row_needed[line * rows + row] = 1;
        }
}

/* Marks the rows of p that a recording reads, for mixed space makes p there alone. */
void mark_box(kw_sim *sim, const kw_device_recording *r)
{
    for (int x = r->lo[KW_LINES]; x < r->lo[KW_LINES] + r->n[KW_LINES]; x++)
        for (int y = r->lo[KW_ROWS]; y < r->lo[KW_ROWS] + r->n[KW_ROWS]; y++)
            sim->mixed.row_needed[x * sim->slots.n[KW_ROWS] + y] = 1;
}

void mark_offset(kw_sim *sim, long long offset)
{
    if (offset >= 0) sim->mixed.row_needed[offset / (2 * sim->device.bins)] = 1;
}

kw_status fill_places(kw_sim *sim, const kw_gpu_recording *recording)
{
    const kw_recording *asked = recording->asked;
    std::vector<long long> offset, stencil_row, stencil_first(1, 0);
    std::vector<kw_device_stencil> stencil;
    for (int64_t s = asked->first_set; s < asked->first_set + asked->set_count; s++) {
        const kw_sensor_set *set = &sim->problem->sets[s];
        for (int64_t i = 0; i < set->rows && is_simple(set); i++)
            offset.push_back(kw_padded_offset(sim, kw_sensor_locate(sim->problem, set->first + i).index));
        for (int64_t i = 0; i < set->count && !is_simple(set); i++) {
            kw_device_stencil made = {};
            fill_stencil(sim, set, i, &made);
            stencil.push_back(made);
            if (set->average && i + 1 < set->count) continue;
            stencil_row.push_back((long long)offset.size());
            stencil_first.push_back((long long)stencil.size());
            offset.push_back(-1);
        }
    }
    for (size_t i = 0; i < offset.size() && sim->mixed.on; i++) mark_offset(sim, offset[i]);
    for (size_t i = 0; i < stencil.size() && sim->mixed.on; i++) mark_stencil(sim, &stencil[i]);
    KW_TRY(upload(sim, recording->device.offset, offset));
    if (stencil.empty()) return KW_OK;
    KW_TRY(upload(sim, recording->device.stencil_row, stencil_row));
    KW_TRY(upload(sim, recording->device.stencil_first, stencil_first));
    return upload(sim, recording->device.stencil, stencil);
}

kw_status fill_phases(kw_sim *sim, const kw_gpu_recording *recording, double count)
{
    std::vector<double> exact((size_t)count);
    if (exact.empty()) return KW_OK;
    kw_recording_phases(sim->problem, recording->asked, exact.data());
    return upload(sim, recording->device.phase, std::vector<float>(exact.begin(), exact.end()));
}

kw_status fill_all(kw_sim *sim)
{
    for (int a = 0; a < sim->slots.dims; a++) {
        if (sim->device.centring[a] == nullptr) continue;
        std::vector<double> exact((size_t)(2 * sim->slots.n[sim->slots.slot[a]]));
        kw_shift_kernel((int64_t)exact.size() / 2, exact.data());
        KW_TRY(upload(sim, sim->device.centring[a], std::vector<float>(exact.begin(), exact.end())));
    }
    for (int r = 0; r < sim->problem->recording_count; r++) {
        kw_gpu_recording *recording = &sim->recordings[r];
        counts c = find_counts(sim->problem, recording->asked);
        if (!recording->device.box) KW_TRY(fill_places(sim, recording));
        if (recording->device.box && sim->mixed.on) mark_box(sim, &recording->device);
        KW_TRY(fill_phases(sim, recording, c.phases));
        KW_TRY(kw_launch_record_start(&recording->device, sim->compute));
    }
    return KW_OK;
}

} // namespace

double kw_recordings_bytes(const kw_problem *problem)
{
    double bytes = 0;
    for (int r = 0; r < problem->recording_count; r++) {
        counts c = find_counts(problem, &problem->recordings[r]);
        bytes += piece(8 * c.offsets) + piece(8 * c.stencil_rows) + piece(c.points > 0 ? 8 * (c.stencil_rows + 1) : 0);
        bytes +=
            piece(c.points * sizeof(kw_device_stencil)) + piece(4 * c.phases) + piece(4 * c.slots) + piece(4 * c.ring);
    }
    for (int i = 0; i < 3; i++)
        if (kw_bit(all_needs(problem), KW_REC_UX_CENTRED + i)) bytes += piece(8.0 * (double)problem->grid.n[i]);
    return bytes;
}

kw_status kw_recordings_carve(kw_sim *sim, char *at)
{
    const kw_problem *problem = sim->problem;
    for (int r = 0; r < problem->recording_count; r++) {
        kw_gpu_recording *recording = &sim->recordings[r];
        recording->asked = &problem->recordings[r];
        counts c = find_counts(problem, recording->asked);
        kw_device_recording *device = &recording->device;
        shape(sim, recording);
        device->stencil_rows = (long long)c.stencil_rows;
        device->offset = carve<long long>(&at, c.offsets);
        device->stencil_row = carve<long long>(&at, c.stencil_rows);
        device->stencil_first = carve<long long>(&at, c.points > 0 ? c.stencil_rows + 1 : 0);
        device->stencil = carve<kw_device_stencil>(&at, c.points);
        device->phase = carve<float>(&at, c.phases);
        device->slots = carve<float>(&at, c.slots);
        device->ring = carve<float>(&at, c.ring);
        if (c.ring == 0) continue;
        KW_TRY(kw_may_allocate(sim, "the traces"));
        KW_CUDA(cudaMallocHost(reinterpret_cast<void **>(&recording->h_ring), (size_t)c.ring * sizeof(float)),
                "the traces (pinned host memory)");
    }
    for (int a = 0; a < sim->slots.dims; a++)
        if (kw_bit(all_needs(problem), KW_REC_UX_CENTRED + sim->slots.axis[a]))
            sim->device.centring[a] = carve<float>(&at, 2.0 * (double)sim->slots.n[sim->slots.slot[a]]);
    return KW_OK;
}

kw_status kw_recordings_fill(kw_sim *sim)
{
    try {
        return fill_all(sim);
    } catch (const std::bad_alloc &) {
        return kw_fail(KW_ERR_RESOURCE, "no host memory for the sensors");
    }
}
