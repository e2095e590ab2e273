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
#include "kwsim/recording.h"

static const int64_t BLOCK_BYTES = INT64_C(16) << 20, CHUNK_BYTES = INT64_C(1) << 20, MOST_BLOCK_SAMPLES = 256;
static const double FLUSH_SECONDS = 30.0;

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

struct kw_recorder {
    char *path, *part;
    bool force;
    const kw_problem *problem;
    kw_precision precision;
    hid_t file;
    kw_series *series; /* [problem->recording_count] */
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

/* Samples of a recording that are written together. */
static int64_t block_samples(const kw_problem *problem, const kw_recording *recording, kw_precision precision)
{
    int64_t row = kw_bit_count(recording->series) * (int64_t)kw_real_size(precision);
    int64_t all = kw_recording_samples(recording, problem->time.steps), rows = kw_recording_rows(problem, recording);
    int64_t block = BLOCK_BYTES / (rows * row);
    block = block < 1 ? 1 : block > MOST_BLOCK_SAMPLES ? MOST_BLOCK_SAMPLES : block;
    return block < all ? block : all > 0 ? all : 1;
}

double kw_recorder_bytes(const kw_problem *problem, kw_precision precision)
{
    double real = (double)kw_real_size(precision), total = 0.0;
    bool fields = problem->final != 0;
    for (int r = 0; r < problem->recording_count; r++) {
        const kw_recording *recording = &problem->recordings[r];
        double sample = (double)kw_recording_rows(problem, recording) * kw_bit_count(recording->series) * real;
        double ring = (double)kw_recording_ring(problem, recording, precision) * sample; /* the caller's copy */
        bool blocks = recording->kind == KW_RECORD_SENSORS && recording->series != 0;
        total += ring + (blocks ? fmin(fmax((double)BLOCK_BYTES, sample), sample * (double)MOST_BLOCK_SAMPLES) : 0.0);
        fields |= recording->kind != KW_RECORD_SENSORS;
    }
    double plane = 8.0 * (double)problem->user.n[1] * (double)problem->user.n[2];
    double slab = fmin(fmax((double)BLOCK_BYTES, plane), plane * (double)problem->user.n[0]);
    return total + (fields ? 6.0 * slab : 0.0); /* a slab of a result, and its accumulators in double */
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
    for (int r = 0; r < recorder->problem->recording_count && recorder->series != NULL; r++) {
        kw_series *series = &recorder->series[r];
        for (int i = 0; i < KW_RECORDED; i++)
            if (series->dataset[i] > 0 && H5Dclose(series->dataset[i]) < 0) *result = -1;
        if (series->time > 0 && H5Dclose(series->time) < 0) *result = -1;
        memset(series->dataset, 0, sizeof series->dataset);
        series->time = 0;
    }
    if (recorder->file > 0 && H5Fclose(recorder->file) < 0) *result = -1;
    recorder->file = 0;
}

static void free_recorder(kw_recorder *recorder)
{
    for (int r = 0; r < recorder->problem->recording_count && recorder->series != NULL; r++)
        free(recorder->series[r].block);
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
    const kw_grid *user = &problem->user;
    int64_t origin[3] = {user->n[0] / 2, user->n[1] / 2, user->n[2] / 2};
    hid_t grid = H5Gcreate2(recorder->file, "grid", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    KW_PUT(kw_put_integers(grid, "size", user->n, 3));
    KW_PUT(kw_put_integers(grid, "total_size", problem->grid.n, 3));
    KW_PUT(kw_put_integer(grid, "pml_outside", problem->pml.outside));
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

/* `time`, the time of each sample; like the series it grows as they are written. */
static herr_t put_time(const kw_recorder *recorder, hid_t group, const kw_recording *recording, hid_t *made)
{
    const kw_problem *problem = recorder->problem;
    double dt = problem->time.dt;
    kw_layout_of layout = {.rank = 1, .chunk = {4096}, .grows = 1};
    hid_t time = *made = kw_make_dataset(group, "time", H5T_IEEE_F64LE, &layout);
    KW_PUT(time < 0 ? -1 : 0);
    KW_PUT(kw_put_text(time, "units", "s"));
    KW_PUT(kw_put_real(time, "dt", dt));
    KW_PUT(kw_put_real(time, "t0", (double)recording->from * dt));
    KW_PUT(kw_put_real(time, "cfl", problem->time.cfl));
    KW_PUT(kw_put_integer(time, "first_step", recording->from));
    KW_PUT(kw_put_integer(time, "last_step", recording->to));
    KW_PUT(kw_put_integer(time, "every", recording->every));
    return kw_put_integer(time, "steps", problem->time.steps);
}

/* Times of samples first ... first+count-1. */
static herr_t write_times(const kw_recorder *recorder, const kw_series *series, int64_t first, int64_t count)
{
    double row[256]; /* MOST_BLOCK_SAMPLES */
    hsize_t size = (hsize_t)(first + count);
    const kw_recording *recording = series->recording;
    for (int64_t i = 0; i < count; i++)
        row[i] = (double)(recording->from + (first + i) * recording->every) * recorder->problem->time.dt;
    KW_PUT(H5Dset_extent(series->time, &size));
    return kw_write_block(series->time, H5T_NATIVE_DOUBLE, &first, &count, row);
}

static herr_t put_sensor_rows(const kw_recorder *recorder, const hid_t dataset[4])
{
    const int64_t sensors = kw_sensor_count(recorder->problem), *inner = recorder->problem->inner.lo;
    enum { ROWS = 4096 };
    static _Thread_local struct {
        int64_t set[ROWS], index[ROWS][3];
        double asked[ROWS][3], used[ROWS][3];
    } row;
    for (int64_t first = 0; first < sensors; first += ROWS) {
        int64_t count = sensors - first < ROWS ? sensors - first : ROWS, at[2] = {first, 0}, block[2] = {count, 3};
        for (int64_t i = 0; i < count; i++) {
            kw_sensor_place place = kw_sensor_locate(recorder->problem, first + i);
            row.set[i] = place.set;
            for (int k = 0; k < 3; k++) row.index[i][k] = place.index[k] - inner[k];
            memcpy(row.asked[i], place.asked, sizeof place.asked);
            memcpy(row.used[i], place.used, sizeof place.used);
        }
        KW_PUT(kw_write_block(dataset[0], H5T_NATIVE_INT64, at, block, row.set));
        KW_PUT(kw_write_block(dataset[1], H5T_NATIVE_INT64, at, block, row.index));
        KW_PUT(kw_write_block(dataset[2], H5T_NATIVE_DOUBLE, at, block, row.asked));
        KW_PUT(kw_write_block(dataset[3], H5T_NATIVE_DOUBLE, at, block, row.used));
    }
    return 0;
}

/* /sensors/{names, set, index, position, position_used}: a row for each recorded row, the common sets' first. */
static herr_t put_sensors(const kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    kw_layout_of one = {.rank = 1, .dim = {kw_sensor_count(problem)}}, three = {.rank = 2, .dim = {one.dim[0], 3}};
    const char *names[1 + 64], **all = names;
    if (one.dim[0] == 0) return 0;
    if (problem->set_count > 64) all = malloc((size_t)problem->set_count * sizeof *all);
    if (all == NULL) return -1;
    for (int64_t i = 0; i < problem->set_count; i++) all[i] = problem->sets[i].name;
    hid_t group = H5Gcreate2(recorder->file, "sensors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t named = kw_put_texts_dataset(group, "names", all, problem->set_count);
    if (all != names) free(all);
    KW_PUT(named);
    hid_t dataset[4] = {kw_make_dataset(group, "set", H5T_STD_I64LE, &one),
                        kw_make_dataset(group, "index", H5T_STD_I64LE, &three),
                        kw_make_dataset(group, "position", H5T_IEEE_F64LE, &three),
                        kw_make_dataset(group, "position_used", H5T_IEEE_F64LE, &three)};
    KW_PUT(put_sensor_rows(recorder, dataset));
    KW_PUT(kw_put_text(dataset[2], "units", "m"));
    KW_PUT(kw_put_text(dataset[3], "units", "m"));
    for (int i = 0; i < 4; i++) KW_PUT(H5Dclose(dataset[i]));
    return H5Gclose(group);
}

/* Size of the reported box by axis. */
static void box_size(const kw_box *box, int64_t size[3])
{
    for (int i = 0; i < 3; i++) size[i] = box->hi[i] - box->lo[i];
}

/* [sensor][time] in chunks that a block covers whole, or [snapshot][x][y][z] in chunks of a plane. */
static kw_layout_of series_layout(const kw_recorder *recorder, const kw_series *series)
{
    int64_t bytes = (int64_t)kw_real_size(recorder->precision) * series->block_samples, size[3];
    int64_t rows = CHUNK_BYTES / bytes;
    kw_layout_of layout = {
        .rank = 2, .dim = {series->rows, 0}, .grows = 2, .compression = recorder->problem->compression};
    layout.chunk[0] = rows < 1 ? 1 : rows > series->rows ? series->rows : rows;
    layout.chunk[1] = series->block_samples;
    if (series->recording->kind == KW_RECORD_SENSORS) return layout;
    box_size(&series->recording->box, size);
    layout.rank = 4;
    layout.grows = 1;
    layout.dim[0] = 0;
    layout.chunk[0] = 1;
    for (int i = 0; i < 3; i++) {
        layout.dim[1 + i] = layout.chunk[1 + i] = size[i];
        if (i == 0 && size[1] * size[2] >= 4096) layout.chunk[1] = 1;
    }
    return layout;
}

/* Where the box lies in the user's grid. */
static herr_t put_box(const kw_recorder *recorder, hid_t at, const kw_box *box)
{
    int64_t lo[3], size[3];
    double corner[3];
    box_size(box, size);
    for (int i = 0; i < 3; i++) {
        lo[i] = box->lo[i] - recorder->problem->inner.lo[i];
        corner[i] = kw_grid_coordinate(&recorder->problem->grid, i, (double)box->lo[i]);
    }
    KW_PUT(kw_put_integers(at, "box_index", lo, 3));
    KW_PUT(kw_put_integers(at, "box_size", size, 3));
    return kw_put_reals(at, "box_corner", corner, 3);
}

static herr_t put_series(kw_recorder *recorder, kw_series *series)
{
    static const char *const traces[2] = {"sensor", "time"}, *const snapshots[4] = {"snapshot", "x", "y", "z"};
    const kw_recording *recording = series->recording;
    bool is_traces = recording->kind == KW_RECORD_SENSORS;
    kw_layout_of layout = series_layout(recorder, series);
    hid_t group = kw_open_group(recorder->file, recording->name);
    KW_PUT(group < 0 ? -1 : 0);
    KW_PUT(put_time(recorder, group, recording, &series->time));
    for (int q = 0; q < KW_RECORDED; q++) {
        if (!kw_bit(recording->series, q)) continue;
        hid_t made = kw_make_dataset(group, kw_recorded_name((kw_recorded)q), real_type(recorder), &layout);
        KW_PUT(made < 0 ? -1 : 0);
        series->dataset[series->count++] = made;
        KW_PUT(kw_put_text(made, "units", kw_recorded_units((kw_recorded)q)));
        KW_PUT(kw_put_texts(made, "axes", is_traces ? traces : snapshots, layout.rank));
    }
    if (!is_traces) KW_PUT(put_box(recorder, group, &recording->box));
    return H5Gclose(group);
}

/* A recording with a group of its own says which rows of /sensors are its rows. */
static herr_t put_own_rows(const kw_recorder *recorder, const kw_recording *recording)
{
    if (recording->kind != KW_RECORD_SENSORS || recording->name[0] == '\0') return 0;
    hid_t group = kw_open_group(recorder->file, recording->name);
    KW_PUT(group < 0 ? -1 : 0);
    KW_PUT(kw_put_integer(group, "first_row", recorder->problem->sets[recording->first_set].first));
    KW_PUT(kw_put_integer(group, "rows", kw_recording_rows(recorder->problem, recording)));
    return H5Gclose(group);
}

static herr_t put_all(kw_recorder *recorder, const kw_recorder_info *info)
{
    KW_PUT(put_root(recorder, info));
    KW_PUT(put_problem(recorder));
    KW_PUT(put_sensors(recorder));
    bool timed = false; /* the root has its time axis even where it has no series */
    for (int r = 0; r < recorder->problem->recording_count; r++) {
        KW_PUT(put_own_rows(recorder, &recorder->problem->recordings[r]));
        if (recorder->series[r].recording->series == 0) continue;
        KW_PUT(put_series(recorder, &recorder->series[r]));
        timed |= recorder->series[r].recording->name[0] == '\0';
    }
    if (!timed) {
        const kw_recording all = {.to = recorder->problem->time.steps - 1, .every = 1};
        hid_t made;
        KW_PUT(put_time(recorder, recorder->file, &all, &made));
        KW_PUT(H5Dclose(made));
    }
    return H5Fflush(recorder->file, H5F_SCOPE_LOCAL);
}

static kw_status prepare(kw_recorder *recorder, const char *path, const kw_recorder_info *info)
{
    const kw_problem *problem = recorder->problem;
    recorder->path = strdup(path);
    recorder->part = part_name(path);
    recorder->series = calloc((size_t)problem->recording_count + 1, sizeof *recorder->series);
    if (recorder->path == NULL || recorder->part == NULL || recorder->series == NULL)
        return kw_fail(KW_ERR_RESOURCE, "no memory");
    int64_t real = (int64_t)kw_real_size(recorder->precision);
    for (int r = 0; r < problem->recording_count; r++) {
        kw_series *series = &recorder->series[r];
        const kw_recording *recording = series->recording = &problem->recordings[r];
        series->rows = kw_recording_rows(problem, recording);
        if (recording->series == 0) continue;
        series->block_samples = block_samples(problem, recording, recorder->precision);
        if (recording->kind != KW_RECORD_SENSORS) continue;
        series->block =
            malloc((size_t)(series->rows * kw_bit_count(recording->series) * series->block_samples * real) + 1);
        if (series->block == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for a block of traces");
    }
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

static kw_status write_block(kw_recorder *recorder, kw_series *series)
{
    if (series->in_block == 0) return KW_OK;
    int64_t pitch = series->block_samples * series->rows * (int64_t)kw_real_size(recorder->precision);
    hsize_t start[2] = {0, (hsize_t)series->written}, size[2] = {(hsize_t)series->rows, (hsize_t)series->in_block};
    hsize_t held[2] = {(hsize_t)series->rows, (hsize_t)series->block_samples}, zero[2] = {0, 0};
    hsize_t grown[2] = {size[0], (hsize_t)(series->written + series->in_block)};
    herr_t result = 0;
    for (int i = 0; i < series->count && result >= 0; i++) {
        if (H5Dset_extent(series->dataset[i], grown) < 0) return cannot_write(recorder);
        hid_t space = H5Dget_space(series->dataset[i]), memory = H5Screate_simple(2, held, NULL);
        result = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL);
        if (result >= 0) result = H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, size, NULL);
        if (result >= 0)
            result = H5Dwrite(series->dataset[i], real_type(recorder), memory, space, H5P_DEFAULT,
                              series->block + i * pitch);
        H5Sclose(memory);
        H5Sclose(space);
    }
    if (result >= 0) result = write_times(recorder, series, series->written, series->in_block);
    if (result < 0) return cannot_write(recorder);
    series->written += series->in_block;
    series->in_block = 0;
    return KW_OK;
}

/* Every now and then what is written reaches the disk, so that a killed run leaves a readable file. */
static kw_status flush(kw_recorder *recorder)
{
    if (kw_clock_seconds() - recorder->last_flush < FLUSH_SECONDS) return KW_OK;
    recorder->last_flush = kw_clock_seconds();
    return H5Fflush(recorder->file, H5F_SCOPE_LOCAL) < 0 ? cannot_write(recorder) : KW_OK;
}

/* Puts one sample, [series][rows], into column `column` of the block. */
static void put_sample(const kw_recorder *recorder, const kw_series *series, const char *sample, int64_t column)
{
    int64_t pitch = series->block_samples, rows = series->rows * series->count;
    if (recorder->precision == KW_DOUBLE)
        for (int64_t i = 0; i < rows; i++)
            ((double *)(void *)series->block)[i * pitch + column] = ((const double *)(const void *)sample)[i];
    else
        for (int64_t i = 0; i < rows; i++)
            ((float *)(void *)series->block)[i * pitch + column] = ((const float *)(const void *)sample)[i];
}

static kw_status write_snapshot(kw_recorder *recorder, kw_series *series, const char *sample)
{
    int64_t first[4] = {series->written, 0, 0, 0}, count[4] = {1}, bytes = (int64_t)kw_real_size(recorder->precision);
    box_size(&series->recording->box, count + 1);
    hsize_t grown[4] = {(hsize_t)series->written + 1, (hsize_t)count[1], (hsize_t)count[2], (hsize_t)count[3]};
    for (int i = 0; i < series->count; i++) {
        if (H5Dset_extent(series->dataset[i], grown) < 0) return cannot_write(recorder);
        const char *from = sample + i * series->rows * bytes;
        if (kw_write_block(series->dataset[i], real_type(recorder), first, count, from) < 0)
            return cannot_write(recorder);
    }
    if (write_times(recorder, series, series->written, 1) < 0) return cannot_write(recorder);
    series->written++;
    return KW_OK;
}

kw_status kw_recorder_samples(kw_recorder *recorder, int recording, const void *samples, int64_t count)
{
    kw_series *series = &recorder->series[recording];
    int64_t bytes = series->rows * series->count * (int64_t)kw_real_size(recorder->precision);
    for (int64_t i = 0; i < count; i++) {
        const char *sample = (const char *)samples + i * bytes;
        if (series->block == NULL) {
            KW_TRY(write_snapshot(recorder, series, sample));
            continue;
        }
        put_sample(recorder, series, sample, series->in_block);
        if (++series->in_block == series->block_samples) KW_TRY(write_block(recorder, series));
    }
    return flush(recorder);
}

/* ---- arrays ---- */

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
    int64_t rows = BLOCK_BYTES / row;
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
            if (*status == KW_OK) result = kw_write_block(dataset, real_type(recorder), place, count, slab);
        }
    }
    free(slab);
    return result;
}

kw_status kw_recorder_array(kw_recorder *recorder, const kw_array *array, kw_recorder_read read, void *self)
{
    kw_layout_of layout = {.rank = array->rank, .compression = recorder->problem->compression};
    for (int i = 0; i < array->rank; i++) {
        layout.dim[i] = array->dim[i];
        layout.chunk[i] = array->rank >= 3 && i < array->rank - 2 ? 1 : array->dim[i];
        if (array->rank < 3 && layout.chunk[i] > 65536) layout.chunk[i] = 65536;
    }
    kw_status status = KW_OK;
    hid_t group = kw_open_group(recorder->file, array->group);
    hid_t dataset = group < 0 ? -1 : kw_make_dataset(group, array->name, real_type(recorder), &layout);
    herr_t result = dataset < 0 ? -1 : put_array_attributes(dataset, array);
    if (result >= 0) result = write_slabs(recorder, dataset, array, read, self, &status);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    if (group >= 0) H5Gclose(group);
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
    kw_status status = KW_OK;
    for (int r = 0; r < recorder->problem->recording_count && status == KW_OK; r++)
        status = write_block(recorder, &recorder->series[r]);
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
