#include "attribute.h"

#include <stdbool.h>

static hid_t text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

/* A scalar if count is 0. */
static hid_t space_of(int64_t count)
{
    hsize_t size = (hsize_t)count;
    return count > 0 ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_SCALAR);
}

static herr_t put(hid_t at, const char *name, hid_t file_type, hid_t memory_type, int count, const void *value)
{
    hid_t space = space_of(count);
    hid_t attribute = H5Acreate2(at, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t result = attribute < 0 ? -1 : H5Awrite(attribute, memory_type, value);
    if (attribute >= 0 && H5Aclose(attribute) < 0) result = -1;
    H5Sclose(space);
    return result;
}

herr_t kw_put_text(hid_t at, const char *name, const char *value)
{
    hid_t type = text_type();
    herr_t result = put(at, name, type, type, 0, &value);
    H5Tclose(type);
    return result;
}

herr_t kw_put_texts(hid_t at, const char *name, const char *const *value, int count)
{
    hid_t type = text_type();
    herr_t result = put(at, name, type, type, count, value);
    H5Tclose(type);
    return result;
}

herr_t kw_put_reals(hid_t at, const char *name, const double *value, int count)
{
    return put(at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, count, value);
}

herr_t kw_put_real(hid_t at, const char *name, double value) { return kw_put_reals(at, name, &value, 0); }

herr_t kw_put_integers(hid_t at, const char *name, const int64_t *value, int count)
{
    return put(at, name, H5T_STD_I64LE, H5T_NATIVE_INT64, count, value);
}

herr_t kw_put_integer(hid_t at, const char *name, int64_t value) { return kw_put_integers(at, name, &value, 0); }

static herr_t put_dataset(hid_t at, const char *name, int64_t count, const char **value)
{
    hid_t type = text_type(), space = space_of(count);
    hid_t dataset = H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t result = dataset < 0 ? -1 : H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

herr_t kw_put_text_dataset(hid_t at, const char *name, const char *value) { return put_dataset(at, name, 0, &value); }

herr_t kw_put_texts_dataset(hid_t at, const char *name, const char **value, int64_t count)
{
    return put_dataset(at, name, count, value);
}

hid_t kw_open_group(hid_t file, const char *name)
{
    if (name[0] == '\0') return H5Gopen2(file, "/", H5P_DEFAULT);
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    htri_t there = H5Lexists(file, name, H5P_DEFAULT); /* an error while the folder above is not there: not there */
    hid_t group =
        there > 0 ? H5Gopen2(file, name, H5P_DEFAULT) : H5Gcreate2(file, name, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(links);
    return group;
}

hid_t kw_make_dataset(hid_t at, const char *name, hid_t type, const kw_layout_of *layout)
{
    hsize_t size[5] = {0}, most[5] = {0}, chunk[5] = {0};
    bool grows = false;
    for (int i = 0; i < layout->rank; i++) {
        size[i] = (hsize_t)layout->dim[i];
        most[i] = layout->grows == i + 1 ? H5S_UNLIMITED : size[i];
        chunk[i] = (hsize_t)layout->chunk[i];
        grows |= layout->grows == i + 1;
    }
    hid_t space = H5Screate_simple(layout->rank, size, most), how = H5Pcreate(H5P_DATASET_CREATE);
    if (grows || layout->chunked || layout->compression > 0) H5Pset_chunk(how, layout->rank, chunk);
    if (layout->compression > 0) {
        H5Pset_shuffle(how);
        H5Pset_deflate(how, (unsigned)layout->compression);
    }
    hid_t dataset = H5Dcreate2(at, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    H5Pclose(how);
    H5Sclose(space);
    return dataset;
}

herr_t kw_write_block(hid_t dataset, hid_t type, const int64_t *first, const int64_t *count, const void *src)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t start[5] = {0}, size[5] = {0};
    int rank = H5Sget_simple_extent_ndims(space);
    for (int i = 0; i < rank && i < 5; i++) {
        start[i] = (hsize_t)first[i];
        size[i] = (hsize_t)count[i];
    }
    hid_t memory = H5Screate_simple(rank, size, NULL);
    herr_t result = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL);
    if (result >= 0) result = H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, src);
    H5Sclose(memory);
    H5Sclose(space);
    return result;
}
