/* The output file as the field's solvers write it: everything of rank 3, x fastest, single precision. The axes of a
 * k-Wave problem are taken in reverse, so rows and fields are in the file's order already; ux and uz change names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kwave_parts.h"
#include "parts.h"

herr_t kw_kwave_put_text(hid_t at, const char *name, const char *value)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(value) + 1);
    hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t result = attribute < 0 ? -1 : H5Awrite(attribute, type, value);
    if (attribute >= 0 && H5Aclose(attribute) < 0) result = -1;
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

hid_t kw_kwave_make(hid_t at, const char *name, bool integer, const kw_layout_of *layout)
{
    hid_t dataset = kw_make_dataset(at, name, integer ? H5T_STD_U64LE : H5T_IEEE_F32LE, layout);
    if (dataset < 0 || kw_kwave_put_text(dataset, "data_type", integer ? "long" : "float") < 0 ||
        kw_kwave_put_text(dataset, "domain_type", "real") < 0)
        return -1;
    return dataset;
}

herr_t kw_kwave_put_number(hid_t at, const char *name, bool integer, double value)
{
    const kw_layout_of one = {.rank = 3, .dim = {1, 1, 1}};
    const int64_t zero[3] = {0}, size[3] = {1, 1, 1};
    hid_t dataset = kw_kwave_make(at, name, integer, &one);
    herr_t result = dataset < 0 ? -1 : kw_write_block(dataset, H5T_NATIVE_DOUBLE, zero, size, &value);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    return result;
}

/* ---- before the run ---- */

static herr_t put_root(const kw_recorder *recorder, const kw_recorder_info *info)
{
    char now[40], by[80], host[256] = "", cores[20];
    time_t seconds = time(NULL);
    struct tm local;
    strftime(now, sizeof now, "%d/%m/%y, %H:%M:%S", localtime_r(&seconds, &local));
    snprintf(by, sizeof by, "kwsim %s, %s", info->version, info->backend);
    snprintf(cores, sizeof cores, "%d", info->threads);
    gethostname(host, sizeof host - 1);
    hid_t file = recorder->file;
    KW_PUT(kw_kwave_put_text(file, "created_by", by));
    KW_PUT(kw_kwave_put_text(file, "creation_date", now));
    KW_PUT(kw_kwave_put_text(file, "file_description", recorder->problem->kwave.description));
    KW_PUT(kw_kwave_put_text(file, "file_type", "output"));
    KW_PUT(kw_kwave_put_text(file, "major_version", "1"));
    KW_PUT(kw_kwave_put_text(file, "minor_version", "2"));
    KW_PUT(kw_kwave_put_text(file, "host_names", host));
    return kw_kwave_put_text(file, "number_of_cpu_cores", cores);
}

static herr_t put_scalars(const kw_recorder *recorder)
{
    static const char *const flag[] = {"ux_source_flag", "uy_source_flag", "uz_source_flag",
                                       "p_source_flag",  "p0_source_flag", "transducer_source_flag"};
    const kw_problem *problem = recorder->problem;
    const kw_kwave *kwave = &problem->kwave;
    bool flat = problem->grid.n[0] == 1; /* 2-D files have no z */
    for (int i = 0; i < 3; i++) {
        char name[20];
        int ours = 2 - i, letter = 'x' + i;
        snprintf(name, sizeof name, "N%c", letter);
        KW_PUT(kw_kwave_put_number(recorder->file, name, true, (double)problem->grid.n[ours]));
        if (flat && i == 2) continue;
        snprintf(name, sizeof name, "d%c", letter);
        KW_PUT(kw_kwave_put_number(recorder->file, name, false, problem->grid.h[ours]));
        snprintf(name, sizeof name, "pml_%c_size", letter);
        KW_PUT(kw_kwave_put_number(recorder->file, name, true, (double)problem->pml.size[ours]));
        snprintf(name, sizeof name, "pml_%c_alpha", letter);
        KW_PUT(kw_kwave_put_number(recorder->file, name, false, problem->pml.alpha[ours]));
    }
    KW_PUT(kw_kwave_put_number(recorder->file, "Nt", true, (double)problem->time.steps));
    KW_PUT(kw_kwave_put_number(recorder->file, "dt", false, problem->time.dt));
    KW_PUT(kw_kwave_put_number(recorder->file, "c_ref", false, problem->c_ref));
    for (int i = 0; i < 6; i++)
        if (!(flat && i == 2)) KW_PUT(kw_kwave_put_number(recorder->file, flag[i], true, (double)kwave->flag[i]));
    KW_PUT(kw_kwave_put_number(recorder->file, "nonuniform_grid_flag", true, 0));
    KW_PUT(kw_kwave_put_number(recorder->file, "absorbing_flag", true, (double)kwave->absorbing));
    KW_PUT(kw_kwave_put_number(recorder->file, "nonlinear_flag", true, problem->nonlinear));
    KW_PUT(kw_kwave_put_number(recorder->file, "axisymmetric_flag", true, 0));
    if (problem->absorption.on)
        KW_PUT(kw_kwave_put_number(recorder->file, "alpha_power", false, problem->absorption.power));
    if (kwave->u_mode >= 0) KW_PUT(kw_kwave_put_number(recorder->file, "u_source_mode", true, (double)kwave->u_mode));
    if (kwave->u_many >= 0) KW_PUT(kw_kwave_put_number(recorder->file, "u_source_many", true, (double)kwave->u_many));
    if (kwave->p_mode >= 0) KW_PUT(kw_kwave_put_number(recorder->file, "p_source_mode", true, (double)kwave->p_mode));
    return kwave->p_many >= 0 ? kw_kwave_put_number(recorder->file, "p_source_many", true, (double)kwave->p_many) : 0;
}

/* --copy_sensor_mask: the indices or corners again, 1-based. */
static herr_t put_mask(const kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    bool corners = problem->kwave.mask_type == 1;
    int64_t rows = corners ? problem->set_count : kw_sensor_count(problem), columns = corners ? 6 : rows;
    kw_layout_of layout = {.rank = 3, .dim = {1, corners ? rows : 1, columns}};
    if (!problem->kwave.copy_mask || problem->kwave.mask_type < 0) return 0;
    double *value = malloc((size_t)(corners ? 6 * rows : rows) * sizeof *value);
    if (value == NULL) return -1;
    for (int64_t i = 0; i < rows; i++) {
        if (!corners) {
            value[i] = (double)(kw_grid_offset(&problem->grid, kw_sensor_locate(problem, i).index) + 1);
            continue;
        }
        for (int a = 0; a < 3; a++) {
            value[6 * i + a] = (double)(problem->sets[i].box.lo[2 - a] + 1);
            value[6 * i + 3 + a] = (double)problem->sets[i].box.hi[2 - a];
        }
    }
    const int64_t zero[3] = {0};
    hid_t dataset = kw_kwave_make(recorder->file, corners ? "sensor_mask_corners" : "sensor_mask_index", true, &layout);
    herr_t result = dataset < 0 ? -1 : kw_write_block(dataset, H5T_NATIVE_DOUBLE, zero, layout.dim, value);
    free(value);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    if (result >= 0) result = kw_kwave_put_number(recorder->file, "sensor_mask_type", true, problem->kwave.mask_type);
    return result;
}

/* The field's name of one of ours: the axes are swapped. */
static const char *field_name(const char *ours, char *name, size_t size)
{
    snprintf(name, size, "%s", ours);
    if (name[0] == 'u') name[1] = (char)('x' + 'z' - name[1]);
    return name;
}

/* Floats of a chunk where a sample is large. */
static const int64_t LARGE_SAMPLE = INT64_C(8) << 20, CHUNK = INT64_C(2) << 20;

static kw_layout_of series_layout(const kw_recorder *recorder, const kw_sensor_set *set, int64_t rows)
{
    int64_t samples = kw_recording_samples(recorder->series[0].recording, recorder->problem->time.steps), size[3];
    kw_layout_of layout = {.rank = 3,
                           .dim = {1, samples, rows},
                           .chunk = {1, 1, rows > LARGE_SAMPLE ? CHUNK : rows},
                           .chunked = true,
                           .compression = recorder->problem->compression};
    if (set == NULL) return layout;
    kw_box_size(&set->box, size);
    layout.rank = 4;
    layout.dim[0] = samples;
    layout.chunk[0] = 1;
    for (int i = 0; i < 3; i++) layout.dim[1 + i] = layout.chunk[1 + i] = size[i];
    if (rows > LARGE_SAMPLE)
        layout.chunk[1] = CHUNK / (size[1] * size[2]) + 1 < size[0] ? CHUNK / (size[1] * size[2]) + 1 : size[0];
    return layout;
}

/* One dataset of each quantity, or a group of them with one for each cuboid. */
static herr_t put_series(kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    bool corners = problem->kwave.mask_type == 1;
    kw_series *series = &recorder->series[0];
    if (problem->recording_count == 0 || series->recording->series == 0) return 0;
    int64_t sets = corners ? problem->set_count : 1;
    recorder->cuboid = calloc((size_t)(KW_RECORDED * sets), sizeof *recorder->cuboid);
    if (recorder->cuboid == NULL) return -1;
    for (int q = 0; q < KW_RECORDED; q++) {
        char name[40];
        if (!kw_bit(series->recording->series, q)) continue;
        field_name(kw_recorded_name((kw_recorded)q), name, sizeof name);
        hid_t group = corners ? kw_open_group(recorder->file, name) : recorder->file;
        KW_PUT(group);
        for (int64_t s = 0; s < sets; s++) {
            const kw_sensor_set *set = corners ? &problem->sets[s] : NULL;
            kw_layout_of layout = series_layout(recorder, set, corners ? set->rows : series->rows);
            hid_t dataset = kw_kwave_make(group, corners ? set->name : name, false, &layout);
            KW_PUT(dataset);
            recorder->cuboid[series->count * sets + s] = dataset;
            recorder->cuboids++;
        }
        series->count++;
        if (corners) KW_PUT(H5Gclose(group));
    }
    return 0;
}

static herr_t begin(kw_recorder *recorder, const kw_recorder_info *info)
{
    KW_PUT(put_root(recorder, info));
    KW_PUT(put_scalars(recorder));
    KW_PUT(put_mask(recorder));
    return put_series(recorder);
}

/* ---- during and after the run ---- */

static herr_t write_sample(const kw_recorder *recorder, const kw_series *series, int quantity, const char *values)
{
    const kw_problem *problem = recorder->problem;
    int64_t sets = problem->kwave.mask_type == 1 ? problem->set_count : 1;
    for (int64_t s = 0; s < sets; s++) {
        int64_t first[4] = {0, series->written, 0, 0}, count[4] = {1, 1, series->rows, 1};
        if (problem->kwave.mask_type == 1) {
            first[0] = series->written;
            first[1] = 0;
            kw_box_size(&problem->sets[s].box, count + 1);
        }
        KW_PUT(kw_write_block(recorder->cuboid[quantity * sets + s], kw_real_type(recorder), first, count, values));
        values += (size_t)problem->sets[s].rows * kw_real_size(recorder->precision);
    }
    return 0;
}

static kw_status samples(kw_recorder *recorder, int recording, const void *values, int64_t count)
{
    kw_series *series = &recorder->series[recording];
    size_t row = (size_t)series->rows * kw_real_size(recorder->precision);
    const char *at = values;
    for (int64_t i = 0; i < count; i++, series->written++)
        for (int q = 0; q < series->count; q++, at += row)
            if (write_sample(recorder, series, q, at) < 0) return kw_cannot_write(recorder);
    return KW_OK;
}

/* Rows first ... of a result of the sensors into a dataset of their own. */
static herr_t write_rows(kw_recorder *recorder, hid_t at, const char *name, const kw_layout_of *layout, int64_t first,
                         int64_t rows, kw_recorder_read read, void *self, kw_status *status)
{
    const int64_t zero[3] = {0};
    void *values = malloc((size_t)rows * kw_real_size(recorder->precision) + 1);
    *status =
        values != NULL ? read(self, 0, first, rows, values) : kw_fail(KW_ERR_RESOURCE, "no memory for the results");
    hid_t dataset = *status == KW_OK ? kw_kwave_make(at, name, false, layout) : -1;
    herr_t result = dataset < 0 ? -1 : kw_write_block(dataset, kw_real_type(recorder), zero, layout->dim, values);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    free(values);
    return result;
}

static herr_t put_sensor_result(kw_recorder *recorder, const char *name, const kw_array *array, kw_recorder_read read,
                                void *self, kw_status *status)
{
    const kw_problem *problem = recorder->problem;
    int64_t rows = array->dim[0];
    kw_layout_of layout = {.rank = 3,
                           .dim = {1, 1, rows},
                           .chunk = {1, 1, rows > LARGE_SAMPLE ? CHUNK : rows},
                           .chunked = true,
                           .compression = problem->compression};
    if (problem->kwave.mask_type != 1)
        return write_rows(recorder, recorder->file, name, &layout, 0, rows, read, self, status);
    hid_t group = kw_open_group(recorder->file, name);
    herr_t result = group < 0 ? -1 : 0;
    for (int64_t s = 0; s < problem->set_count && result >= 0; s++) {
        const kw_sensor_set *set = &problem->sets[s];
        kw_box_size(&set->box, layout.dim);
        memcpy(layout.chunk, layout.dim, sizeof layout.dim);
        result = write_rows(recorder, group, set->name, &layout, set->first, set->rows, read, self, status);
    }
    if (group >= 0) H5Gclose(group);
    return result;
}

/* A field, plane by plane. */
static herr_t put_field(kw_recorder *recorder, const char *name, const kw_array *array, kw_recorder_read read,
                        void *self, kw_status *status)
{
    kw_layout_of layout = {.rank = 3,
                           .chunk = {1, array->dim[1], array->dim[2]},
                           .chunked = true,
                           .compression = recorder->problem->compression};
    memcpy(layout.dim, array->dim, 3 * sizeof *array->dim);
    hid_t dataset = kw_kwave_make(recorder->file, name, false, &layout);
    void *plane = malloc((size_t)(array->dim[1] * array->dim[2]) * kw_real_size(recorder->precision));
    herr_t result = dataset < 0 || plane == NULL ? -1 : 0;
    for (int64_t x = 0; x < array->dim[0] && result >= 0; x++) {
        const int64_t first[3] = {x, 0, 0}, count[3] = {1, array->dim[1], array->dim[2]};
        *status = read(self, 0, x, 1, plane);
        result = *status != KW_OK ? -1 : kw_write_block(dataset, kw_real_type(recorder), first, count, plane);
    }
    free(plane);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    return result;
}

static kw_status array(kw_recorder *recorder, const kw_array *array, kw_recorder_read read, void *self)
{
    char name[40];
    kw_status status = KW_OK;
    field_name(array->name, name, sizeof name);
    herr_t result = array->rank == 3 ? put_field(recorder, name, array, read, self, &status)
                                     : put_sensor_result(recorder, name, array, read, self, &status);
    if (status != KW_OK) return status;
    return result < 0 ? kw_cannot_write(recorder) : KW_OK;
}

static herr_t end(kw_recorder *recorder, const kw_recorder_result *result)
{
    char text[60];
    hid_t file = recorder->file;
    const struct {
        const char *name;
        double seconds;
    } phase[] = {{"data_loading_phase_execution_time",
                  result->total_seconds - result->stats.create_seconds - result->stats.step_seconds},
                 {"pre-processing_phase_execution_time", result->stats.create_seconds},
                 {"simulation_phase_execution_time", result->stats.step_seconds},
                 {"post-processing_phase_execution_time", 0.0},
                 {"total_execution_time", result->total_seconds}};
    KW_PUT(kw_kwave_put_number(recorder->file, "t_index", true, (double)result->stats.steps));
    for (size_t i = 0; i < sizeof phase / sizeof phase[0]; i++) {
        snprintf(text, sizeof text, "%8.2fs", phase[i].seconds > 0.0 ? phase[i].seconds : 0.0);
        KW_PUT(kw_kwave_put_text(file, phase[i].name, text));
    }
    snprintf(text, sizeof text, "%.0f MB", result->stats.bytes / 1048576.0);
    KW_PUT(kw_kwave_put_text(file, "peak_core_memory_in_use", text));
    return kw_kwave_put_text(file, "total_memory_in_use", text);
}

const kw_format kw_kwave_format = {begin, samples, array, end};
