/* Voxels of the maps: painted from shapes or read from files, slab by slab, never the whole grid at once. */
#ifndef KWSIM_PREP_H
#define KWSIM_PREP_H

#include "kwsim/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Goes over all voxels of all maps once and fills their ranges (min, max and where). Errors (KW_ERR_SCENE): a
 * value that is not finite, sound speed or density <= 0, a shape that touches no grid point. Warns of values that
 * no tissue, liquid, gas or metal has. */
kw_status kw_prep_scan(kw_problem *problem, int threads);

/* Bytes of host memory that going over the voxels takes, and a backend's copy of a slab. */
double kw_prep_bytes(const kw_problem *problem);

/* A source of voxels for a backend's create(); the problem is borrowed until the close. */
kw_status kw_prep_open(const kw_problem *problem, int threads, kw_field_source *source);
void kw_prep_close(kw_field_source *source);

#ifdef __cplusplus
}
#endif
#endif
