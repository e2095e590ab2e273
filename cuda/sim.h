/* A prepared run on one GPU. */
#ifndef KW_CUDA_SIM_H
#define KW_CUDA_SIM_H

#include "fft.h"
#include "kernels.h"

/* One advance() in flight: what it recorded is copied out, and p looked at, while the next one runs. */
typedef struct kw_chunk {
    bool pending;
    int64_t steps_end, samples_end; /* totals when it has finished */
    cudaEvent_t begin, computed, done;
    unsigned long long *d_look, *h_look; /* [2] */
} kw_chunk;

enum { KW_CHUNKS = 2, KW_TABLES = 9 /* three of each axis */ };

struct kw_sim {
    const kw_problem *problem; /* borrowed */
    kw_slots slots;
    kw_fft fft;
    kw_device device;
    kw_device_source *sources; /* [problem->source_count], on the host */
    char *arena;               /* all device memory but what cuFFT keeps for its plans */
    size_t arena_bytes;
    unsigned long long *d_partial;
    float *h_ring; /* pinned mirror of the ring */
    unsigned long long *h_looks;

    cudaStream_t compute, copy;
    cudaGraphExec_t step_graph;

    kw_chunk chunk[KW_CHUNKS];
    int64_t advances;                     /* numbers the chunks */
    int64_t steps, samples, ready, taken; /* asked for, recorded by these, copied out, read by the caller */
    kw_watch look;                        /* of the last finished chunk */
    bool stale;                           /* densities were written from outside */

    double bytes, create_seconds, plan_seconds, step_seconds;
    int64_t allocations, fail_allocation;
};

/* step.cu: the classical step, and what starts it. */
kw_status kw_enqueue_step(kw_sim *sim);
kw_status kw_enqueue_start(kw_sim *sim);
kw_status kw_enqueue_refresh(kw_sim *sim);

/* memory.cu: everything between create() and the first step. Bytes of the arena by purpose; the work area of the
 * transforms is given. */
void kw_cuda_plan(const kw_problem *problem, double fft_bytes, kw_memory_plan *plan);
kw_status kw_cuda_build(kw_sim *sim, const kw_field_source *source);

#endif
