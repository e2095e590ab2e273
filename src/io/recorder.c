#include "kwsim/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attribute.h"
#include "kwsim/clock.h"
#include "kwsim/dataset.h"
#include "kwsim/log.h"

static const int64_t BLOCK_BYTES = INT64_C(16) << 20, CHUNK_BYTES = INT64_C(1) << 20, MOST_BLOCK_SAMPLES = 256;
static const double FLUSH_SECONDS = 30.0;

struct kw_recorder {
    char *path, *part;
    bool force;
    const kw_problem *problem;
    kw_precision precision;
    hid_t file, p, time;
    int64_t sensors, samples; /* of a whole run */
    int64_t block_samples;    /* samples that are written together */
    char *block;              /* [sensors][block_samples] */
    int64_t in_block, written;
    double last_flush;
};

static hid_t real_type(const kw_recorder *recorder)
{
    return recorder->precision == KW_DOUBLE ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
}

static kw_status cannot_write(const kw_recorder *recorder)
{
    const char *reason = kw_hdf5_reason();
    bool locked = strstr(reason, "temporarily unavailable") != NULL;
    return kw_fail(KW_ERR_RUN, "cannot write \"%s\": %s%s", recorder->part, reason,
                   locked ? " (another run is writing it)" : "");
}

/* ---- files ---- */

static kw_status refuse_existing(const char *path, bool force, const char *what)
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

double kw_recorder_bytes(const kw_problem *problem, kw_precision precision)
{
    double sensors = problem->record.p ? (double)kw_sensor_count(problem) : 0.0, real = (double)kw_real_size(precision);
    double plane = (double)problem->grid.n[1] * (double)problem->grid.n[2] * real;
    double block = fmin(fmax((double)BLOCK_BYTES, sensors * real), sensors * real * (double)MOST_BLOCK_SAMPLES);
    double slab =
        problem->record.p_final ? fmin(fmax((double)BLOCK_BYTES, plane), plane * (double)problem->grid.n[0]) : 0;
    return block + slab;
}

kw_status kw_recorder_check(const char *path, bool force)
{
    KW_TRY(refuse_existing(path, force, ""));
    char *part = part_name(path);
    if (part == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    KW_TRY(check_folder(part));
    kw_status status = refuse_existing(part, force, " from a run that did not finish, or that is running now");
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
    H5dont_atexit(); /* after a failed write HDF5's own end would report and retry; we close everything ourselves */
    kw_hdf5_watch();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18); /* readable by HDF5 1.8 and later */
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    recorder->file = H5Fcreate(recorder->part, recorder->force ? H5F_ACC_TRUNC : H5F_ACC_EXCL, H5P_DEFAULT, access);
    H5Pclose(access);
    return recorder->file < 0 ? cannot_write(recorder) : KW_OK;
}

static void close_file(kw_recorder *recorder, herr_t *result)
{
    if (recorder->p > 0 && H5Dclose(recorder->p) < 0) *result = -1;
    if (recorder->time > 0 && H5Dclose(recorder->time) < 0) *result = -1;
    if (recorder->file > 0 && H5Fclose(recorder->file) < 0) *result = -1;
    recorder->p = recorder->time = recorder->file = 0;
}

static void free_recorder(kw_recorder *recorder)
{
    free(recorder->path);
    free(recorder->part);
    free(recorder->block);
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

#define KW_PUT(call)                                                                                                   \
    do {                                                                                                               \
        if ((call) < 0) return -1;                                                                                     \
    } while (0)

static herr_t put_root(const kw_recorder *recorder, const kw_recorder_info *info)
{
    char now[40];
    time_t seconds = time(NULL);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    hid_t file = recorder->file;
    KW_PUT(kw_put_text(file, "format", "kwsim"));
    KW_PUT(kw_put_integer(file, "format_version", 1));
    KW_PUT(kw_put_text(file, "version", info->version));
    KW_PUT(kw_put_text(file, "created", now));
    KW_PUT(kw_put_text(file, "backend", info->backend));
    KW_PUT(kw_put_text(file, "device", info->device));
    KW_PUT(kw_put_text(file, "precision", info->precision == KW_DOUBLE ? "double" : "single"));
    KW_PUT(kw_put_integer(file, "threads", info->threads));
    return kw_put_text_dataset(file, "scene", recorder->problem->scene_text);
}

static herr_t put_problem(const kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    const kw_map *map = problem->map;
    int64_t origin[3] = {problem->grid.n[0] / 2, problem->grid.n[1] / 2, problem->grid.n[2] / 2};
    hid_t grid = H5Gcreate2(recorder->file, "grid", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    KW_PUT(kw_put_integers(grid, "size", problem->grid.n, 3));
    KW_PUT(kw_put_reals(grid, "spacing", problem->grid.h, 3));
    KW_PUT(kw_put_text(grid, "spacing_units", "m"));
    KW_PUT(kw_put_integers(grid, "origin_index", origin, 3));
    KW_PUT(kw_put_integers(grid, "pml_size", problem->pml.size, 3));
    KW_PUT(kw_put_reals(grid, "pml_alpha", problem->pml.alpha, 3));
    KW_PUT(H5Gclose(grid));
    hid_t medium = H5Gcreate2(recorder->file, "medium", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    double speed[2] = {map[KW_QUANTITY_C0].min, map[KW_QUANTITY_C0].max};
    double density[2] = {map[KW_QUANTITY_RHO0].min, map[KW_QUANTITY_RHO0].max};
    KW_PUT(kw_put_reals(medium, "sound_speed_range", speed, 2));
    KW_PUT(kw_put_text(medium, "sound_speed_units", "m/s"));
    KW_PUT(kw_put_reals(medium, "density_range", density, 2));
    KW_PUT(kw_put_text(medium, "density_units", "kg/m^3"));
    if (problem->absorption.on) {
        double alpha[2] = {map[KW_QUANTITY_ALPHA].min, map[KW_QUANTITY_ALPHA].max};
        KW_PUT(kw_put_reals(medium, "absorption_range", alpha, 2));
        KW_PUT(kw_put_text(medium, "absorption_units", "dB/(MHz^y cm)"));
        KW_PUT(kw_put_real(medium, "absorption_power", problem->absorption.power));
        KW_PUT(kw_put_integer(medium, "attenuation", problem->absorption.attenuation));
        KW_PUT(kw_put_integer(medium, "dispersion", problem->absorption.dispersion));
    }
    if (problem->nonlinear) {
        double bona[2] = {map[KW_QUANTITY_BONA].min, map[KW_QUANTITY_BONA].max};
        KW_PUT(kw_put_reals(medium, "nonlinearity_range", bona, 2));
    }
    KW_PUT(kw_put_real(medium, "reference_speed", problem->c_ref));
    KW_PUT(kw_put_real(medium, "max_frequency", kw_max_frequency(problem)));
    return H5Gclose(medium);
}

/* /time: the time of each sample; like /p it grows as they are written. */
static herr_t put_time(kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    double dt = problem->time.dt;
    int64_t from = problem->record.from_step;
    hsize_t none = 0, most = H5S_UNLIMITED, chunk = 4096;
    hid_t space = H5Screate_simple(1, &none, &most), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 1, &chunk);
    hid_t time = recorder->time =
        H5Dcreate2(recorder->file, "time", H5T_IEEE_F64LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    H5Pclose(how);
    H5Sclose(space);
    KW_PUT(time < 0 ? -1 : 0);
    KW_PUT(kw_put_text(time, "units", "s"));
    KW_PUT(kw_put_real(time, "dt", dt));
    KW_PUT(kw_put_real(time, "t0", (double)from * dt));
    KW_PUT(kw_put_real(time, "cfl", problem->time.cfl));
    KW_PUT(kw_put_integer(time, "first_step", from));
    return kw_put_integer(time, "steps", problem->time.steps);
}

/* Times of samples first ... first+count-1. */
static herr_t write_times(const kw_recorder *recorder, int64_t first, int64_t count)
{
    double row[256]; /* MOST_BLOCK_SAMPLES */
    hsize_t size = (hsize_t)(first + count);
    for (int64_t i = 0; i < count; i++)
        row[i] = (double)(recorder->problem->record.from_step + first + i) * recorder->problem->time.dt;
    KW_PUT(H5Dset_extent(recorder->time, &size));
    return kw_write_rows(recorder->time, H5T_NATIVE_DOUBLE, first, count, row);
}

static herr_t put_sensor_rows(const kw_recorder *recorder, const hid_t dataset[4])
{
    enum { ROWS = 4096 };
    static _Thread_local struct {
        int64_t set[ROWS], index[ROWS][3];
        double asked[ROWS][3], used[ROWS][3];
    } row;
    for (int64_t first = 0; first < recorder->sensors; first += ROWS) {
        int64_t count = recorder->sensors - first < ROWS ? recorder->sensors - first : ROWS;
        for (int64_t i = 0; i < count; i++) {
            kw_sensor_place place = kw_sensor_locate(recorder->problem, first + i);
            row.set[i] = place.set;
            memcpy(row.index[i], place.index, sizeof place.index);
            memcpy(row.asked[i], place.asked, sizeof place.asked);
            memcpy(row.used[i], place.used, sizeof place.used);
        }
        KW_PUT(kw_write_rows(dataset[0], H5T_NATIVE_INT64, first, count, row.set));
        KW_PUT(kw_write_rows(dataset[1], H5T_NATIVE_INT64, first, count, row.index));
        KW_PUT(kw_write_rows(dataset[2], H5T_NATIVE_DOUBLE, first, count, row.asked));
        KW_PUT(kw_write_rows(dataset[3], H5T_NATIVE_DOUBLE, first, count, row.used));
    }
    return 0;
}

/* /sensors/{names, set, index, position, position_used}: a row for each row of /p. */
static herr_t put_sensors(const kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    int64_t dim[2] = {recorder->sensors, 3};
    const char *names[1 + 64], **all = names;
    if (recorder->sensors == 0) return 0;
    if (problem->set_count > 64) all = malloc((size_t)problem->set_count * sizeof *all);
    if (all == NULL) return -1;
    for (int64_t i = 0; i < problem->set_count; i++) all[i] = problem->sets[i].name;
    hid_t group = H5Gcreate2(recorder->file, "sensors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t named = kw_put_texts_dataset(group, "names", all, problem->set_count);
    if (all != names) free(all);
    KW_PUT(named);
    hid_t dataset[4] = {kw_make_dataset(group, "set", H5T_STD_I64LE, 1, dim),
                        kw_make_dataset(group, "index", H5T_STD_I64LE, 2, dim),
                        kw_make_dataset(group, "position", H5T_IEEE_F64LE, 2, dim),
                        kw_make_dataset(group, "position_used", H5T_IEEE_F64LE, 2, dim)};
    KW_PUT(put_sensor_rows(recorder, dataset));
    KW_PUT(kw_put_text(dataset[2], "units", "m"));
    KW_PUT(kw_put_text(dataset[3], "units", "m"));
    for (int i = 0; i < 4; i++) KW_PUT(H5Dclose(dataset[i]));
    return H5Gclose(group);
}

/* /p [sensor][time], in chunks that a block covers whole; time grows as samples are written. */
static herr_t put_p(kw_recorder *recorder)
{
    static const char *const axes[2] = {"sensor", "time"};
    if (recorder->sensors == 0) return 0;
    int64_t bytes = (int64_t)kw_real_size(recorder->precision) * recorder->block_samples;
    int64_t rows = CHUNK_BYTES / bytes;
    rows = rows < 1 ? 1 : rows > recorder->sensors ? recorder->sensors : rows;
    hsize_t size[2] = {(hsize_t)recorder->sensors, 0}, most[2] = {size[0], H5S_UNLIMITED};
    hsize_t chunk[2] = {(hsize_t)rows, (hsize_t)recorder->block_samples};
    hid_t space = H5Screate_simple(2, size, most), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 2, chunk);
    recorder->p = H5Dcreate2(recorder->file, "p", real_type(recorder), space, H5P_DEFAULT, how, H5P_DEFAULT);
    H5Pclose(how);
    H5Sclose(space);
    KW_PUT(recorder->p < 0 ? -1 : 0);
    KW_PUT(kw_put_text(recorder->p, "units", "Pa"));
    return kw_put_texts(recorder->p, "axes", axes, 2);
}

static herr_t put_all(kw_recorder *recorder, const kw_recorder_info *info)
{
    KW_PUT(put_root(recorder, info));
    KW_PUT(put_problem(recorder));
    KW_PUT(put_time(recorder));
    KW_PUT(put_sensors(recorder));
    KW_PUT(put_p(recorder));
    return H5Fflush(recorder->file, H5F_SCOPE_LOCAL);
}

static kw_status prepare(kw_recorder *recorder, const char *path, const kw_recorder_info *info)
{
    const kw_problem *problem = recorder->problem;
    recorder->path = strdup(path);
    recorder->part = part_name(path);
    if (recorder->path == NULL || recorder->part == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    recorder->sensors = problem->record.p ? kw_sensor_count(problem) : 0;
    recorder->samples = kw_sample_count(problem);
    int64_t real = (int64_t)kw_real_size(recorder->precision);
    int64_t block = recorder->sensors > 0 ? BLOCK_BYTES / (recorder->sensors * real) : MOST_BLOCK_SAMPLES;
    block = block < 1 ? 1 : block > MOST_BLOCK_SAMPLES ? MOST_BLOCK_SAMPLES : block;
    recorder->block_samples = block < recorder->samples ? block : recorder->samples;
    recorder->block = malloc((size_t)(recorder->sensors * recorder->block_samples * real) + 1);
    if (recorder->block == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for a block of traces");
    KW_TRY(kw_recorder_check(path, recorder->force));
    KW_TRY(create_file(recorder));
    return put_all(recorder, info) < 0 ? cannot_write(recorder) : KW_OK;
}

kw_status kw_recorder_create(const char *path, bool force, const kw_problem *problem, const kw_recorder_info *info,
                             kw_recorder **out)
{
    kw_recorder *recorder = calloc(1, sizeof *recorder);
    *out = NULL;
    if (recorder == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    recorder->force = force;
    recorder->problem = problem;
    recorder->precision = info->precision;
    recorder->last_flush = kw_clock_seconds();
    kw_status status = prepare(recorder, path, info);
    if (status != KW_OK)
        kw_recorder_discard(recorder);
    else
        *out = recorder;
    return status;
}

/* ---- during the run ---- */

static kw_status write_block(kw_recorder *recorder)
{
    if (recorder->in_block == 0) return KW_OK;
    hsize_t start[2] = {0, (hsize_t)recorder->written};
    hsize_t size[2] = {(hsize_t)recorder->sensors, (hsize_t)recorder->in_block};
    hsize_t held[2] = {(hsize_t)recorder->sensors, (hsize_t)recorder->block_samples}, zero[2] = {0, 0};
    hsize_t grown[2] = {(hsize_t)recorder->sensors, (hsize_t)(recorder->written + recorder->in_block)};
    if (H5Dset_extent(recorder->p, grown) < 0) return cannot_write(recorder);
    hid_t space = H5Dget_space(recorder->p), memory = H5Screate_simple(2, held, NULL);
    herr_t result = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL);
    if (result >= 0) result = H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, size, NULL);
    if (result >= 0) result = H5Dwrite(recorder->p, real_type(recorder), memory, space, H5P_DEFAULT, recorder->block);
    H5Sclose(memory);
    H5Sclose(space);
    if (result >= 0) result = write_times(recorder, recorder->written, recorder->in_block);
    if (result < 0) return cannot_write(recorder);
    recorder->written += recorder->in_block;
    recorder->in_block = 0;
    return KW_OK;
}

/* Every now and then what is written reaches the disk, so that a killed run leaves a readable file. */
static kw_status flush(kw_recorder *recorder)
{
    if (kw_clock_seconds() - recorder->last_flush < FLUSH_SECONDS) return KW_OK;
    recorder->last_flush = kw_clock_seconds();
    return H5Fflush(recorder->file, H5F_SCOPE_LOCAL) < 0 ? cannot_write(recorder) : KW_OK;
}

/* Puts one sample, [sensors], into column `column` of the block. */
static void put_sample(kw_recorder *recorder, const char *sample, int64_t column)
{
    int64_t pitch = recorder->block_samples;
    if (recorder->precision == KW_DOUBLE)
        for (int64_t i = 0; i < recorder->sensors; i++)
            ((double *)(void *)recorder->block)[i * pitch + column] = ((const double *)(const void *)sample)[i];
    else
        for (int64_t i = 0; i < recorder->sensors; i++)
            ((float *)(void *)recorder->block)[i * pitch + column] = ((const float *)(const void *)sample)[i];
}

kw_status kw_recorder_samples(kw_recorder *recorder, const void *samples, int64_t count)
{
    int64_t bytes = recorder->sensors * (int64_t)kw_real_size(recorder->precision);
    for (int64_t i = 0; i < count; i++) {
        put_sample(recorder, (const char *)samples + i * bytes, recorder->in_block);
        if (++recorder->in_block == recorder->block_samples) KW_TRY(write_block(recorder));
    }
    return flush(recorder);
}

static herr_t write_field(kw_recorder *recorder, hid_t dataset, kw_recorder_read read, void *self, void *slab,
                          int64_t planes, kw_status *status)
{
    int64_t nx = recorder->problem->grid.n[0];
    for (int64_t x0 = 0; x0 < nx; x0 += planes) {
        int64_t count = nx - x0 < planes ? nx - x0 : planes;
        *status = read(self, x0, count, slab);
        if (*status != KW_OK) return -1;
        KW_PUT(kw_write_rows(dataset, real_type(recorder), x0, count, slab));
    }
    return 0;
}

kw_status kw_recorder_field(kw_recorder *recorder, const char *name, const char *units, kw_recorder_read read,
                            void *self)
{
    static const char *const axes[3] = {"x", "y", "z"};
    const kw_grid *grid = &recorder->problem->grid;
    int64_t bytes = grid->n[1] * grid->n[2] * (int64_t)kw_real_size(recorder->precision);
    int64_t planes = BLOCK_BYTES / bytes;
    planes = planes < 1 ? 1 : planes > grid->n[0] ? grid->n[0] : planes;
    void *slab = malloc((size_t)(planes * bytes));
    if (slab == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory to write %s", name);
    kw_status status = KW_OK;
    hid_t dataset = kw_make_dataset(recorder->file, name, real_type(recorder), 3, grid->n);
    herr_t result = dataset < 0 ? -1 : kw_put_text(dataset, "units", units);
    if (result >= 0) result = kw_put_texts(dataset, "axes", axes, 3);
    if (result >= 0) result = write_field(recorder, dataset, read, self, slab, planes, &status);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    free(slab);
    if (status != KW_OK) return status;
    return result < 0 ? cannot_write(recorder) : KW_OK;
}

/* ---- the end ---- */

static herr_t put_result(const kw_recorder *recorder, const kw_recorder_result *result)
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
    return kw_put_real(file, "memory_bytes", result->stats.bytes);
}

kw_status kw_recorder_finish(kw_recorder *recorder, const kw_recorder_result *result)
{
    kw_status status = write_block(recorder);
    herr_t written = status != KW_OK ? -1 : put_result(recorder, result);
    if (written < 0 && status == KW_OK) status = cannot_write(recorder);
    close_file(recorder, &written);
    if (written < 0 && status == KW_OK) status = cannot_write(recorder);
    if (status != KW_OK)
        unlink(recorder->part);
    else if (strcmp(result->status, "complete") == 0)
        status = rename_part(recorder);
    free_recorder(recorder);
    return status;
}
