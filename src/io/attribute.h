/* Small things of HDF5: attributes and whole datasets. Each returns a negative number on failure, like HDF5. */
#ifndef KW_IO_ATTRIBUTE_H
#define KW_IO_ATTRIBUTE_H

#include <hdf5.h>
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

/* Creates a contiguous dataset and leaves it open; rank up to 3. */
hid_t kw_make_dataset(hid_t at, const char *name, hid_t type, int rank, const int64_t *dim);

/* Writes rows first ... first+count-1 of the first dimension. */
herr_t kw_write_rows(hid_t dataset, hid_t type, int64_t first, int64_t count, const void *src);

#endif
