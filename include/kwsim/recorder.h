/* What a run keeps: an HDF5 file, written in blocks while the run goes on. The file is NAME.part until the run is
 * complete and is then renamed. README, section "The output file", lists what is in it. */
#ifndef KWSIM_RECORDER_H
#define KWSIM_RECORDER_H

#include "kwsim/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kw_recorder kw_recorder;

/* What is known before the run. All text is copied. */
typedef struct kw_recorder_info {
    const char *version, *backend, *device;
    kw_precision precision;
    int threads;
} kw_recorder_info;

/* What is known after it. */
typedef struct kw_recorder_result {
    const char *status; /* "complete", "interrupted" or "unstable" */
    kw_stats stats;
    double total_seconds;
} kw_recorder_result;

/* Fails (KW_ERR_RUN) if `path` cannot become an output: it exists and `force` is false, it is not a regular file,
 * or NAME.part is there from a run that did not finish and `force` is false. Writes nothing. */
kw_status kw_recorder_check(const char *path, bool force);

/* Bytes of host memory that recording takes at most. */
double kw_recorder_bytes(const kw_problem *problem, kw_precision precision);

/* Creates NAME.part with all that is known before the first step. The problem is resolved and borrowed. On failure
 * no file is left. KW_ERR_RUN. */
kw_status kw_recorder_create(const char *path, bool force, const kw_problem *problem, const kw_recorder_info *info,
                             kw_recorder **recorder);

/* Appends `count` samples of a recording's series, [count][series][rows] in the run's precision. */
kw_status kw_recorder_samples(kw_recorder *recorder, int recording, const void *samples, int64_t count);

/* Fills rows first ... first+count-1 of dimension 1 (of `outer`, an index of dimension 0) of an array of rank 4, or rows
 * of dimension 0 of an array of lower rank, in the run's precision. */
typedef kw_status (*kw_recorder_read)(void *self, int64_t outer, int64_t first, int64_t count, void *dst);

/* An array that is written as a whole after the last step. */
typedef struct kw_array {
    const char *group; /* "" is the root */
    const char *name, *units;
    int rank; /* 1 to 4 */
    int64_t dim[4];
    const char *axes[4];
    const kw_box *box;             /* of fields: where they are; else NULL */
    const kw_recording *recording; /* its window and frequencies become attributes; may be NULL */
    int64_t samples;               /* recorded, if there is a recording */
} kw_array;

/* Writes the array slab by slab. */
kw_status kw_recorder_array(kw_recorder *recorder, const kw_array *array, kw_recorder_read read, void *self);

/* Writes the result and closes the file; a "complete" one gets its final name, others stay NAME.part. Frees the
 * recorder, also on failure (KW_ERR_RUN), after which NAME.part is removed if it cannot be read. */
kw_status kw_recorder_finish(kw_recorder *recorder, const kw_recorder_result *result);

/* Closes and removes NAME.part; for failures before the first step or while writing. Accepts NULL. */
void kw_recorder_discard(kw_recorder *recorder);

/* NAME.part */
const char *kw_recorder_part(const kw_recorder *recorder);

#ifdef __cplusplus
}
#endif
#endif
