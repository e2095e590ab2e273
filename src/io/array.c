/* Arrays that are written as a whole after the last step, slab by slab. */
#include <stdlib.h>

#include "parts.h"

static herr_t put_array_attributes(hid_t dataset, const kw_array *array)
{
    KW_PUT(kw_put_text(dataset, "units", array->units));
    KW_PUT(kw_put_texts(dataset, "axes", array->axes, array->rank));
    const kw_recording *recording = array->recording;
    if (recording == NULL) return 0;
    KW_PUT(kw_put_integer(dataset, "first_step", recording->from));
    KW_PUT(kw_put_integer(dataset, "every", recording->every));
    KW_PUT(kw_put_integer(dataset, "samples", array->samples));
    if (recording->fourier == 0) return 0;
    return kw_put_reals(dataset, "frequencies", recording->frequency, recording->frequencies);
}

/* Slabs of dimension 1 within each index of dimension 0 for rank 4, else slabs of dimension 0. */
static herr_t write_slabs(kw_recorder *recorder, hid_t dataset, const kw_array *array, kw_recorder_read read,
                          void *self, kw_status *status)
{
    int cut = array->rank == 4 ? 1 : 0;
    int64_t row = (int64_t)kw_real_size(recorder->precision), first[4] = {0}, count[4];
    for (int i = 0; i < array->rank; i++) {
        count[i] = i < cut ? 1 : array->dim[i];
        if (i > cut) row *= array->dim[i];
    }
    int64_t rows = KW_BLOCK_BYTES / row;
    rows = rows < 1 ? 1 : rows > array->dim[cut] ? array->dim[cut] : rows;
    void *slab = malloc((size_t)(rows * row) + 1);
    *status = slab != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory to write %s", array->name);
    herr_t result = 0;
    for (first[0] = 0; cut == 1 ? first[0] < array->dim[0] : first[0] == 0; first[0] += 1) {
        for (int64_t at = 0; at < array->dim[cut] && *status == KW_OK && result >= 0; at += rows) {
            int64_t place[4] = {first[0], 0, 0, 0};
            place[cut] = at;
            count[cut] = array->dim[cut] - at < rows ? array->dim[cut] - at : rows;
            *status = read(self, first[0], at, count[cut], slab);
            if (*status == KW_OK) result = kw_write_block(dataset, kw_real_type(recorder), place, count, slab);
        }
    }
    free(slab);
    return result;
}

kw_status kw_put_array(kw_recorder *recorder, const kw_array *array, kw_recorder_read read, void *self)
{
    kw_layout_of layout = {.rank = array->rank, .compression = recorder->problem->compression};
    for (int i = 0; i < array->rank; i++) {
        layout.dim[i] = array->dim[i];
        layout.chunk[i] = array->rank >= 3 && i < array->rank - 2 ? 1 : array->dim[i];
        if (array->rank < 3 && layout.chunk[i] > 65536) layout.chunk[i] = 65536;
    }
    if (array->rank >= 3) { /* planes in chunks of a megabyte or more */
        int64_t *x = &layout.chunk[array->rank - 3], plane = layout.dim[array->rank - 2] * layout.dim[array->rank - 1];
        *x = (INT64_C(1) << 18) / plane;
        *x = *x < 1 ? 1 : *x > layout.dim[array->rank - 3] ? layout.dim[array->rank - 3] : *x;
    }
    kw_status status = KW_OK;
    hid_t group = kw_open_group(recorder->file, array->group);
    hid_t dataset = group < 0 ? -1 : kw_make_dataset(group, array->name, kw_real_type(recorder), &layout);
    herr_t result = dataset < 0 ? -1 : put_array_attributes(dataset, array);
    if (result >= 0) result = write_slabs(recorder, dataset, array, read, self, &status);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    if (group >= 0) H5Gclose(group);
    if (result >= 0 && array->box != NULL)
        result = kw_xdmf_add(recorder, array->group, array->name, NULL, array->rank, array->dim, array->box);
    if (status != KW_OK) return status;
    return result < 0 ? kw_cannot_write(recorder) : KW_OK;
}
