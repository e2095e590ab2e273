/* Sizes, memory, tables and maps of a run on the GPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <vector>

#include "check.h"
#include "kwsim/clock.h"
#include "kwsim/sources.h"
#include "kwsim/tables.h"
#include "sim.h"

namespace
{

const size_t ALIGNMENT = 512;

/* The arena's parts in bytes. */
struct sizes {
    double field, kappa, tables, recordings, sources, small;
};

double table_floats(const kw_slots *slots, int a)
{
    double n = slots->slot[a] == KW_COLUMNS ? 2.0 * (double)slots->bins : (double)slots->n[slots->slot[a]];
    double bins = slots->slot[a] == KW_COLUMNS ? (double)slots->bins : n;
    return 2 * n + 2 * bins; /* two PML tables and a complex gradient */
}

sizes find_sizes(const kw_problem *problem, const kw_slots *slots)
{
    sizes s = {};
    bool mixed = kw_mixed_taken_here(problem);
    double rows = (double)slots->n[KW_ROWS], lines = (double)slots->n[KW_LINES], bins = (double)slots->bins;
    s.field = lines * rows * bins * sizeof(float2);
    s.kappa = floor(lines / 2 + 1) * floor(rows / 2 + 1) * bins * sizeof(float);
    for (int a = 0; a < slots->dims; a++) s.tables += table_floats(slots, a) * sizeof(float);
    s.recordings = kw_recordings_bytes(problem);
    for (int64_t i = 0; i < problem->source_count; i++) {
        const kw_source *source = &problem->sources[i];
        s.sources +=
            28.0 * (double)source->count + 8 + sizeof(float) * (double)source->signals * (double)source->samples;
        if (source->delay != nullptr) s.sources += 12.0 * (double)source->count;
        s.sources += 10.0 * ALIGNMENT + (source->mode == KW_ADDITIVE && !mixed ? s.field : 0);
    }
    s.small = (2.0 * KW_LOOK_BLOCKS + 2.0 * KW_CHUNKS + 1) * 8 + 40.0 * ALIGNMENT;
    return s;
}

bool is_map(const kw_problem *problem, kw_quantity quantity)
{
    return kw_problem_has(problem, quantity) && !kw_map_is_constant(&problem->map[quantity]);
}

/* Which optional parts of the arena the physics needs. */
struct needs {
    bool attenuates, disperses, absorbing_maps, spreads;
    int maps;   /* fields of the medium */
    int works;  /* fields of `work` */
    int tables; /* of |k| */
};

needs find_needs(const kw_problem *problem)
{
    needs n = {};
    int dims = kw_grid_dims(&problem->grid);
    n.attenuates = kw_absorption_is_fractional(problem) && problem->absorption.attenuation;
    n.disperses = kw_absorption_is_fractional(problem) && problem->absorption.dispersion;
    n.absorbing_maps =
        problem->absorption.on && (is_map(problem, KW_QUANTITY_C0) || is_map(problem, KW_QUANTITY_ALPHA));
    for (int64_t i = 0; i < problem->source_count; i++) n.spreads |= problem->sources[i].mode == KW_ADDITIVE;
    n.maps = is_map(problem, KW_QUANTITY_C0) + is_map(problem, KW_QUANTITY_RHO0) + is_map(problem, KW_QUANTITY_BONA) +
             n.absorbing_maps + (n.absorbing_maps && n.disperses) + (problem->staggered ? dims : 0);
    n.works = n.disperses && dims < 2 ? 2 : dims;
    n.tables = 1 + n.attenuates + n.disperses + n.spreads;
    return n;
}

/* ---- allocation ---- */

/* The next piece of the arena. */
template <typename T> void carve(kw_sim *sim, size_t *used, T **pointer, double count)
{
    *pointer = reinterpret_cast<T *>(sim->arena + *used);
    *used += ((size_t)(count * sizeof(T)) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The same for a part that is only read by kernels, and only there if needed. */
template <typename T> void carve_if(kw_sim *sim, size_t *used, const T **pointer, bool needed, double count)
{
    T *piece = nullptr;
    if (needed) carve(sim, used, &piece, count);
    *pointer = piece;
}

void carve_source(kw_sim *sim, size_t *used, const kw_source *source, kw_device_source *device)
{
    double count = (double)source->count;
    carve_if(sim, used, &device->offset, true, count);
    carve_if(sim, used, &device->start, true, count + 1);
    carve_if(sim, used, &device->row, true, count);
    carve_if(sim, used, &device->scale, true, count);
    carve_if(sim, used, &device->lag, source->delay != nullptr, count);
    carve_if(sim, used, &device->lag_fraction, source->delay != nullptr, count);
    carve_if(sim, used, &device->signal, true, (double)source->signals * (double)source->samples);
    if (source->mode == KW_ADDITIVE && !sim->mixed.on)
        carve(sim, used, &device->spread, (double)sim->device.elements);
}

/* The parts of the classical step. */
void carve_classical(kw_sim *sim, const sizes *s, float *tables[KW_TABLES], size_t *at)
{
    kw_device *d = &sim->device;
    double elements = (double)d->elements, dims = d->dims;
    const kw_problem *problem = sim->problem;
    needs n = find_needs(problem);
    size_t used = *at;
    carve(sim, &used, &d->p, elements);
    carve(sim, &used, &d->u, dims * elements);
    carve(sim, &used, &d->rho, dims * elements);
    carve(sim, &used, &d->spec, elements);
    carve(sim, &used, &d->work, n.works * elements);
    carve_if(sim, &used, &d->rho0, is_map(problem, KW_QUANTITY_RHO0), elements);
    for (int a = 0; a < d->dims; a++) carve_if(sim, &used, &d->staggered[a], problem->staggered, elements);
    carve_if(sim, &used, &d->bona, is_map(problem, KW_QUANTITY_BONA), elements);
    carve_if(sim, &used, &d->tau, n.absorbing_maps, elements);
    carve_if(sim, &used, &d->eta, n.absorbing_maps && n.disperses, elements);
    double table = s->kappa / sizeof(float);
    carve_if(sim, &used, &d->kappa, true, table);
    carve_if(sim, &used, &d->kappa_source, n.spreads, table);
    carve_if(sim, &used, &d->power[0], n.attenuates, table);
    carve_if(sim, &used, &d->power[1], n.disperses, table);
    for (int a = 0; a < d->dims; a++) {
        kw_slot slot = sim->slots.slot[a];
        double points = slot == KW_COLUMNS ? 2.0 * d->bins : (double)sim->slots.n[slot];
        double bins = slot == KW_COLUMNS ? (double)d->bins : points;
        carve(sim, &used, &tables[3 * a], points);
        carve(sim, &used, &tables[3 * a + 1], points);
        carve(sim, &used, &tables[3 * a + 2], 2 * bins);
        d->pml[a] = tables[3 * a];
        d->pml_staggered[a] = tables[3 * a + 1];
        d->gradient[a] = reinterpret_cast<float2 *>(tables[3 * a + 2]);
    }
    *at = used;
}

void carve_all(kw_sim *sim, const sizes *s, float *tables[KW_TABLES], char **recordings, void **fft_work)
{
    kw_device *d = &sim->device;
    const kw_problem *problem = sim->problem;
    size_t used = 0;
    if (sim->mixed.on)
        used = (size_t)(kw_mixed_carve(sim, sim->arena) - sim->arena);
    else
        carve_classical(sim, s, tables, &used);
    carve_if(sim, &used, &d->c2, is_map(problem, KW_QUANTITY_C0), (double)d->elements);
    *recordings = sim->arena + used;
    used += (size_t)s->recordings;
    carve(sim, &used, &d->step, 1);
    carve(sim, &used, &sim->d_partial, 2 * KW_LOOK_BLOCKS);
    for (int i = 0; i < KW_CHUNKS; i++) carve(sim, &used, &sim->chunk[i].d_look, 2);
    for (int64_t i = 0; i < problem->source_count; i++)
        carve_source(sim, &used, &problem->sources[i], &sim->sources[i]);
    *fft_work = sim->arena + used;
}

kw_status allocate(kw_sim *sim, const sizes *s, float *tables[KW_TABLES], void **fft_work)
{
    kw_memory_plan plan;
    kw_cuda_plan(sim->problem, (double)sim->fft.work_bytes, &plan);
    sim->arena_bytes = (size_t)plan.total;
    KW_TRY(kw_may_allocate(sim, "the fields"));
    KW_CUDA(cudaMalloc(reinterpret_cast<void **>(&sim->arena), sim->arena_bytes), "the fields");
    KW_CUDA(cudaMemsetAsync(sim->arena, 0, sim->arena_bytes, sim->compute), "clearing the fields");
    sim->bytes = plan.total;
    char *recordings;
    carve_all(sim, s, tables, &recordings, fft_work);
    KW_TRY(kw_recordings_carve(sim, recordings));
    KW_TRY(kw_may_allocate(sim, "looking at the field"));
    KW_CUDA(cudaMallocHost(reinterpret_cast<void **>(&sim->h_looks), 2 * KW_CHUNKS * sizeof *sim->h_looks),
            "looking at the field");
    for (int i = 0; i < KW_CHUNKS; i++) sim->chunk[i].h_look = sim->h_looks + 2 * i;
    return KW_OK;
}

kw_status make_streams(kw_sim *sim)
{
    KW_TRY(kw_may_allocate(sim, "a stream"));
    KW_CUDA(cudaStreamCreateWithFlags(&sim->compute, cudaStreamNonBlocking), "a stream");
    KW_TRY(kw_may_allocate(sim, "a stream"));
    KW_CUDA(cudaStreamCreateWithFlags(&sim->copy, cudaStreamNonBlocking), "a stream");
    for (kw_chunk &chunk : sim->chunk) {
        KW_TRY(kw_may_allocate(sim, "an event"));
        KW_CUDA(cudaEventCreate(&chunk.begin), "an event");
        KW_CUDA(cudaEventCreate(&chunk.computed), "an event");
        KW_CUDA(cudaEventCreateWithFlags(&chunk.done, cudaEventDisableTiming), "an event");
    }
    return KW_OK;
}

/* ---- tables ---- */

/* A host array that goes to the device and away. */
struct host_floats {
    float *data;
    explicit host_floats(size_t count) : data(static_cast<float *>(calloc(count + 1, sizeof(float)))) {}
    ~host_floats() { free(data); }
    host_floats(const host_floats &) = delete;
};

kw_status no_host_memory() { return kw_fail(KW_ERR_RESOURCE, "no host memory for tables"); }

kw_status upload_table(kw_sim *sim, const double *values, int64_t count, float *device)
{
    host_floats narrow((size_t)count);
    if (narrow.data == nullptr) return no_host_memory();
    for (int64_t i = 0; i < count; i++) narrow.data[i] = (float)values[i];
    KW_CUDA(cudaMemcpyAsync(device, narrow.data, (size_t)count * sizeof(float), cudaMemcpyHostToDevice, sim->compute),
            "uploading tables");
    KW_CUDA(cudaStreamSynchronize(sim->compute), "uploading tables");
    return KW_OK;
}

kw_status fill_axis(kw_sim *sim, int a, float *const tables[KW_TABLES], double *work)
{
    int64_t n = sim->slots.n[sim->slots.slot[a]];
    int64_t bins = sim->slots.slot[a] == KW_COLUMNS ? sim->slots.bins : n;
    for (int staggered = 0; staggered < 2; staggered++) {
        kw_table_pml(sim->problem, sim->slots.axis[a], staggered != 0, work);
        KW_TRY(upload_table(sim, work, n, tables[3 * a + staggered]));
    }
    kw_table_gradient(&sim->problem->grid, sim->slots.axis[a], bins, work);
    return upload_table(sim, work, 2 * bins, tables[3 * a + 2]);
}

/* One table of |k| in the octant; `value` gets k^2. */
template <typename F> kw_status fill_octant(kw_sim *sim, double *const k2[3], const float *device, F value)
{
    int64_t lines = sim->device.lines / 2 + 1, rows = sim->device.rows / 2 + 1, bins = sim->device.bins;
    double scale = 1.0 / (double)kw_grid_points(&sim->problem->grid);
    if (device == nullptr) return KW_OK;
    host_floats table((size_t)(lines * rows * bins));
    if (table.data == nullptr) return no_host_memory();
#pragma omp parallel for schedule(static)
    for (int64_t x = 0; x < lines; x++)
        for (int64_t y = 0; y < rows; y++)
            for (int64_t z = 0; z < bins; z++) {
                double sum = k2[KW_LINES][x] + k2[KW_ROWS][y] + k2[KW_COLUMNS][z];
                table.data[(x * rows + y) * bins + z] = (float)(scale * value(sum));
            }
    KW_CUDA(cudaMemcpyAsync(const_cast<float *>(device), table.data, (size_t)(lines * rows * bins) * sizeof(float),
                            cudaMemcpyHostToDevice, sim->compute),
            "uploading tables");
    KW_CUDA(cudaStreamSynchronize(sim->compute), "uploading tables");
    return KW_OK;
}

kw_status fill_octants(kw_sim *sim, double *const k2[3])
{
    const kw_device *d = &sim->device;
    double c_ref = sim->problem->c_ref, dt = sim->problem->time.dt, y = sim->problem->absorption.power;
    KW_TRY(fill_octant(sim, k2, d->kappa, [=](double sum) { return kw_kappa(c_ref, dt, sum); }));
    KW_TRY(fill_octant(sim, k2, d->kappa_source, [=](double sum) { return kw_kappa_source(c_ref, dt, sum); }));
    KW_TRY(fill_octant(sim, k2, d->power[0], [=](double sum) { return kw_power_of_k(sum, y - 2); }));
    return fill_octant(sim, k2, d->power[1], [=](double sum) { return kw_power_of_k(sum, y - 1); });
}

kw_status fill_tables(kw_sim *sim, float *const tables[KW_TABLES])
{
    const int64_t *n = sim->slots.n;
    int64_t total = n[0] + n[1] + n[2];
    double *memory = static_cast<double *>(calloc((size_t)(3 * total + 6), sizeof(double)));
    if (memory == nullptr) return no_host_memory();
    double *k2[3] = {memory, memory + n[0], memory + n[0] + n[1]};
    kw_status status = KW_OK;
    for (int a = 0; a < sim->slots.dims && status == KW_OK; a++) {
        kw_slot slot = sim->slots.slot[a];
        kw_table_k2(&sim->problem->grid, sim->slots.axis[a], n[slot], k2[slot]);
        status = fill_axis(sim, a, tables, memory + total);
    }
    if (status == KW_OK) status = fill_octants(sim, k2);
    free(memory);
    return status;
}

/* ---- voxels ---- */

/* Uploads dense planes of the user's grid: whole rows of columns, in order. */
kw_status upload_rows(kw_sim *sim, const float *values, int64_t first_row, int64_t rows, float2 *field)
{
    size_t width = (size_t)sim->device.columns * sizeof(float), pitch = (size_t)sim->device.bins * sizeof(float2);
    KW_CUDA(cudaMemcpy2DAsync(field + first_row * sim->device.bins, pitch, values, width, width, (size_t)rows,
                              cudaMemcpyHostToDevice, sim->compute),
            "uploading a map");
    KW_CUDA(cudaStreamSynchronize(sim->compute), "uploading a map");
    return KW_OK;
}

kw_status fill_field(kw_sim *sim, const kw_field_source *source, kw_quantity quantity, float2 *field)
{
    const kw_grid *grid = &sim->problem->grid;
    int64_t plane = grid->n[1] * grid->n[2], columns = sim->device.columns;
    int64_t planes = (INT64_C(8) << 20) / plane;
    planes = planes < 1 ? 1 : planes > grid->n[0] ? grid->n[0] : planes;
    /* where x is the only active axis its points are columns: all of them at once */
    if (plane < columns) planes = grid->n[0];
    host_floats slab((size_t)(planes * plane));
    if (slab.data == nullptr) return no_host_memory();
    for (int64_t x0 = 0; x0 < grid->n[0]; x0 += planes) {
        int64_t nx = x0 + planes < grid->n[0] ? planes : grid->n[0] - x0;
        KW_TRY(source->read(source->self, quantity, x0, nx, KW_SINGLE, slab.data));
        KW_TRY(upload_rows(sim, slab.data, x0 * plane / columns, nx * plane / columns, field));
    }
    return KW_OK;
}

/* tau and eta, from c0 and alpha in double, a few planes of the user's grid at a time. */
kw_status fill_absorption_maps(kw_sim *sim, const kw_field_source *source)
{
    const kw_grid *grid = &sim->problem->grid;
    int64_t plane = grid->n[1] * grid->n[2], columns = sim->device.columns;
    int64_t planes = plane < columns ? grid->n[0] : 1; /* where x lies in the columns: all at once */
    host_floats tau((size_t)(planes * plane)), eta((size_t)(planes * plane));
    double *c0 = static_cast<double *>(malloc((size_t)(2 * planes * plane) * sizeof(double)));
    double *alpha = c0 != nullptr ? c0 + planes * plane : nullptr;
    kw_status status = c0 != nullptr && tau.data != nullptr && eta.data != nullptr ? KW_OK : no_host_memory();
    for (int64_t x = 0; x < grid->n[0] && status == KW_OK; x += planes) {
        status = source->read(source->self, KW_QUANTITY_C0, x, planes, KW_DOUBLE, c0);
        if (status == KW_OK) status = source->read(source->self, KW_QUANTITY_ALPHA, x, planes, KW_DOUBLE, alpha);
        for (int64_t i = 0; i < planes * plane && status == KW_OK; i++) {
            double t, e;
            kw_absorption_factors(sim->problem, c0[i], alpha[i], &t, &e);
            tau.data[i] = (float)t;
            eta.data[i] = (float)e;
        }
        int64_t row = x * plane / columns, rows = planes * plane / columns;
        if (status == KW_OK) status = upload_rows(sim, tau.data, row, rows, const_cast<float2 *>(sim->device.tau));
        if (status == KW_OK && sim->device.eta != nullptr)
            status = upload_rows(sim, eta.data, row, rows, const_cast<float2 *>(sim->device.eta));
    }
    free(c0);
    return status;
}

/* What the kernels are told of the physics. */
void set_physics(kw_sim *sim)
{
    const kw_problem *problem = sim->problem;
    const kw_map *map = problem->map;
    kw_device *d = &sim->device;
    needs n = find_needs(problem);
    double tau = 0, eta = 0, c0 = map[KW_QUANTITY_C0].min;
    if (problem->absorption.on) kw_absorption_factors(problem, c0, map[KW_QUANTITY_ALPHA].min, &tau, &eta);
    d->c2_constant = (float)(c0 * c0);
    d->rho0_constant = (float)map[KW_QUANTITY_RHO0].min;
    d->bona_constant = (float)map[KW_QUANTITY_BONA].min;
    d->tau_constant = (float)tau;
    d->eta_constant = (float)eta;
    d->dt = (float)problem->time.dt;
    d->nonlinear = problem->nonlinear;
    d->absorbs = problem->absorption.on;
    d->attenuates = n.attenuates;
    d->disperses = n.disperses;
    d->split = n.attenuates || n.disperses;
    for (int64_t i = 0; i < problem->source_count; i++)
        d->split |= problem->sources[i].quantity == KW_SOURCE_P || problem->sources[i].quantity == KW_SOURCE_VOLUME;
}

kw_status fill_medium(kw_sim *sim, const kw_field_source *source)
{
    kw_device *d = &sim->device;
    set_physics(sim);
    if (d->rho0 != nullptr) KW_TRY(fill_field(sim, source, KW_QUANTITY_RHO0, const_cast<float2 *>(d->rho0)));
    for (int a = 0; a < d->dims; a++) {
        kw_quantity quantity = (kw_quantity)(KW_QUANTITY_RHO0_X + sim->slots.axis[a]);
        if (d->staggered[a] != nullptr)
            KW_TRY(fill_field(sim, source, quantity, const_cast<float2 *>(d->staggered[a])));
    }
    if (d->bona != nullptr) KW_TRY(fill_field(sim, source, KW_QUANTITY_BONA, const_cast<float2 *>(d->bona)));
    if (d->tau != nullptr) KW_TRY(fill_absorption_maps(sim, source));
    if (d->c2 == nullptr) return KW_OK;
    KW_TRY(fill_field(sim, source, KW_QUANTITY_C0, const_cast<float2 *>(d->c2)));
    return kw_launch_square(d, const_cast<float2 *>(d->c2), sim->compute);
}

/* ---- sources ---- */

template <typename T> kw_status upload(kw_sim *sim, const T *device, const std::vector<T> &host)
{
    return kw_upload(sim, device, host.data(), host.size() * sizeof(T));
}

/* Entries that share a place follow each other in the listed order. */
kw_status fill_source(kw_sim *sim, const kw_field_source *fields, const kw_source *asked, kw_device_source *source)
{
    size_t count = (size_t)asked->count;
    std::vector<double> scales(count);
    std::vector<int64_t> order(count);
    std::vector<long long> places, start, row(count), lag;
    std::vector<float> scale(count), fraction, signal(asked->signal, asked->signal + asked->signals * asked->samples);
    KW_TRY(kw_source_scales(sim->problem, asked, fields, scales.data()));
    KW_TRY(kw_source_order(&sim->problem->grid, asked, order.data()));
    for (size_t j = 0; j < count; j++) {
        int64_t i = order[j];
        long long offset = kw_padded_offset(sim, asked->index + 3 * i);
        row[j] = (long long)kw_source_row(asked, i);
        scale[j] = (float)scales[(size_t)i];
        if (asked->lag != nullptr) {
            lag.push_back((long long)ceil(asked->lag[i]));
            fraction.push_back((float)(ceil(asked->lag[i]) - asked->lag[i]));
        }
        if (!places.empty() && places.back() == offset) continue;
        places.push_back(offset);
        start.push_back((long long)j);
    }
    start.push_back((long long)count);
    source->places = (long long)places.size();
    source->varies = kw_source_varies(asked);
    source->samples = asked->samples;
    source->oversampling = asked->oversampling;
    source->act_steps = asked->act_steps;
    source->mode = asked->mode;
    source->after = asked->after;
    source->field = -1;
    for (int a = 0; a < sim->slots.dims; a++)
        if ((int)asked->quantity == KW_SOURCE_UX + sim->slots.axis[a]) source->field = a;
    KW_TRY(upload(sim, source->offset, places));
    KW_TRY(upload(sim, source->start, start));
    KW_TRY(upload(sim, source->row, row));
    KW_TRY(upload(sim, source->scale, scale));
    if (asked->lag != nullptr) KW_TRY(upload(sim, source->lag, lag));
    if (asked->lag != nullptr) KW_TRY(upload(sim, source->lag_fraction, fraction));
    return upload(sim, source->signal, signal);
}

kw_status fill_sources(kw_sim *sim, const kw_field_source *fields)
{
    try {
        for (int64_t i = 0; i < sim->problem->source_count; i++)
            KW_TRY(fill_source(sim, fields, &sim->problem->sources[i], &sim->sources[i]));
    } catch (const std::bad_alloc &) {
        return no_host_memory();
    }
    return KW_OK;
}

/* The step as a graph: one launch instead of one per kernel. */
kw_status capture_step(kw_sim *sim, bool records)
{
    cudaGraph_t graph = nullptr;
    KW_TRY(kw_may_allocate(sim, "the step's graph"));
    KW_CUDA(cudaStreamBeginCapture(sim->compute, cudaStreamCaptureModeThreadLocal), "preparing the step");
    kw_status status = kw_enqueue_step(sim, records);
    cudaError_t error = cudaStreamEndCapture(sim->compute, &graph);
    if (status == KW_OK && error == cudaSuccess) error = cudaGraphInstantiate(&sim->step_graph[records], graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (status != KW_OK) return status;
    KW_CUDA(error, "preparing the step");
    return KW_OK;
}

} // namespace

/* For tests: the allocation of number fail_allocation is refused. */
kw_status kw_may_allocate(kw_sim *sim, const char *purpose)
{
    if (++sim->allocations != sim->fail_allocation) return KW_OK;
    return kw_cuda_fail(cudaErrorMemoryAllocation, purpose);
}

long long kw_padded_offset(const kw_sim *sim, const int64_t index[3])
{
    int64_t dense = kw_grid_offset(&sim->problem->grid, index);
    return dense / sim->device.columns * 2 * sim->device.bins + dense % sim->device.columns;
}

/* On the stream of the kernels, which would not wait for another. */
kw_status kw_upload(kw_sim *sim, const void *device, const void *host, size_t bytes)
{
    KW_CUDA(cudaMemcpyAsync(const_cast<void *>(device), host, bytes, cudaMemcpyHostToDevice, sim->compute),
            "uploading");
    KW_CUDA(cudaStreamSynchronize(sim->compute), "uploading");
    return KW_OK;
}

void kw_cuda_plan(const kw_problem *problem, double fft_bytes, kw_memory_plan *plan)
{
    kw_slots slots = kw_slots_make(&problem->grid);
    sizes s = find_sizes(problem, &slots);
    *plan = {};
    needs n = find_needs(problem);
    if (kw_mixed_taken_here(problem)) {
        kw_mixed_plan(problem, plan);
        kw_memory_add(plan, "medium maps", s.field * n.maps);
    } else {
        kw_memory_add(plan, "pressure, velocity, density", s.field * (1 + 2 * slots.dims));
        kw_memory_add(plan, "spectra", s.field * (1 + n.works));
        kw_memory_add(plan, "FFT work area", fft_bytes);
        kw_memory_add(plan, "medium maps", s.field * n.maps);
        kw_memory_add(plan, "k-space tables", s.kappa * n.tables + s.tables);
    }
    kw_memory_add(plan, "sources", s.sources);
    kw_memory_add(plan, "recording", s.recordings);
    kw_memory_add(plan, "alignment", s.small);
}

kw_status kw_cuda_build(kw_sim *sim, const kw_field_source *source)
{
    const kw_problem *problem = sim->problem;
    float *tables[KW_TABLES];
    void *fft_work;
    sim->sources = static_cast<kw_device_source *>(calloc((size_t)problem->source_count + 1, sizeof *sim->sources));
    sim->recordings =
        static_cast<kw_gpu_recording *>(calloc((size_t)problem->recording_count + 1, sizeof *sim->recordings));
    if (sim->sources == nullptr || sim->recordings == nullptr) return no_host_memory();
    sim->slots = kw_slots_make(&problem->grid);
    kw_device_shape(&sim->device, &sim->slots);
    sim->mixed.on = kw_mixed_taken_here(problem);
    sizes s = find_sizes(problem, &sim->slots);
    KW_TRY(make_streams(sim));
    double start = kw_clock_seconds();
    KW_TRY(kw_may_allocate(sim, "planning the transforms"));
    if (!sim->mixed.on) KW_TRY(kw_fft_make(&sim->fft, &sim->slots, sim->compute));
    sim->plan_seconds = kw_clock_seconds() - start;
    KW_TRY(allocate(sim, &s, tables, &fft_work));
    if (sim->mixed.on) {
        KW_TRY(kw_mixed_fill(sim));
    } else {
        KW_TRY(kw_fft_set_work(&sim->fft, fft_work));
        KW_TRY(fill_tables(sim, tables));
    }
    KW_TRY(fill_medium(sim, source));
    KW_TRY(fill_sources(sim, source));
    KW_TRY(kw_recordings_fill(sim));
    if (sim->mixed.on) KW_TRY(kw_mixed_sources(sim));
    long long first = problem->has_p0 ? 0 : -1; /* the step before the first that runs */
    KW_TRY(kw_upload(sim, sim->device.step, &first, sizeof first));
    if (sim->mixed.on) /* the sources left theirs there */
        KW_CUDA(cudaMemsetAsync(sim->device.p, 0, (size_t)sim->device.elements * sizeof(float2), sim->compute), "p");
    if (problem->has_p0) KW_TRY(fill_field(sim, source, KW_QUANTITY_P0, sim->device.p));
    KW_TRY(kw_enqueue_start(sim));
    KW_CUDA(cudaStreamSynchronize(sim->compute), "the initial state");
    KW_TRY(capture_step(sim, false));
    return capture_step(sim, true);
}
