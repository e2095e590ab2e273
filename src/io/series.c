/* Series of recordings: traces in blocks, snapshots one by one, each with its time axis. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/clock.h"
#include "parts.h"

static const int64_t CHUNK_BYTES = INT64_C(1) << 20, MOST_BLOCK_SAMPLES = 256;
static const double FLUSH_SECONDS = 30.0;

/* Samples of a recording that are written together. */
static int64_t block_samples(const kw_problem *problem, const kw_recording *recording, kw_precision precision)
{
    int64_t row = kw_bit_count(recording->series) * (int64_t)kw_real_size(precision);
    int64_t all = kw_recording_samples(recording, problem->time.steps), rows = kw_recording_rows(problem, recording);
    int64_t block = KW_BLOCK_BYTES / (rows * row);
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
        total +=
            ring + (blocks ? fmin(fmax((double)KW_BLOCK_BYTES, sample), sample * (double)MOST_BLOCK_SAMPLES) : 0.0);
        fields |= recording->kind != KW_RECORD_SENSORS;
        if (recording->kind == KW_RECORD_HEAT) total += 36.0 * (double)kw_box_points(&recording->cover);
    }
    double plane = 4.0 * (double)problem->user.n[1] * (double)problem->user.n[2];
    double slab = fmin(fmax((double)KW_BLOCK_BYTES, plane), plane * (double)problem->user.n[0]);
    return total + (fields ? 13.0 * slab : 0.0); /* a slab of single numbers, and its accumulators in double */
}

/* ---- before the run ---- */

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

void kw_box_size(const kw_box *box, int64_t size[3])
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
    kw_box_size(&series->recording->box, size);
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
    kw_box_size(box, size);
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
        hid_t made = kw_make_dataset(group, kw_recorded_name((kw_recorded)q), kw_real_type(recorder), &layout);
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

herr_t kw_put_all_series(kw_recorder *recorder)
{
    bool timed = false; /* the root has its time axis even where it has no series */
    for (int r = 0; r < recorder->problem->recording_count; r++) {
        KW_PUT(put_own_rows(recorder, &recorder->problem->recordings[r]));
        if (recorder->series[r].recording->series == 0) continue;
        KW_PUT(put_series(recorder, &recorder->series[r]));
        timed |= recorder->series[r].recording->name[0] == '\0';
    }
    if (timed) return 0;
    const kw_recording all = {.to = recorder->problem->time.steps - 1, .every = 1};
    hid_t made;
    KW_PUT(put_time(recorder, recorder->file, &all, &made));
    return H5Dclose(made);
}

kw_status kw_prepare_series(kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    int64_t real = (int64_t)kw_real_size(recorder->precision);
    recorder->last_flush = kw_clock_seconds();
    recorder->series = calloc((size_t)problem->recording_count + 1, sizeof *recorder->series);
    if (recorder->series == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    for (int r = 0; r < problem->recording_count; r++) {
        kw_series *series = &recorder->series[r];
        const kw_recording *recording = series->recording = &problem->recordings[r];
        series->rows = kw_recording_rows(problem, recording);
        if (recording->series == 0) continue;
        series->block_samples = block_samples(problem, recording, recorder->precision);
        if (recording->kind != KW_RECORD_SENSORS || problem->kwave.on) continue;
        int64_t columns = kw_bit_count(recording->series) * series->block_samples;
        series->block = malloc((size_t)(series->rows * columns * real) + 1);
        if (series->block == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for a block of traces");
    }
    return KW_OK;
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
        if (H5Dset_extent(series->dataset[i], grown) < 0) return kw_cannot_write(recorder);
        hid_t space = H5Dget_space(series->dataset[i]), memory = H5Screate_simple(2, held, NULL);
        result = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL);
        if (result >= 0) result = H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, size, NULL);
        if (result >= 0)
            result = H5Dwrite(series->dataset[i], kw_real_type(recorder), memory, space, H5P_DEFAULT,
                              series->block + i * pitch);
        H5Sclose(memory);
        H5Sclose(space);
    }
    if (result >= 0) result = write_times(recorder, series, series->written, series->in_block);
    if (result < 0) return kw_cannot_write(recorder);
    series->written += series->in_block;
    series->in_block = 0;
    return KW_OK;
}

/* Every now and then what is written reaches the disk, so that a killed run leaves a readable file. */
static kw_status flush(kw_recorder *recorder)
{
    if (kw_clock_seconds() - recorder->last_flush < FLUSH_SECONDS) return KW_OK;
    recorder->last_flush = kw_clock_seconds();
    return H5Fflush(recorder->file, H5F_SCOPE_LOCAL) < 0 ? kw_cannot_write(recorder) : KW_OK;
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
    kw_box_size(&series->recording->box, count + 1);
    hsize_t grown[4] = {(hsize_t)series->written + 1, (hsize_t)count[1], (hsize_t)count[2], (hsize_t)count[3]};
    for (int i = 0; i < series->count; i++) {
        if (H5Dset_extent(series->dataset[i], grown) < 0) return kw_cannot_write(recorder);
        const char *from = sample + i * series->rows * bytes;
        if (kw_write_block(series->dataset[i], kw_real_type(recorder), first, count, from) < 0)
            return kw_cannot_write(recorder);
    }
    if (write_times(recorder, series, series->written, 1) < 0) return kw_cannot_write(recorder);
    series->written++;
    return KW_OK;
}

kw_status kw_put_samples(kw_recorder *recorder, int recording, const void *samples, int64_t count)
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

kw_status kw_finish_series(kw_recorder *recorder)
{
    for (int r = 0; r < recorder->problem->recording_count; r++) KW_TRY(write_block(recorder, &recorder->series[r]));
    return KW_OK;
}
