/* Datasets as k-Wave's files have them: rank 3, float or long, with attributes of fixed length. */
#ifndef KW_IO_KWAVE_PARTS_H
#define KW_IO_KWAVE_PARTS_H

#include "attribute.h"

herr_t kw_kwave_put_text(hid_t at, const char *name, const char *value);

/* A dataset left open. */
hid_t kw_kwave_make(hid_t at, const char *name, bool integer, const kw_layout_of *layout);

/* (1, 1, 1) */
herr_t kw_kwave_put_number(hid_t at, const char *name, bool integer, double value);

#endif
