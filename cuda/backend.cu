/* The backend "cuda": one NVIDIA GPU, cuFFT, float32. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kwsim/clock.h"
#include "sim.h"

namespace
{

/* ---- probe ---- */

kw_status no_device(int driver)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (driver == 0)
        return kw_fail(KW_ERR_RESOURCE,
                       "there is no NVIDIA driver on this machine: install the driver for your card, or use "
                       "--backend cpu");
    if (visible != nullptr)
        return kw_fail(KW_ERR_RESOURCE,
                       "no CUDA device is visible: CUDA_VISIBLE_DEVICES is \"%s\", which hides every GPU or "
                       "names one that is not there; unset it, or use --backend cpu",
                       visible);
    return kw_fail(KW_ERR_RESOURCE,
                   "the NVIDIA driver is there, but it sees no CUDA device: is the card seated and passed "
                   "through to this machine (nvidia-smi)? Else use --backend cpu");
}

kw_status explain_count(cudaError_t error, int driver, int runtime)
{
    cudaGetLastError();
    if (error == cudaErrorInsufficientDriver && driver > 0)
        return kw_fail(KW_ERR_RESOURCE,
                       "the NVIDIA driver is too old: it knows CUDA %d.%d, and this kwsim was built with CUDA "
                       "%d.%d; update the driver, build with an older toolkit, or use --backend cpu",
                       driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice) return no_device(driver);
    return kw_fail(KW_ERR_RESOURCE,
                   "CUDA does not start: %s (%s); driver CUDA %d.%d, runtime %d.%d; try nvidia-smi, or use "
                   "--backend cpu",
                   cudaGetErrorString(error), cudaGetErrorName(error), driver / 1000, driver % 1000 / 10,
                   runtime / 1000, runtime % 1000 / 10);
}

kw_status explain_start(cudaError_t error, const cudaDeviceProp *card)
{
    cudaGetLastError();
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
        error == cudaErrorUnsupportedPtxVersion)
        return kw_fail(KW_ERR_RESOURCE,
                       "this kwsim holds no code for %s (compute capability %d.%d); it was compiled for: %s. "
                       "Build it with -DCMAKE_CUDA_ARCHITECTURES=%d%d, or use --backend cpu",
                       card->name, card->major, card->minor, KWSIM_CUDA_CODE, card->major, card->minor);
    if (error == cudaErrorMemoryAllocation)
        return kw_fail(KW_ERR_RESOURCE,
                       "the memory of %s is taken by others (nvidia-smi shows who); try again, --device N, or "
                       "--backend cpu",
                       card->name);
    return kw_cuda_fail(error, "starting on the GPU");
}

kw_status probe(const kw_options *options, kw_device_info *info)
{
    int count = 0, driver = 0, runtime = 0, fft = 0;
    cudaDeviceProp card;
    size_t left, total;
    if (options->precision == KW_DOUBLE)
        return kw_fail(KW_ERR_RESOURCE,
                       "the backend cuda computes in single precision only; use --backend cpu for double");
    cudaRuntimeGetVersion(&runtime);
    cudaDriverGetVersion(&driver);
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) return explain_count(error, driver, runtime);
    if (count == 0) return no_device(driver);
    if (options->device >= count)
        return kw_fail(KW_ERR_RESOURCE, "there is no GPU of number %d: --device takes 0 to %d here", options->device,
                       count - 1);
    KW_CUDA(cudaGetDeviceProperties(&card, options->device), "asking for the GPU's properties");
    error = cudaSetDevice(options->device);
    if (error == cudaSuccess) error = kw_kernels_usable();
    if (error == cudaSuccess) error = cudaMemGetInfo(&left, &total);
    if (error != cudaSuccess) return explain_start(error, &card);
    KW_TRY(kw_fft_open(&fft));
    *info = {};
    info->memory_free = (double)left;
    info->memory_total = (double)total;
    snprintf(info->device, sizeof info->device, "%.150s", card.name);
    snprintf(
        info->detail, sizeof info->detail,
        "device %d of %d, compute capability %d.%d (compiled for %s), driver CUDA %d.%d, runtime %d.%d, cuFFT %d.%d.%d",
        options->device, count, card.major, card.minor, KWSIM_CUDA_CODE, driver / 1000, driver % 1000 / 10,
        runtime / 1000, runtime % 1000 / 10, fft / 1000, fft % 1000 / 100, fft % 100);
    return KW_OK;
}

/* ---- estimate, create, destroy ---- */

kw_status estimate(const kw_problem *problem, const kw_options *options, kw_memory_plan *plan)
{
    const double beyond_every_card = 1e13; /* bytes; cuFFT is not even asked */
    size_t fft_bytes = 0;
    (void)options;
    kw_slots slots = kw_slots_make(&problem->grid);
    kw_cuda_plan(problem, 0, plan);
    if (plan->total > beyond_every_card) return KW_OK;
    if (slots.n[KW_ROWS] * slots.bins >= INT64_C(1) << 31)
        return kw_fail(KW_ERR_RESOURCE,
                       "a plane of %lld x %lld points is too large for the backend cuda; use --backend cpu",
                       (long long)slots.n[KW_ROWS], (long long)slots.n[KW_COLUMNS]);
    if (!kw_mixed_taken_here(problem)) KW_TRY(kw_fft_work_bytes(&slots, &fft_bytes));
    kw_cuda_plan(problem, (double)fft_bytes, plan);
    return KW_OK;
}

void destroy(kw_sim *sim)
{
    if (sim == nullptr) return;
    if (sim->compute != nullptr) cudaStreamSynchronize(sim->compute);
    if (sim->copy != nullptr) cudaStreamSynchronize(sim->copy);
    for (cudaGraphExec_t graph : sim->step_graph)
        if (graph != nullptr) cudaGraphExecDestroy(graph);
    kw_mixed_release(sim);
    free(sim->mixed.row_needed);
    kw_fft_destroy(&sim->fft);
    for (kw_chunk &chunk : sim->chunk)
        for (cudaEvent_t event : {chunk.begin, chunk.computed, chunk.done})
            if (event != nullptr) cudaEventDestroy(event);
    if (sim->compute != nullptr) cudaStreamDestroy(sim->compute);
    if (sim->copy != nullptr) cudaStreamDestroy(sim->copy);
    cudaFree(sim->arena);
    for (int r = 0; r < sim->problem->recording_count && sim->recordings != nullptr; r++)
        cudaFreeHost(sim->recordings[r].h_ring);
    cudaFreeHost(sim->h_looks);
    cudaGetLastError();
    free(sim->recordings);
    free(sim->sources);
    free(sim);
}

kw_status create(const kw_problem *problem, const kw_options *options, const kw_field_source *source, kw_sim **out)
{
    double start = kw_clock_seconds();
    int version;
    *out = nullptr;
    KW_CUDA(cudaSetDevice(options->device), "taking the GPU");
    KW_TRY(kw_fft_open(&version));
    kw_sim *sim = static_cast<kw_sim *>(calloc(1, sizeof *sim));
    if (sim == nullptr) return kw_fail(KW_ERR_RESOURCE, "no host memory");
    sim->problem = problem;
    sim->fail_allocation = options->fail_allocation;
    sim->look.step = -1;
    sim->look.finite = true;
    kw_status status = kw_cuda_build(sim, source);
    if (status != KW_OK) {
        destroy(sim);
        return status;
    }
    sim->create_seconds = kw_clock_seconds() - start;
    *out = sim;
    return KW_OK;
}

/* ---- chunks ---- */

void take_look(kw_sim *sim, const kw_chunk *chunk)
{
    unsigned bits = (unsigned)chunk->h_look[0];
    unsigned long long offset = chunk->h_look[1];
    const kw_grid *grid = &sim->problem->grid;
    float value;
    memcpy(&value, &bits, sizeof value);
    sim->look.step = chunk->steps_end - 1;
    sim->look.finite = bits < 0x7f800000u;
    sim->look.max_abs = sim->look.finite ? value : 0.0;
    sim->look.at[2] = (int64_t)offset % grid->n[2];
    sim->look.at[1] = (int64_t)offset / grid->n[2] % grid->n[1];
    sim->look.at[0] = (int64_t)offset / grid->n[2] / grid->n[1];
}

/* Samples of a recording that steps 0 ... steps-1 make. */
int64_t samples_after(const kw_gpu_recording *recording, int64_t steps)
{
    return kw_recording_samples(recording->asked, steps);
}

kw_status finish_chunk(kw_sim *sim, kw_chunk *chunk)
{
    float ms = 0;
    if (!chunk->pending) return KW_OK;
    chunk->pending = false;
    KW_CUDA(cudaEventSynchronize(chunk->done), "stepping");
    KW_CUDA(cudaEventElapsedTime(&ms, chunk->begin, chunk->computed), "stepping");
    sim->step_seconds += 1e-3 * ms;
    for (int r = 0; r < sim->problem->recording_count; r++)
        sim->recordings[r].ready = samples_after(&sim->recordings[r], chunk->steps_end);
    take_look(sim, chunk);
    return KW_OK;
}

/* Finishes the chunks that have ended, in order; with `wait`, all. */
kw_status collect(kw_sim *sim, bool wait)
{
    for (int64_t i = sim->advances; i < sim->advances + KW_CHUNKS; i++) {
        kw_chunk *chunk = &sim->chunk[i % KW_CHUNKS];
        if (!chunk->pending) continue;
        if (!wait && cudaEventQuery(chunk->done) == cudaErrorNotReady) return KW_OK;
        KW_TRY(finish_chunk(sim, chunk));
    }
    return KW_OK;
}

/* Copies samples first ... end-1 from the ring to its mirror: in two pieces where they wrap around. */
kw_status copy_samples(kw_sim *sim, const kw_gpu_recording *recording, int64_t first, int64_t end)
{
    const kw_device_recording *r = &recording->device;
    int64_t sample = r->series_count * r->rows;
    while (first < end) {
        int64_t slot = first % r->ring_steps,
                count = r->ring_steps - slot < end - first ? r->ring_steps - slot : end - first;
        KW_CUDA(cudaMemcpyAsync(recording->h_ring + slot * sample, r->ring + slot * sample,
                                (size_t)(count * sample) * sizeof(float), cudaMemcpyDeviceToHost, sim->copy),
                "copying traces");
        first += count;
    }
    return KW_OK;
}

kw_status check_rings(const kw_sim *sim, int64_t steps)
{
    for (int r = 0; r < sim->problem->recording_count; r++) {
        const kw_gpu_recording *recording = &sim->recordings[r];
        int64_t end = samples_after(recording, sim->steps + steps);
        if (recording->h_ring != nullptr && end - recording->taken > recording->device.ring_steps)
            return kw_fail(KW_ERR_RUN, "%lld samples wait to be read; the ring of %lld cannot take %lld more",
                           (long long)(recording->samples - recording->taken), (long long)recording->device.ring_steps,
                           (long long)(end - recording->samples));
    }
    return KW_OK;
}

kw_status refresh(kw_sim *sim)
{
    if (!sim->stale) return KW_OK;
    KW_TRY(kw_enqueue_refresh(sim));
    sim->stale = false;
    return KW_OK;
}

/* Does a recording keep something of step `step`? */
bool is_recorded(const kw_sim *sim, int64_t step)
{
    for (int r = 0; r < sim->problem->recording_count; r++)
        if (samples_after(&sim->recordings[r], step + 1) > samples_after(&sim->recordings[r], step)) return true;
    return false;
}

kw_status enqueue_steps(kw_sim *sim, int64_t steps)
{
    KW_TRY(refresh(sim));
    if (steps > 0) kw_mixed_release(sim);
    for (int64_t n = sim->steps; n < sim->steps + steps; n++) {
        bool records = is_recorded(sim, n);
        if (n == 0 && sim->problem->has_p0) { /* the state of step 0 is there already */
            if (records) KW_TRY(kw_enqueue_record(sim));
            continue;
        }
        KW_CUDA(cudaGraphLaunch(sim->step_graph[records], sim->compute), "stepping");
        sim->mixed.fresh = records && kw_mixed_shows_all(sim);
        if (sim->mixed.on && (n + 1) % KW_MIXED_MEND == 0) KW_TRY(kw_mixed_mend(sim));
    }
    return KW_OK;
}

kw_status advance(kw_sim *sim, int64_t steps)
{
    kw_chunk *chunk = &sim->chunk[sim->advances % KW_CHUNKS];
    KW_TRY(check_rings(sim, steps));
    KW_TRY(finish_chunk(sim, chunk));
    KW_CUDA(cudaEventRecord(chunk->begin, sim->compute), "stepping");
    KW_TRY(enqueue_steps(sim, steps));
    if (sim->mixed.on) KW_TRY(kw_mixed_pressure(sim));
    KW_TRY(kw_launch_look(&sim->device, sim->d_partial, chunk->d_look, sim->compute));
    KW_CUDA(cudaEventRecord(chunk->computed, sim->compute), "stepping");
    KW_CUDA(cudaStreamWaitEvent(sim->copy, chunk->computed, 0), "stepping");
    for (int r = 0; r < sim->problem->recording_count; r++) {
        kw_gpu_recording *recording = &sim->recordings[r];
        int64_t end = samples_after(recording, sim->steps + steps);
        if (recording->h_ring != nullptr) KW_TRY(copy_samples(sim, recording, recording->samples, end));
        recording->samples = end;
    }
    KW_CUDA(cudaMemcpyAsync(chunk->h_look, chunk->d_look, 2 * sizeof *chunk->h_look, cudaMemcpyDeviceToHost, sim->copy),
            "looking at the field");
    KW_CUDA(cudaEventRecord(chunk->done, sim->copy), "stepping");
    sim->steps += steps;
    chunk->steps_end = sim->steps;
    chunk->pending = true;
    sim->advances++;
    return KW_OK;
}

kw_status read_traces(kw_sim *sim, int number, bool wait, void *dst, int64_t *samples)
{
    kw_gpu_recording *recording = &sim->recordings[number];
    const kw_device_recording *r = &recording->device;
    char *to = static_cast<char *>(dst);
    KW_TRY(collect(sim, wait));
    *samples = recording->ready - recording->taken;
    for (; recording->taken < recording->ready; recording->taken++) {
        int64_t sample = r->series_count * r->rows;
        memcpy(to, recording->h_ring + recording->taken % r->ring_steps * sample, (size_t)sample * sizeof(float));
        to += (size_t)sample * sizeof(float);
    }
    return KW_OK;
}

kw_status read_accumulator(kw_sim *sim, int number, int slot, int64_t first, int64_t rows, void *dst)
{
    const kw_device_recording *r = &sim->recordings[number].device;
    KW_CUDA(cudaMemcpyAsync(dst, r->slots + slot * r->rows + first, (size_t)rows * sizeof(float),
                            cudaMemcpyDeviceToHost, sim->compute),
            "reading results");
    KW_CUDA(cudaStreamSynchronize(sim->compute), "reading results");
    return KW_OK;
}

/* ---- fields ---- */

/* Active axis of a component; -1: it lies along a flat one, or is p. */
int find_axis(const kw_sim *sim, kw_field field)
{
    for (int a = 0; a < sim->slots.dims; a++)
        if (field == KW_FIELD_UX + sim->slots.axis[a] || field == KW_FIELD_RHOX + sim->slots.axis[a]) return a;
    return -1;
}

/* The padded array that holds a field now; NULL for a component along a flat axis. */
kw_status find_field(kw_sim *sim, kw_field field, float2 **array)
{
    const kw_device *d = &sim->device;
    bool density = field >= KW_FIELD_RHOX;
    int a = find_axis(sim, field);
    *array = nullptr;
    if (field == KW_FIELD_P) {
        if (sim->mixed.on) KW_TRY(kw_mixed_pressure(sim));
        *array = d->p;
    } else if (a >= 0 && sim->mixed.on) {
        return kw_mixed_component(sim, a, density, array);
    } else if (a >= 0) {
        *array = (density ? d->rho : d->u) + a * d->elements;
    }
    return KW_OK;
}

/* A copy between a dense host box and a padded field. */
kw_status copy_box(kw_sim *sim, const kw_box *box, float2 *field, void *host, bool to_device)
{
    const kw_device *d = &sim->device;
    size_t lo[3] = {0, 0, 0}, n[3] = {1, 1, 1}, pitch = (size_t)d->bins * sizeof(float2);
    if (kw_box_points(box) == 0) return KW_OK;
    for (int a = 0; a < d->dims; a++) {
        int slot = sim->slots.slot[a], axis = sim->slots.axis[a];
        lo[slot] = (size_t)box->lo[axis];
        n[slot] = (size_t)(box->hi[axis] - box->lo[axis]);
    }
    cudaMemcpy3DParms copy = {};
    cudaPitchedPtr dense = make_cudaPitchedPtr(host, n[2] * sizeof(float), n[2] * sizeof(float), n[1]);
    cudaPitchedPtr padded = make_cudaPitchedPtr(field, pitch, pitch, (size_t)d->rows);
    cudaPos place = make_cudaPos(lo[2] * sizeof(float), lo[1], lo[0]);
    copy.srcPtr = to_device ? dense : padded;
    copy.dstPtr = to_device ? padded : dense;
    (to_device ? copy.dstPos : copy.srcPos) = place;
    copy.extent = make_cudaExtent(n[2] * sizeof(float), n[1], n[0]);
    copy.kind = to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    KW_CUDA(cudaMemcpy3DAsync(&copy, sim->compute), "copying a field");
    KW_CUDA(cudaStreamSynchronize(sim->compute), "copying a field");
    return KW_OK;
}

kw_status read_field(kw_sim *sim, kw_field field, const kw_box *box, void *dst)
{
    float2 *from;
    KW_TRY(kw_box_check(&sim->problem->grid, box));
    KW_TRY(refresh(sim));
    KW_TRY(find_field(sim, field, &from));
    if (from != nullptr) return copy_box(sim, box, from, dst, false);
    memset(dst, 0, (size_t)kw_box_points(box) * sizeof(float));
    return KW_OK;
}

kw_status write_field(kw_sim *sim, kw_field field, const kw_box *box, const void *src)
{
    KW_TRY(kw_box_check(&sim->problem->grid, box));
    if (field == KW_FIELD_P) return kw_fail(KW_ERR_RUN, "p cannot be written: it follows from the densities");
    if (sim->steps == 0) return kw_fail(KW_ERR_RUN, "fields cannot be written before step 0");
    float2 *to;
    KW_TRY(find_field(sim, field, &to));
    if (to == nullptr) return KW_OK;
    sim->stale = true;
    KW_TRY(copy_box(sim, box, to, const_cast<void *>(src), true));
    return sim->mixed.on ? kw_mixed_written(sim, find_axis(sim, field), field >= KW_FIELD_RHOX) : KW_OK;
}

/* The look belongs to the last advance(); densities written since then ask for a new one. */
kw_status watch(kw_sim *sim, bool wait, kw_watch *out)
{
    if (sim->stale || sim->advances == 0) KW_TRY(advance(sim, 0));
    KW_TRY(collect(sim, wait));
    *out = sim->look;
    return KW_OK;
}

void stats(const kw_sim *sim, kw_stats *out)
{
    *out = {};
    out->create_seconds = sim->create_seconds;
    out->plan_seconds = sim->plan_seconds;
    out->step_seconds = sim->step_seconds;
    out->bytes = sim->bytes;
    out->steps = sim->steps;
    snprintf(out->plan_id, sizeof out->plan_id, sim->mixed.on ? "lines-%d-graph" : "cufft-%d-graph", CUDART_VERSION);
    snprintf(out->stepper, sizeof out->stepper, sim->mixed.on ? "mixed" : "classical");
}

} // namespace

extern "C" const kw_backend kw_cuda_backend;
const kw_backend kw_cuda_backend = {
    "cuda",      "NVIDIA GPU with cuFFT; single precision",
    probe,       kw_mixed_obstacle_here,
    estimate,    create,
    advance,
    read_traces, read_accumulator,
    read_field,  write_field,
    watch,       stats,
    destroy,
};
