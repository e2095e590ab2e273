#include "kwsim/dataset.h"

#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* HDF5 forgets a failure at the next call, closing calls included, so the reason is kept when it happens: the
 * first one, until it is asked for. */
static _Thread_local char reason[256];

static herr_t deepest(unsigned n, const H5E_error2_t *error, void *text)
{
    if (n == 0) snprintf(text, sizeof reason, "%s", error->desc);
    return 0;
}

static herr_t keep_reason(hid_t stack, void *unused)
{
    (void)unused;
    if (reason[0] != '\0') return 0;
    H5Ewalk2(stack, H5E_WALK_UPWARD, deepest, reason);
    const char *cause = strstr(reason, "error message = '");
    if (cause != NULL) { /* HDF5's own text: "... errno = 28, error message = 'No space left on device', ..." */
        memmove(reason, cause + 17, strlen(cause + 17) + 1);
        reason[strcspn(reason, "'")] = '\0';
    }
    return 0;
}

void kw_hdf5_watch(void)
{
    H5dont_atexit(); /* after a failure HDF5's own end would report and retry; we close everything ourselves */
    H5Eset_auto2(H5E_DEFAULT, keep_reason, NULL);
    reason[0] = '\0';
}

const char *kw_hdf5_reason(void)
{
    static _Thread_local char text[sizeof reason];
    snprintf(text, sizeof text, "%s", reason[0] != '\0' ? reason : "unknown reason");
    reason[0] = '\0';
    return text;
}

static kw_status check_file(const char *file)
{
    struct stat st;
    if (stat(file, &st) != 0) return kw_fail(KW_ERR_SCENE, "cannot open \"%s\": %s", file, strerror(errno));
    if (!S_ISREG(st.st_mode)) return kw_fail(KW_ERR_SCENE, "\"%s\" is not a regular file", file);
    if (access(file, R_OK) != 0) return kw_fail(KW_ERR_SCENE, "cannot read \"%s\": %s", file, strerror(errno));
    htri_t hdf5 = H5Fis_hdf5(file);
    if (hdf5 <= 0) return kw_fail(KW_ERR_SCENE, "\"%s\" is not an HDF5 file, or is truncated", file);
    return KW_OK;
}

static kw_status read_shape(kw_dataset *dataset)
{
    hid_t space = H5Dget_space(dataset->handle[1]);
    hsize_t dim[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank >= 0 && rank <= KW_DATASET_RANK) H5Sget_simple_extent_dims(space, dim, NULL);
    H5Sclose(space);
    if (rank < 0 || rank > KW_DATASET_RANK)
        return kw_fail(KW_ERR_SCENE, "\"%s\" in \"%s\" has %d dimensions; allowed: up to %d", dataset->name,
                       dataset->file, rank, KW_DATASET_RANK);
    dataset->rank = rank;
    for (int i = 0; i < rank; i++) dataset->dim[i] = (int64_t)dim[i];
    return KW_OK;
}

static kw_status read_type(kw_dataset *dataset)
{
    hid_t type = H5Dget_type(dataset->handle[1]);
    H5T_class_t class = H5Tget_class(type);
    H5Tclose(type);
    dataset->integer = class == H5T_INTEGER;
    if (class != H5T_INTEGER && class != H5T_FLOAT)
        return kw_fail(KW_ERR_SCENE, "\"%s\" in \"%s\" does not hold numbers", dataset->name, dataset->file);
    return KW_OK;
}

static kw_status open_handles(kw_dataset *dataset)
{
    dataset->handle[0] = H5Fopen(dataset->file, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (dataset->handle[0] < 0)
        return kw_fail(KW_ERR_SCENE, "cannot open \"%s\" as HDF5: %s", dataset->file, kw_hdf5_reason());
    dataset->handle[1] = H5Dopen2(dataset->handle[0], dataset->name, H5P_DEFAULT);
    if (dataset->handle[1] < 0) {
        return kw_fail(KW_ERR_SCENE, "there is no dataset \"%s\" in \"%s\"", dataset->name, dataset->file);
    }
    KW_TRY(read_shape(dataset));
    return read_type(dataset);
}

kw_status kw_dataset_open(const char *file, const char *name, kw_dataset *dataset)
{
    *dataset = (kw_dataset){.file = file, .name = name};
    kw_hdf5_watch();
    KW_TRY(check_file(file));
    kw_status status = open_handles(dataset);
    if (status != KW_OK) kw_dataset_close(dataset);
    return status;
}

void kw_dataset_close(kw_dataset *dataset)
{
    if (dataset->handle[1] > 0) H5Dclose(dataset->handle[1]);
    if (dataset->handle[0] > 0) H5Fclose(dataset->handle[0]);
    dataset->handle[0] = dataset->handle[1] = 0;
}

kw_status kw_dataset_read(const kw_dataset *dataset, int64_t first, int64_t count, double *dst)
{
    hsize_t start[KW_DATASET_RANK] = {(hsize_t)first}, size[KW_DATASET_RANK] = {(hsize_t)count};
    for (int i = 1; i < dataset->rank; i++) size[i] = (hsize_t)dataset->dim[i];
    hid_t file_space = H5Dget_space(dataset->handle[1]);
    hid_t memory = dataset->rank > 0 ? H5Screate_simple(dataset->rank, size, NULL) : H5Screate(H5S_SCALAR);
    herr_t failed = 0;
    if (dataset->rank > 0) failed = H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, size, NULL);
    if (failed >= 0) failed = H5Dread(dataset->handle[1], H5T_NATIVE_DOUBLE, memory, file_space, H5P_DEFAULT, dst);
    H5Sclose(memory);
    H5Sclose(file_space);
    if (failed < 0)
        return kw_fail(KW_ERR_SCENE, "cannot read \"%s\" of \"%s\" (damaged or truncated?): %s", dataset->name,
                       dataset->file, kw_hdf5_reason());
    return KW_OK;
}

void kw_dataset_shape(const kw_dataset *dataset, char *text, int size)
{
    int used = snprintf(text, (size_t)size, dataset->rank == 0 ? "a single number" : "");
    for (int i = 0; i < dataset->rank && used < size; i++)
        used += snprintf(text + used, (size_t)(size - used), "%s%lld", i ? " x " : "", (long long)dataset->dim[i]);
}
