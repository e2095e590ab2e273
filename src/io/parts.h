/* The recorder's parts, which share its state. Functions of HDF5 return a negative number on failure. */
#ifndef KW_IO_PARTS_H
#define KW_IO_PARTS_H

#include "attribute.h"
#include "kwsim/recorder.h"
#include "kwsim/recording.h"
#include "xdmf.h"

#define KW_PUT(call)                                                                                                   \
    do {                                                                                                               \
        if ((call) < 0) return -1;                                                                                     \
    } while (0)

enum { KW_BLOCK_BYTES = 16 << 20 }; /* written together */

/* The series of one recording. */
typedef struct kw_series {
    const kw_recording *recording;
    hid_t dataset[KW_RECORDED], time;
    int count; /* of datasets; 0: the recording has no series */
    int64_t rows;
    int64_t block_samples; /* samples that are written together */
    char *block;           /* [series][rows][block_samples]; snapshots have none */
    int64_t in_block, written;
} kw_series;

/* How an output is laid out. */
typedef struct kw_format {
    herr_t (*begin)(kw_recorder *recorder, const kw_recorder_info *info); /* what is known before the run */
    kw_status (*samples)(kw_recorder *recorder, int recording, const void *samples, int64_t count);
    kw_status (*array)(kw_recorder *recorder, const kw_array *array, kw_recorder_read read, void *self);
    herr_t (*end)(kw_recorder *recorder, const kw_recorder_result *result);
} kw_format;

extern const kw_format kw_native_format, kw_kwave_format;

struct kw_recorder {
    char *path, *part;
    bool force;
    const kw_problem *problem;
    kw_precision precision;
    hid_t file;
    const kw_format *format;
    hid_t *cuboid; /* k-Wave's format: datasets of the series, [quantity][cuboid] */
    int64_t cuboids;
    kw_series *series; /* [problem->recording_count] */
    double last_flush;
    kw_xdmf xdmf;
};

hid_t kw_real_type(const kw_recorder *recorder);

/* KW_ERR_RUN with the file and HDF5's reason. */
kw_status kw_cannot_write(const kw_recorder *recorder);

/* KW_ERR_RUN if the path cannot become an output; `what` says more of one that exists. */
kw_status kw_refuse_existing(const char *path, bool force, const char *what);

/* Size of a box by axis. */
void kw_box_size(const kw_box *box, int64_t size[3]);

/* describe.c */
herr_t kw_put_description(const kw_recorder *recorder, const kw_recorder_info *info);

/* array.c */
kw_status kw_put_array(kw_recorder *recorder, const kw_array *array, kw_recorder_read read, void *self);

/* series.c */
kw_status kw_put_samples(kw_recorder *recorder, int recording, const void *samples, int64_t count);
kw_status kw_prepare_series(kw_recorder *recorder);
herr_t kw_put_all_series(kw_recorder *recorder);
kw_status kw_finish_series(kw_recorder *recorder);

#endif
