#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kwsim/dataset.h"
#include "kwsim/log.h"
#include "parts.h"

hid_t kw_real_type(const kw_recorder *recorder)
{
    return recorder->precision == KW_DOUBLE ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
}

kw_status kw_cannot_write(const kw_recorder *recorder)
{
    const char *reason = kw_hdf5_reason();
    bool locked = strstr(reason, "temporarily unavailable") != NULL;
    return kw_fail(KW_ERR_RUN, "cannot write \"%s\": %s%s", recorder->part, reason,
                   locked ? " (another run is writing it)" : "");
}

/* ---- files ---- */

kw_status kw_refuse_existing(const char *path, bool force, const char *what)
{
    struct stat st;
    if (lstat(path, &st) != 0) return KW_OK;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return kw_fail(KW_ERR_RUN, "\"%s\" is not a regular file and is not replaced", path);
    if (force) return KW_OK;
    return kw_fail(KW_ERR_RUN, "\"%s\" exists%s; take another name with -o, or --force to replace it", path, what);
}

static char *part_name(const char *path)
{
    size_t size = strlen(path) + 6;
    char *part = malloc(size);
    if (part != NULL) snprintf(part, size, "%s.part", path);
    return part;
}

/* Before a long set-up: can the folder of NAME.part be written to? Frees `part` if not. */
static kw_status check_folder(char *part)
{
    char *slash = strrchr(part, '/');
    if (slash != NULL) *slash = '\0';
    int failed = access(slash == NULL ? "." : slash == part ? "/" : part, W_OK | X_OK) != 0 ? errno : 0;
    if (slash != NULL) *slash = '/';
    if (!failed) return KW_OK;
    kw_fail(KW_ERR_RUN, "cannot write \"%s\": %s", part, strerror(failed));
    free(part);
    return KW_ERR_RUN;
}

kw_status kw_recorder_check(const char *path, bool force)
{
    KW_TRY(kw_refuse_existing(path, force, ""));
    char *part = part_name(path);
    if (part == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    KW_TRY(check_folder(part));
    kw_status status = kw_refuse_existing(part, force, " from a run that did not finish, or that is running now");
    free(part);
    return status;
}

/* Gives the file its name; without `force` it never replaces one that appeared meanwhile. */
static kw_status rename_part(const kw_recorder *recorder)
{
    unsigned flags = recorder->force ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(AT_FDCWD, recorder->part, AT_FDCWD, recorder->path, flags);
    if (failed && (errno == EINVAL || errno == ENOSYS) && access(recorder->path, F_OK) != 0)
        failed = rename(recorder->part, recorder->path); /* file systems without RENAME_NOREPLACE */
    if (!failed) return KW_OK;
    if (access(recorder->part, F_OK) != 0)
        return kw_fail(KW_ERR_RUN, "the results are lost: \"%s\" was removed while the run went on", recorder->part);
    return kw_fail(KW_ERR_RUN, "the results are in \"%s\", which cannot be renamed to \"%s\": %s", recorder->part,
                   recorder->path, strerror(errno));
}

static kw_status create_file(kw_recorder *recorder)
{
    kw_hdf5_watch();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18); /* readable by HDF5 1.8 and later */
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    recorder->file = H5Fcreate(recorder->part, recorder->force ? H5F_ACC_TRUNC : H5F_ACC_EXCL, H5P_DEFAULT, access);
    H5Pclose(access);
    return recorder->file < 0 ? kw_cannot_write(recorder) : KW_OK;
}

static void close_file(kw_recorder *recorder, herr_t *result)
{
    for (int r = 0; r < recorder->problem->recording_count && recorder->series != NULL; r++) {
        kw_series *series = &recorder->series[r];
        for (int i = 0; i < KW_RECORDED; i++)
            if (series->dataset[i] > 0 && H5Dclose(series->dataset[i]) < 0) *result = -1;
        if (series->time > 0 && H5Dclose(series->time) < 0) *result = -1;
        memset(series->dataset, 0, sizeof series->dataset);
        series->time = 0;
    }
    for (int64_t i = 0; i < recorder->cuboids; i++)
        if (H5Dclose(recorder->cuboid[i]) < 0) *result = -1;
    recorder->cuboids = 0;
    if (recorder->file > 0 && H5Fclose(recorder->file) < 0) *result = -1;
    recorder->file = 0;
}

static void free_recorder(kw_recorder *recorder)
{
    for (int r = 0; r < recorder->problem->recording_count && recorder->series != NULL; r++)
        free(recorder->series[r].block);
    kw_xdmf_free(&recorder->xdmf);
    free(recorder->cuboid);
    free(recorder->series);
    free(recorder->path);
    free(recorder->part);
    free(recorder);
}

void kw_recorder_discard(kw_recorder *recorder)
{
    if (recorder == NULL) return;
    bool made = recorder->file > 0;
    herr_t ignored;
    close_file(recorder, &ignored);
    if (made) unlink(recorder->part);
    free_recorder(recorder);
}

const char *kw_recorder_part(const kw_recorder *recorder) { return recorder->part; }

/* ---- what is known before the run ---- */

static herr_t begin(kw_recorder *recorder, const kw_recorder_info *info)
{
    KW_PUT(kw_put_description(recorder, info));
    return kw_put_all_series(recorder);
}

static herr_t end(kw_recorder *recorder, const kw_recorder_result *result);

const kw_format kw_native_format = {begin, kw_put_samples, kw_put_array, end};

static kw_status prepare(kw_recorder *recorder, const char *path, const kw_recorder_info *info)
{
    recorder->path = strdup(path);
    recorder->part = part_name(path);
    if (recorder->path == NULL || recorder->part == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    KW_TRY(kw_prepare_series(recorder));
    KW_TRY(kw_recorder_check(path, recorder->force));
    KW_TRY(kw_xdmf_open(recorder));
    KW_TRY(create_file(recorder));
    herr_t written = recorder->format->begin(recorder, info);
    if (written >= 0) written = H5Fflush(recorder->file, H5F_SCOPE_LOCAL);
    return written < 0 ? kw_cannot_write(recorder) : KW_OK;
}

kw_status kw_recorder_create(const char *path, bool force, const kw_problem *problem, const kw_recorder_info *info,
                             kw_recorder **out)
{
    kw_recorder *recorder = calloc(1, sizeof *recorder);
    *out = NULL;
    if (recorder == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    recorder->force = force;
    recorder->problem = problem;
    recorder->format = problem->kwave.on ? &kw_kwave_format : &kw_native_format;
    recorder->precision = info->precision;
    kw_status status = prepare(recorder, path, info);
    if (status != KW_OK)
        kw_recorder_discard(recorder);
    else
        *out = recorder;
    return status;
}

/* ---- the end ---- */

kw_status kw_recorder_samples(kw_recorder *recorder, int recording, const void *samples, int64_t count)
{
    return recorder->format->samples(recorder, recording, samples, count);
}

kw_status kw_recorder_array(kw_recorder *recorder, const kw_array *array, kw_recorder_read read, void *self)
{
    return recorder->format->array(recorder, array, read, self);
}

static herr_t end(kw_recorder *recorder, const kw_recorder_result *result)
{
    hid_t file = recorder->file;
    KW_PUT(kw_put_text(file, "status", result->status));
    KW_PUT(kw_put_integer(file, "steps_done", result->stats.steps));
    KW_PUT(kw_put_text(file, "stepper", result->stats.stepper));
    KW_PUT(kw_put_text(file, "plan", result->stats.plan_id));
    KW_PUT(kw_put_real(file, "seconds_setup", result->stats.create_seconds));
    KW_PUT(kw_put_real(file, "seconds_planning", result->stats.plan_seconds));
    KW_PUT(kw_put_real(file, "seconds_stepping", result->stats.step_seconds));
    KW_PUT(kw_put_real(file, "seconds_total", result->total_seconds));
    KW_PUT(kw_put_real(file, "memory_bytes", result->stats.bytes));
    return strcmp(result->status, "complete") == 0 ? kw_xdmf_add_snapshots(recorder) : 0;
}

kw_status kw_recorder_finish(kw_recorder *recorder, const kw_recorder_result *result)
{
    kw_status status = kw_finish_series(recorder);
    herr_t written = status != KW_OK ? -1 : recorder->format->end(recorder, result);
    bool complete = strcmp(result->status, "complete") == 0;
    if (written < 0 && status == KW_OK) status = kw_cannot_write(recorder);
    close_file(recorder, &written);
    if (written < 0 && status == KW_OK) status = kw_cannot_write(recorder);
    if (status != KW_OK)
        unlink(recorder->part);
    else if (complete)
        status = rename_part(recorder);
    if (status == KW_OK && complete) status = kw_xdmf_write(recorder);
    free_recorder(recorder);
    return status;
}
