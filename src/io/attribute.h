/* Small things of HDF5: attributes and whole datasets. Each returns a negative number on failure, like HDF5. */
#ifndef KW_IO_ATTRIBUTE_H
#define KW_IO_ATTRIBUTE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

herr_t kw_put_text(hid_t at, const char *name, const char *value);
herr_t kw_put_texts(hid_t at, const char *name, const char *const *value, int count);
herr_t kw_put_real(hid_t at, const char *name, double value);
herr_t kw_put_reals(hid_t at, const char *name, const double *value, int count);
herr_t kw_put_integer(hid_t at, const char *name, int64_t value);
herr_t kw_put_integers(hid_t at, const char *name, const int64_t *value, int count);

/* Text, or a list of text, as a dataset. */
herr_t kw_put_text_dataset(hid_t at, const char *name, const char *value);
herr_t kw_put_texts_dataset(hid_t at, const char *name, const char **value, int64_t count);

/* A group by its path, made with those above it if it is not there; "" is the root. */
hid_t kw_open_group(hid_t file, const char *name);

typedef struct kw_layout_of {
    int rank; /* up to 5 */
    int64_t dim[5], chunk[5];
    bool chunked;    /* also if nothing grows or is compressed */
    int grows;       /* number of the dimension that grows, from 1; 0: none */
    int compression; /* 0 to 9 */
} kw_layout_of;

/* Creates a dataset, contiguous where nothing asks for chunks, and leaves it open. */
hid_t kw_make_dataset(hid_t at, const char *name, hid_t type, const kw_layout_of *layout);

/* Writes the block of that place and size, dense in memory. */
herr_t kw_write_block(hid_t dataset, hid_t type, const int64_t *first, const int64_t *count, const void *src);

#endif
