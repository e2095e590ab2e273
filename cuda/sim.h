/* A prepared run on one GPU. */
#ifndef KW_CUDA_SIM_H
#define KW_CUDA_SIM_H

#include "fft.h"
#include "kernels.h"
#include "mixed.h"

/* One advance() in flight: what it recorded is copied out, and p looked at, while the next one runs. */
typedef struct kw_chunk {
    bool pending;
    int64_t steps_end; /* total when it has finished */
    cudaEvent_t begin, computed, done;
    unsigned long long *d_look, *h_look; /* [2] */
} kw_chunk;

/* A recording on the host's side. */
typedef struct kw_gpu_recording {
    kw_device_recording device;
    const kw_recording *asked;
    float *h_ring;                 /* pinned mirror of the ring; NULL without series */
    int64_t samples, ready, taken; /* asked for, copied out, read by the caller */
} kw_gpu_recording;

enum { KW_CHUNKS = 2, KW_TABLES = 9 /* three of each axis */ };

struct kw_sim {
    const kw_problem *problem; /* borrowed */
    kw_slots slots;
    kw_fft fft;
    kw_device device;
    kw_mixed mixed; /* where mixed.on; else the classical step */
    kw_device_source *sources; /* [problem->source_count], on the host */
    char *arena;               /* all device memory but what cuFFT keeps for its plans */
    size_t arena_bytes;
    unsigned long long *d_partial;
    kw_gpu_recording *recordings; /* [problem->recording_count] */
    unsigned long long *h_looks;

    cudaStream_t compute, copy;
    cudaGraphExec_t step_graph[2]; /* a step that nothing is recorded of, and one that something is */

    kw_chunk chunk[KW_CHUNKS];
    int64_t advances; /* numbers the chunks */
    int64_t steps;    /* asked for */
    kw_watch look;    /* of the last finished chunk */
    bool stale;       /* densities were written from outside */

    double bytes, create_seconds, plan_seconds, step_seconds;
    int64_t allocations, fail_allocation;
};

/* step.cu: the step, what starts it, and what keeps it. */
kw_status kw_enqueue_record(kw_sim *sim);
kw_status kw_enqueue_step(kw_sim *sim, bool records);
kw_status kw_enqueue_start(kw_sim *sim);
kw_status kw_enqueue_refresh(kw_sim *sim);

/* recordings.cu: bytes and pieces of the arena of the recordings, and their tables. */
double kw_recordings_bytes(const kw_problem *problem);
kw_status kw_recordings_carve(kw_sim *sim, char *at);
kw_status kw_recordings_fill(kw_sim *sim);

/* memory.cu: host memory to the device, done when it returns. */
kw_status kw_upload(kw_sim *sim, const void *device, const void *host, size_t bytes);
kw_status kw_may_allocate(kw_sim *sim, const char *purpose);
long long kw_padded_offset(const kw_sim *sim, const int64_t index[3]);

/* memory.cu: everything between create() and the first step. Bytes of the arena by purpose; the work area of the
 * transforms is given. */
void kw_cuda_plan(const kw_problem *problem, double fft_bytes, kw_memory_plan *plan);
kw_status kw_cuda_build(kw_sim *sim, const kw_field_source *source);

#endif
