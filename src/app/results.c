#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/recording.h"

/* What a read callback works with. */
typedef struct kw_reading {
    const kw_problem *problem;
    const kw_backend *backend;
    kw_sim *sim;
    kw_precision precision;
    int recording;
    const kw_recording *asked;
    kw_result result;
    kw_field field;
    int64_t samples;
    double *heat; /* [box points] */
} kw_reading;

static void put_real(kw_precision precision, void *dst, int64_t i, double value)
{
    if (precision == KW_DOUBLE)
        ((double *)dst)[i] = value;
    else
        ((float *)dst)[i] = (float)value;
}

/* ---- final fields ---- */

static kw_status read_final(void *self, int64_t outer, int64_t x0, int64_t nx, void *dst)
{
    kw_reading *reading = self;
    kw_box box = reading->problem->inner;
    (void)outer;
    box.lo[0] += x0;
    box.hi[0] = box.lo[0] + nx;
    return reading->backend->read_field(reading->sim, reading->field, &box, dst);
}

static void box_dims(const kw_box *box, int64_t *dim)
{
    for (int i = 0; i < 3; i++) dim[i] = box->hi[i] - box->lo[i];
}

static kw_status write_finals(kw_reading *reading, kw_recorder *recorder)
{
    static const char *const name[] = {"p_final", "ux_final", "uy_final", "uz_final"};
    static const kw_field field[] = {KW_FIELD_P, KW_FIELD_UX, KW_FIELD_UY, KW_FIELD_UZ};
    for (int q = KW_REC_P; q <= KW_REC_UZ; q++) {
        if (!kw_bit(reading->problem->final, q)) continue;
        kw_array array = {.group = "",
                          .name = name[q],
                          .units = kw_recorded_units((kw_recorded)q),
                          .rank = 3,
                          .axes = {"x", "y", "z"},
                          .box = &reading->problem->inner};
        box_dims(&reading->problem->inner, array.dim);
        reading->field = field[q];
        KW_TRY(kw_recorder_array(recorder, &array, read_final, reading));
    }
    return KW_OK;
}

/* ---- accumulators ---- */

/* Values of one column of a result for rows first ... first+count-1. */
static kw_status read_column(const kw_reading *reading, int column, int64_t first, int64_t count, double *values)
{
    const kw_result *result = &reading->result;
    size_t real = kw_real_size(reading->precision);
    char *raw = malloc((size_t)count * real + 1);
    double *slots = malloc((size_t)(count * result->slots) * sizeof *slots + 1);
    kw_status status = raw != NULL && slots != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory for the results");
    for (int s = 0; s < result->slots && status == KW_OK; s++) {
        int slot = result->slot + column * result->slots + s;
        status = reading->backend->read_accumulator(reading->sim, reading->recording, slot, first, count, raw);
        for (int64_t i = 0; i < count && status == KW_OK; i++)
            slots[s * count + i] =
                reading->precision == KW_DOUBLE ? ((double *)(void *)raw)[i] : (double)((float *)(void *)raw)[i];
    }
    if (status == KW_OK)
        kw_result_values(reading->problem, reading->asked, result, column, reading->samples, count, slots, values);
    free(raw);
    free(slots);
    return status;
}

/* [sensor] or [sensor][frequency] */
static kw_status read_rows(void *self, int64_t outer, int64_t first, int64_t count, void *dst)
{
    kw_reading *reading = self;
    int columns = reading->result.columns;
    double *values = malloc((size_t)count * sizeof *values + 1);
    kw_status status = values != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory for the results");
    (void)outer;
    for (int c = 0; c < columns && status == KW_OK; c++) {
        status = read_column(reading, c, first, count, values);
        for (int64_t i = 0; i < count && status == KW_OK; i++)
            put_real(reading->precision, dst, i * columns + c, values[i]);
    }
    free(values);
    return status;
}

/* [x][y][z] or [frequency][x][y][z] */
static kw_status read_planes(void *self, int64_t column, int64_t x0, int64_t nx, void *dst)
{
    kw_reading *reading = self;
    int64_t size[3];
    box_dims(&reading->asked->box, size);
    int64_t plane = size[1] * size[2], count = nx * plane;
    double *values = malloc((size_t)count * sizeof *values + 1);
    if (values == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the results");
    kw_status status = read_column(reading, reading->result.columns > 1 ? (int)column : 0, x0 * plane, count, values);
    for (int64_t i = 0; i < count && status == KW_OK; i++) put_real(reading->precision, dst, i, values[i]);
    free(values);
    return status;
}

static kw_status write_result(kw_reading *reading, kw_recorder *recorder)
{
    const kw_recording *asked = reading->asked;
    const kw_result *result = &reading->result;
    kw_array array = {.group = asked->name,
                      .name = result->name,
                      .units = result->units,
                      .recording = asked,
                      .samples = reading->samples};
    bool columns = result->kind == KW_RESULT_AMPLITUDE || result->kind == KW_RESULT_PHASE;
    if (asked->kind == KW_RECORD_SENSORS) {
        array.rank = columns ? 2 : 1;
        array.dim[0] = kw_recording_rows(reading->problem, asked);
        array.dim[1] = result->columns;
        array.axes[0] = "sensor";
        array.axes[1] = "frequency";
        return kw_recorder_array(recorder, &array, read_rows, reading);
    }
    static const char *const axes[4] = {"frequency", "x", "y", "z"};
    array.rank = columns ? 4 : 3;
    array.box = &asked->box;
    array.dim[0] = result->columns;
    box_dims(&asked->box, array.dim + (columns ? 1 : 0));
    memcpy(array.axes, axes + (columns ? 0 : 1), (size_t)array.rank * sizeof *axes);
    return kw_recorder_array(recorder, &array, read_planes, reading);
}

/* ---- heat ---- */

/* Weights c_k of the first derivative sum c_k (f(x + k h) - f(x - k h))/h, k = 1 ... m, of order 2 m: Fornberg, Math.
 * Comput. 51 (1988). */
static void difference_weights(int m, double *c)
{
    double ratio = 1.0; /* (m!)^2/((m-k)!(m+k)!) */
    for (int k = 1; k <= m; k++) {
        ratio *= (double)(m - k + 1) / (double)(m + k);
        c[k - 1] = (k % 2 == 1 ? 1.0 : -1.0) * ratio / (double)k;
    }
}

/* heat -= d I_axis/d axis over the box; `intensity` covers `cover`, whose axes are periodic where they are whole. */
static void add_divergence(const kw_reading *reading, int axis, const double *intensity)
{
    double weight[KW_HEAT_REACH];
    int64_t size[3], whole[3];
    const kw_box *box = &reading->asked->box, *cover = &reading->asked->cover;
    box_dims(box, size);
    box_dims(cover, whole);
    difference_weights(KW_HEAT_REACH, weight);
    const int64_t stride[3] = {whole[1] * whole[2], whole[2], 1};
    for (int64_t i = 0; i < size[0] * size[1] * size[2]; i++) {
        int64_t at[3] = {i / size[2] / size[1], i / size[2] % size[1], i % size[2]}, offset = 0;
        for (int a = 0; a < 3; a++) {
            at[a] += box->lo[a] - cover->lo[a];
            offset += a == axis ? 0 : at[a] * stride[a];
        }
        for (int k = 1; k <= KW_HEAT_REACH; k++) {
            int64_t n = whole[axis], up = (at[axis] + k) % n, down = (at[axis] - k % n + n) % n;
            double difference = intensity[offset + up * stride[axis]] - intensity[offset + down * stride[axis]];
            reading->heat[i] -= weight[k - 1] * difference / reading->problem->grid.h[axis];
        }
    }
}

static kw_status read_heat(void *self, int64_t outer, int64_t x0, int64_t nx, void *dst)
{
    kw_reading *reading = self;
    int64_t size[3];
    (void)outer;
    box_dims(&reading->asked->box, size);
    int64_t plane = size[1] * size[2];
    for (int64_t i = 0; i < nx * plane; i++) put_real(reading->precision, dst, i, reading->heat[x0 * plane + i]);
    return KW_OK;
}

/* Q = -div I; the intensity of one component at a time. */
static kw_status make_heat(kw_reading *reading)
{
    kw_result results[KW_MOST_RESULTS];
    int64_t rows = kw_recording_rows(reading->problem, reading->asked);
    int count = kw_recording_results(reading->problem, reading->asked, results);
    double *intensity = malloc((size_t)rows * sizeof *intensity);
    if (intensity == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the heat");
    kw_status status = KW_OK;
    for (int i = 0; i < count && status == KW_OK; i++) {
        reading->result = results[i];
        status = read_column(reading, 0, 0, rows, intensity);
        if (status == KW_OK) add_divergence(reading, (int)results[i].what - KW_REC_UX_CENTRED, intensity);
    }
    free(intensity);
    return status;
}

static kw_status write_heat(kw_reading *reading, kw_recorder *recorder)
{
    const kw_recording *asked = reading->asked;
    bool all = asked->name[0] == '\0';
    kw_array array = {.group = asked->name,
                      .name = all ? "heat_all" : "heat",
                      .units = "W/m^3",
                      .rank = 3,
                      .axes = {"x", "y", "z"},
                      .recording = asked,
                      .samples = reading->samples};
    box_dims(&asked->box, array.dim);
    array.box = &asked->box;
    reading->heat = calloc((size_t)kw_box_points(&asked->box), sizeof *reading->heat);
    if (reading->heat == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the heat");
    kw_status status = make_heat(reading);
    if (status == KW_OK) status = kw_recorder_array(recorder, &array, read_heat, reading);
    free(reading->heat);
    reading->heat = NULL;
    return status;
}

kw_status kw_results_write(const kw_problem *problem, const kw_backend *backend, kw_sim *sim, kw_precision precision,
                           kw_recorder *recorder, int64_t steps, bool fields)
{
    kw_reading reading = {.problem = problem, .backend = backend, .sim = sim, .precision = precision};
    kw_result results[KW_MOST_RESULTS];
    if (fields) KW_TRY(write_finals(&reading, recorder));
    for (int r = 0; r < problem->recording_count; r++) {
        const kw_recording *asked = reading.asked = &problem->recordings[r];
        reading.recording = r;
        reading.samples = kw_recording_samples(asked, steps);
        if (asked->kind == KW_RECORD_HEAT) {
            KW_TRY(write_heat(&reading, recorder));
            continue;
        }
        int count = kw_recording_results(problem, asked, results);
        for (int i = 0; i < count; i++) {
            reading.result = results[i];
            KW_TRY(write_result(&reading, recorder));
        }
    }
    return KW_OK;
}
