/* Reading arrays from HDF5 files that users name in a scene. Files are untrusted: existence, format, type and
 * shape are checked, with a sentence for each. */
#ifndef KWSIM_DATASET_H
#define KWSIM_DATASET_H

#include "kwsim/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KW_DATASET_RANK = 4 };

typedef struct kw_dataset {
    int64_t handle[2]; /* HDF5's file and dataset */
    int rank;
    int64_t dim[KW_DATASET_RANK];
    bool integer;            /* integer elements; else floating point */
    const char *file, *name; /* borrowed */
} kw_dataset;

/* Opens a dataset of numbers of rank 0 to 4. `file` and `name` are borrowed until the close. KW_ERR_SCENE if the
 * file is missing, unreadable or not HDF5, or the dataset is missing or not of numbers. */
kw_status kw_dataset_open(const char *file, const char *name, kw_dataset *dataset);

/* Reads rows first ... first+count-1 of the first dimension, all of the others, dense, as double: exact for integers
 * up to 2^53. */
kw_status kw_dataset_read(const kw_dataset *dataset, int64_t first, int64_t count, double *dst);

/* Accepts a zeroed or already closed dataset. */
void kw_dataset_close(kw_dataset *dataset);

/* "64 x 75 x 1" into text, for messages. */
void kw_dataset_shape(const kw_dataset *dataset, char *text, int size);

/* Makes HDF5 silent in this thread and forgets earlier failures. */
void kw_hdf5_watch(void);

/* What HDF5 first failed at since kw_hdf5_watch() or the last call ("No space left on device"); valid until the
 * next call in this thread. */
const char *kw_hdf5_reason(void);

#ifdef __cplusplus
}
#endif
#endif
