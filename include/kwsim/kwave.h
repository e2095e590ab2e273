/* The field's exchange files: k-Wave's HDF5 input as a problem, and a problem as such an input.
 *
 * A k-Wave file has x fastest. Its axes are taken in reverse (its z is our x), so that its arrays are ours without
 * transposing; names of velocities are swapped back where they are written. */
#ifndef KWSIM_KWAVE_H
#define KWSIM_KWAVE_H

#include "kwsim/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the solvers' command line asks for; bits are 1 << kw_recorded of p and of any u. */
typedef struct kw_kwave_request {
    bool p, u, u_non_staggered; /* series */
    bool p_max, p_min, p_rms;   /* at the sensors */
    bool u_max, u_min, u_rms;
    bool p_max_all, p_min_all, u_max_all, u_min_all, p_final, u_final; /* on the whole grid */
    bool copy_mask;
    int64_t start;   /* first recorded step, from 1 */
    int64_t steps;   /* > 0: in place of the file's */
    int compression; /* 0 to 9 */
} kw_kwave_request;

/* True if the file is HDF5: then it is taken for a k-Wave input. */
bool kw_kwave_is(const char *path);

/* Reads a k-Wave input of format 1.0 to 1.2. Files are untrusted: types, element counts, index ranges and flags are
 * checked. KW_ERR_SCENE names the file and the dataset; what kwsim does not simulate is refused by name. On failure the
 * problem is left empty. */
kw_status kw_kwave_load(const char *path, const kw_kwave_request *request, kw_problem *problem);

/* Writes a resolved problem of a scene as a k-Wave input of format 1.2. KW_ERR_SCENE names what such a file cannot say;
 * KW_ERR_RUN if it cannot be written or exists and `force` is false. */
kw_status kw_kwave_write(const char *path, bool force, const kw_problem *problem, const kw_field_source *fields);

#ifdef __cplusplus
}
#endif
#endif
