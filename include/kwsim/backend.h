/* The table of functions behind which a backend stands. Coarse on purpose: no array, FFT, stream or device
 * pointer crosses it, so that a fused, a multi-GPU or an MPI backend fits behind it.
 *
 * One sim is used from one thread at a time. Everything returns kw_status with a message (status.h). */
#ifndef KWSIM_BACKEND_H
#define KWSIM_BACKEND_H

#include "kwsim/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kw_precision { KW_SINGLE, KW_DOUBLE } kw_precision;

static inline size_t kw_real_size(kw_precision precision)
{
    return precision == KW_DOUBLE ? sizeof(double) : sizeof(float);
}

typedef struct kw_options {
    kw_precision precision;
    int threads;             /* CPU threads, >= 1 */
    int device;              /* number of the GPU, >= 0 */
    int64_t fail_allocation; /* for tests: create()'s allocation of this number, from 1, fails; 0: none */
} kw_options;

typedef struct kw_device_info {
    char device[160];   /* "AMD EPYC, 2 threads" */
    char detail[256];   /* versions, capabilities; may be empty */
    double memory_free; /* bytes that a run may take */
    double memory_total;
} kw_device_info;

/* Bytes by purpose. Sizes are double: a refused scene may ask for more than 2^63. */
enum { KW_MEMORY_ITEMS = 12 };
typedef struct kw_memory_plan {
    int count;
    struct {
        const char *purpose; /* static text */
        double bytes;
    } item[KW_MEMORY_ITEMS];
    double total;
} kw_memory_plan;

/* Adds bytes to the total and to the item of that purpose. */
void kw_memory_add(kw_memory_plan *plan, const char *purpose, double bytes);

/* Where a backend gets the voxels of a map: fills planes x0 ... x0+nx-1 of `quantity`, [nx][ny][nz] dense, in
 * the given precision, into host memory. */
typedef struct kw_field_source {
    void *self;
    kw_status (*read)(void *self, kw_quantity quantity, int64_t x0, int64_t nx, kw_precision precision, void *dst);
} kw_field_source;

/* Fields that can be read, in Pa, m/s and kg/m^3. u_i is staggered by +h_i/2 and half a step earlier than p.
 * p cannot be written: it follows from the densities. */
typedef enum kw_field {
    KW_FIELD_P,
    KW_FIELD_UX,
    KW_FIELD_UY,
    KW_FIELD_UZ,
    KW_FIELD_RHOX,
    KW_FIELD_RHOY,
    KW_FIELD_RHOZ,
    KW_FIELD_COUNT
} kw_field;

/* State of the pressure after the last step that was taken. */
typedef struct kw_watch {
    int64_t step;   /* the step, 0-based; -1 before the first */
    bool finite;    /* every value of p is finite */
    double max_abs; /* Pa, over the finite values */
    int64_t at[3];  /* its grid point; of the first non-finite value if not finite */
} kw_watch;

typedef struct kw_stats {
    double create_seconds; /* planning, allocation, initial state */
    double plan_seconds;   /* of these, planning the FFTs */
    double step_seconds;   /* in advance() */
    double bytes;          /* held by the sim */
    int64_t steps;         /* asked for; taken once watch() or read_traces() has waited */
    char plan_id[40];      /* names the FFT plan: the same id, the same bits */
    char stepper[24];      /* "classical" */
} kw_stats;

typedef struct kw_sim kw_sim;

typedef struct kw_backend {
    const char *name;    /* what --backend takes */
    const char *summary; /* one line for --list-backends */

    /* Usable here with these options? KW_ERR_RESOURCE and why not, with a remedy, in words for a person. */
    kw_status (*probe)(const kw_options *options, kw_device_info *info);

    /* Why the mixed-space step cannot take the problem here, in words for a person; NULL if it can. */
    const char *(*mixed_obstacle)(const kw_problem *problem);

    /* Bytes by purpose, before anything is allocated. Before the scan maps count as maps; it may find them constant. */
    kw_status (*estimate)(const kw_problem *problem, const kw_options *options, kw_memory_plan *plan);

    /* Plans FFTs, allocates, fills the maps and sets the state before step 0. The problem is borrowed and must
     * outlive the sim; the source is used during the call only. On failure nothing is left behind. */
    kw_status (*create)(const kw_problem *problem, const kw_options *options, const kw_field_source *source,
                        kw_sim **sim);

    /* Takes `steps` more steps and keeps the recorded samples in the sim's rings. May return before a device
     * has finished. KW_ERR_RUN, with nothing done, if a ring cannot hold the samples not yet read. The result
     * does not depend on how the steps are cut into calls. */
    kw_status (*advance)(kw_sim *sim, int64_t steps);

    /* Moves the samples of a recording's series out that are there, in order: dst is [samples][series][rows] in the
     * run's precision (recording.h), with room for kw_recording_ring() samples; *samples says how many. With `wait`,
     * all that advance() was asked for; without, what a device has finished by now, so that it goes on while the
     * caller writes. */
    kw_status (*read_traces)(kw_sim *sim, int recording, bool wait, void *dst, int64_t *samples);

    /* Rows first ... first+rows-1 of one accumulator of a recording (recording.h), after all steps asked for. */
    kw_status (*read_accumulator)(kw_sim *sim, int recording, int slot, int64_t first, int64_t rows, void *dst);

    /* A box of a field, [x][y][z] dense, in the run's precision. Velocities and densities of flat axes are 0. */
    kw_status (*read_field)(kw_sim *sim, kw_field field, const kw_box *box, void *dst);

    /* Sets a box of ux ... rhoz; p follows from the densities. Together the six fields are the whole state.
     * Before step 0 it refuses (KW_ERR_RUN): step 0 would overwrite the state. */
    kw_status (*write_field)(kw_sim *sim, kw_field field, const kw_box *box, const void *src);

    /* How p stands after the last advance(); without `wait`, after the last one that has finished. */
    kw_status (*watch)(kw_sim *sim, bool wait, kw_watch *watch);
    void (*stats)(const kw_sim *sim, kw_stats *stats);

    /* Cannot fail; accepts NULL. Waits for a device. */
    void (*destroy)(kw_sim *sim);
} kw_backend;

/* All backends, in the order in which `auto` prefers them; count of them in *count. */
const kw_backend *const *kw_backends(int *count);

/* The backend of that name, or NULL. */
const kw_backend *kw_backend_find(const char *name);

/* KW_ERR_RUN if the box leaves the grid. */
kw_status kw_box_check(const kw_grid *grid, const kw_box *box);

#ifdef __cplusplus
}
#endif
#endif
