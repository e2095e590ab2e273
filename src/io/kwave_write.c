/* Problems as k-Wave's input files, format 1.2. Here kwsim's x is the file's x: fields are transposed as they are written.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kwsim/dataset.h"
#include "kwsim/kwave.h"
#include "kwsim/log.h"
#include "kwsim/machine.h"
#include "kwsim/recording.h"
#include "kwsim/sources.h"
#include "kwave_parts.h"
#include "parts.h"

typedef struct kw_writer {
    const kw_problem *problem;
    const kw_field_source *fields;
    const char *path;
    hid_t file;
    kw_status status; /* of what is not HDF5 */
} kw_writer;

static kw_status cannot(const kw_problem *problem, const char *what)
{
    return kw_fail(KW_ERR_SCENE, "%s: a k-Wave input file cannot say %s", problem->scene_file, what);
}

/* What the format has no words for. */
static kw_status check(const kw_problem *problem)
{
    const kw_absorption *absorption = &problem->absorption;
    if (problem->user.n[0] == 1 || problem->user.n[1] == 1)
        return cannot(problem, "a flat x or y axis; the flat axis of 2-D is z");
    if (absorption->on && !absorption->attenuation) return cannot(problem, "medium.absorption.attenuation = false");
    if (absorption->on && !absorption->dispersion && absorption->power != 2.0)
        return cannot(problem, "medium.absorption.dispersion = false");
    for (int64_t s = 0; s < problem->set_count; s++) {
        const kw_sensor_set *set = &problem->sets[s];
        if (set->interpolation != KW_NEAREST)
            return cannot(problem, "interpolated sensors; take interpolation = \"nearest\"");
        if (set->average) return cannot(problem, "averaged sensors");
    }
    const kw_source *pressure = NULL, *velocity = NULL;
    for (int64_t s = 0; s < problem->source_count; s++) {
        const kw_source *source = &problem->sources[s];
        bool is_velocity = source->quantity >= KW_SOURCE_UX && source->quantity <= KW_SOURCE_UZ;
        const kw_source **first = is_velocity ? &velocity : &pressure;
        if (*first != NULL && (*first)->mode != source->mode)
            return cannot(problem, "several modes of sources of one kind");
        if (*first != NULL && source->mode == KW_DIRICHLET)
            return cannot(problem, "several dirichlet sources of one kind");
        *first = source;
    }
    return KW_OK;
}

/* ---- numbers ---- */

static herr_t put_count(const kw_writer *writer, const char *name, int64_t value)
{
    return kw_kwave_put_number(writer->file, name, true, (double)value);
}

static herr_t put_real(const kw_writer *writer, const char *name, double value)
{
    return kw_kwave_put_number(writer->file, name, false, value);
}

static herr_t put_root(const kw_writer *writer)
{
    char now[40];
    time_t seconds = time(NULL);
    struct tm local;
    strftime(now, sizeof now, "%d-%b-%Y-%H-%M-%S", localtime_r(&seconds, &local));
    KW_PUT(kw_kwave_put_text(writer->file, "created_by", "kwsim " KWSIM_VERSION));
    KW_PUT(kw_kwave_put_text(writer->file, "creation_date", now));
    KW_PUT(kw_kwave_put_text(writer->file, "file_description", writer->problem->scene_file));
    KW_PUT(kw_kwave_put_text(writer->file, "file_type", "input"));
    KW_PUT(kw_kwave_put_text(writer->file, "major_version", "1"));
    return kw_kwave_put_text(writer->file, "minor_version", "2");
}

static bool is_flat(const kw_writer *writer) { return writer->problem->grid.n[2] == 1; }

static herr_t put_grid(const kw_writer *writer)
{
    const kw_problem *problem = writer->problem;
    for (int i = 0; i < 3; i++) {
        char name[20];
        snprintf(name, sizeof name, "N%c", 'x' + i);
        KW_PUT(put_count(writer, name, problem->grid.n[i]));
        snprintf(name, sizeof name, "pml_%c_size", 'x' + i);
        KW_PUT(put_count(writer, name, problem->pml.size[i]));
        if (i == 2 && is_flat(writer)) continue;
        snprintf(name, sizeof name, "d%c", 'x' + i);
        KW_PUT(put_real(writer, name, problem->grid.h[i]));
        snprintf(name, sizeof name, "pml_%c_alpha", 'x' + i);
        KW_PUT(put_real(writer, name, problem->pml.alpha[i]));
    }
    KW_PUT(put_count(writer, "Nt", problem->time.steps));
    KW_PUT(put_real(writer, "dt", problem->time.dt));
    KW_PUT(put_real(writer, "c_ref", problem->c_ref));
    KW_PUT(put_count(writer, "nonuniform_grid_flag", 0));
    KW_PUT(put_count(writer, "axisymmetric_flag", 0));
    KW_PUT(put_count(writer, "elastic_flag", 0));
    return put_count(writer, "transducer_source_flag", 0);
}

/* ---- fields ---- */

/* A slab of planes [nx][ny][nz] into columns x0 ... of the dataset (nz, ny, nx). */
static herr_t write_slab(hid_t dataset, const kw_grid *grid, int64_t x0, int64_t nx, const double *slab, float *turned)
{
    int64_t rows = grid->n[1] * grid->n[2], first[3] = {0, 0, x0}, count[3] = {grid->n[2], grid->n[1], nx};
    for (int64_t x = 0; x < nx; x++)
        for (int64_t i = 0; i < rows; i++) {
            int64_t y = i / grid->n[2], z = i % grid->n[2];
            turned[(z * grid->n[1] + y) * nx + x] = (float)slab[x * rows + i];
        }
    return kw_write_block(dataset, H5T_NATIVE_FLOAT, first, count, turned);
}

/* rho0 at the points staggered along an axis: the mean with the next neighbour, the last point its own. */
static void stagger(const kw_grid *grid, int axis, int64_t nx, const double *here, double *mean)
{
    int64_t plane = grid->n[1] * grid->n[2], stride = axis == 0 ? plane : axis == 1 ? grid->n[2] : 1;
    for (int64_t i = 0; i < nx * plane; i++) {
        int64_t y = i / grid->n[2] % grid->n[1], z = i % grid->n[2];
        bool last = (axis == 1 && y + 1 == grid->n[1]) || (axis == 2 && z + 1 == grid->n[2]);
        mean[i] = last ? here[i] : 0.5 * (here[i] + here[i + stride]);
    }
}

/* A map as one number or a field; staggered along `axis`, or not (-1). */
static herr_t put_map(kw_writer *writer, const char *name, kw_quantity quantity, int axis)
{
    const kw_problem *problem = writer->problem;
    const kw_grid *grid = &problem->grid;
    int64_t plane = grid->n[1] * grid->n[2];
    if (kw_map_is_constant(&problem->map[quantity]) && quantity != KW_QUANTITY_P0)
        return put_real(writer, name, problem->map[quantity].min);
    kw_layout_of layout = {.rank = 3,
                           .dim = {grid->n[2], grid->n[1], grid->n[0]},
                           .chunk = {1, grid->n[1], grid->n[0]},
                           .chunked = true,
                           .compression = problem->compression};
    int64_t step = (INT64_C(4) << 20) / plane > 1 ? (INT64_C(4) << 20) / plane : 1;
    hid_t dataset = kw_kwave_make(writer->file, name, false, &layout);
    double *slab = malloc((size_t)((step + 1) * plane) * 2 * sizeof *slab);
    float *turned = malloc((size_t)(step * plane) * sizeof *turned);
    herr_t result = dataset < 0 ? -1 : 0;
    if (slab == NULL || turned == NULL) writer->status = kw_fail(KW_ERR_RESOURCE, "no memory for %s", name);
    for (int64_t x0 = 0; x0 < grid->n[0] && result >= 0 && writer->status == KW_OK; x0 += step) {
        int64_t nx = grid->n[0] - x0 < step ? grid->n[0] - x0 : step, more = axis == 0 && x0 + nx < grid->n[0] ? 1 : 0;
        double *mean = slab + (step + 1) * plane;
        writer->status = writer->fields->read(writer->fields->self, quantity, x0, nx + more, KW_DOUBLE, slab);
        if (writer->status != KW_OK) break;
        if (axis == 0 && more == 0) memcpy(slab + nx * plane, slab + (nx - 1) * plane, (size_t)plane * sizeof *slab);
        if (axis >= 0) stagger(grid, axis, nx, slab, mean);
        result = write_slab(dataset, grid, x0, nx, axis >= 0 ? mean : slab, turned);
    }
    free(slab);
    free(turned);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    return writer->status != KW_OK ? -1 : result;
}

static herr_t put_medium(kw_writer *writer)
{
    const kw_problem *problem = writer->problem;
    const kw_absorption *absorption = &problem->absorption;
    KW_PUT(put_map(writer, "c0", KW_QUANTITY_C0, -1));
    KW_PUT(put_map(writer, "rho0", KW_QUANTITY_RHO0, -1));
    KW_PUT(put_map(writer, "rho0_sgx", KW_QUANTITY_RHO0, 0));
    KW_PUT(put_map(writer, "rho0_sgy", KW_QUANTITY_RHO0, 1));
    if (!is_flat(writer)) KW_PUT(put_map(writer, "rho0_sgz", KW_QUANTITY_RHO0, 2));
    KW_PUT(put_count(writer, "nonlinear_flag", problem->nonlinear));
    if (problem->nonlinear) KW_PUT(put_map(writer, "BonA", KW_QUANTITY_BONA, -1));
    bool stokes = absorption->on && absorption->power == 2.0;
    KW_PUT(put_count(writer, "absorbing_flag", stokes ? 2 : absorption->on ? 1 : 0));
    if (absorption->on) KW_PUT(put_map(writer, "alpha_coeff", KW_QUANTITY_ALPHA, -1));
    if (absorption->on) KW_PUT(put_real(writer, "alpha_power", absorption->power));
    KW_PUT(put_count(writer, "p0_source_flag", problem->has_p0));
    return problem->has_p0 ? put_map(writer, "p0_source_input", KW_QUANTITY_P0, -1) : 0;
}

/* ---- lists ---- */

/* Number of a grid point in the file: x fastest, from 1. */
static int64_t file_index(const kw_grid *grid, const int64_t index[3])
{
    return 1 + index[0] + grid->n[0] * (index[1] + grid->n[1] * index[2]);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static herr_t put_list(const kw_writer *writer, const char *name, bool integer, const double *value, int64_t a,
                       int64_t b)
{
    kw_layout_of layout = {.rank = 3, .dim = {1, a, b}};
    const int64_t zero[3] = {0};
    hid_t dataset = kw_kwave_make(writer->file, name, integer, &layout);
    herr_t result = dataset < 0 ? -1 : kw_write_block(dataset, H5T_NATIVE_DOUBLE, zero, layout.dim, value);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    return result;
}

/* ---- sources ---- */

static bool is_of(const kw_source *source, bool velocity)
{
    return (source->quantity >= KW_SOURCE_UX && source->quantity <= KW_SOURCE_UZ) == velocity;
}

/* The points of all sources of one kind, each once, in the file's order; owned by the caller. */
static int64_t *list_points(const kw_problem *problem, bool velocity, int64_t *count)
{
    int64_t all = 0;
    for (int64_t s = 0; s < problem->source_count; s++)
        if (is_of(&problem->sources[s], velocity)) all += problem->sources[s].count;
    int64_t *point = malloc((size_t)all * sizeof *point + 1), used = 0;
    *count = 0;
    if (point == NULL) return NULL;
    for (int64_t s = 0; s < problem->source_count; s++)
        for (int64_t i = 0; i < problem->sources[s].count && is_of(&problem->sources[s], velocity); i++)
            point[used++] = file_index(&problem->grid, problem->sources[s].index + 3 * i);
    qsort(point, (size_t)all, sizeof *point, by_value);
    for (int64_t i = 0; i < all; i++)
        if (i == 0 || point[i] != point[i - 1]) point[(*count)++] = point[i];
    return point;
}

static int64_t find_point(const int64_t *point, int64_t count, int64_t wanted)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (point[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds what a source puts into its points, [step][point]; a Dirichlet source sets it. */
static kw_status add_signals(const kw_writer *writer, const kw_source *source, const int64_t *point, int64_t count,
                             int64_t steps, double *value)
{
    double *scale = malloc((size_t)source->count * sizeof *scale + 1);
    if (scale == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
    kw_status status = kw_source_scales(writer->problem, source, writer->fields, scale);
    for (int64_t i = 0; i < source->count && status == KW_OK; i++) {
        int64_t at = find_point(point, count, file_index(&writer->problem->grid, source->index + 3 * i));
        for (int64_t n = 0; n < steps; n++) {
            double one = scale[i] * kw_source_value(source, i, n);
            value[n * count + at] = source->mode == KW_DIRICHLET ? one : value[n * count + at] + one;
        }
    }
    free(scale);
    return status;
}

/* Steps in which sources of the quantities from `first` to `last` act. */
static int64_t acting_steps(const kw_problem *problem, int first, int last)
{
    int64_t most = 0;
    for (int64_t s = 0; s < problem->source_count; s++) {
        const kw_source *source = &problem->sources[s];
        int quantity = source->quantity == KW_SOURCE_VOLUME ? KW_SOURCE_P : (int)source->quantity;
        if (quantity < first || quantity > last) continue;
        int64_t steps = source->after != KW_AFTER_STOP ? problem->time.steps : source->act_steps;
        most = steps > most ? steps : most;
    }
    return most < problem->time.steps ? most : problem->time.steps;
}

static herr_t put_input(kw_writer *writer, const char *name, int quantity, const int64_t *point, int64_t count)
{
    const kw_problem *problem = writer->problem;
    int64_t steps = acting_steps(problem, quantity, quantity);
    writer->status = kw_machine_need(8.0 * (double)steps * (double)count, name);
    double *value = writer->status == KW_OK ? calloc((size_t)(steps * count) + 1, sizeof *value) : NULL;
    if (writer->status == KW_OK && value == NULL) writer->status = kw_fail(KW_ERR_RESOURCE, "no memory for %s", name);
    for (int64_t s = 0; s < problem->source_count && writer->status == KW_OK; s++) {
        const kw_source *source = &problem->sources[s];
        int own = source->quantity == KW_SOURCE_VOLUME ? KW_SOURCE_P : (int)source->quantity;
        if (own == quantity) writer->status = add_signals(writer, source, point, count, steps, value);
    }
    herr_t result = writer->status == KW_OK ? put_list(writer, name, false, value, steps, count) : -1;
    free(value);
    return result;
}

static herr_t put_points(kw_writer *writer, const char *name, const int64_t *point, int64_t count)
{
    double *value = malloc((size_t)count * sizeof *value + 1);
    if (value == NULL) return -1;
    for (int64_t i = 0; i < count; i++) value[i] = (double)point[i];
    herr_t result = put_list(writer, name, true, value, 1, count);
    free(value);
    return result;
}

static herr_t put_kind(kw_writer *writer, bool velocity, kw_source_mode mode)
{
    static const char *const flag[] = {"p_source_flag", "ux_source_flag", "uy_source_flag", "uz_source_flag"};
    static const char *const input[] = {"p_source_input", "ux_source_input", "uy_source_input", "uz_source_input"};
    static const int64_t modes[] = {2, 1, 0}; /* by kw_source_mode */
    int64_t count, *point = list_points(writer->problem, velocity, &count);
    if (point == NULL) return -1;
    herr_t result = put_points(writer, velocity ? "u_source_index" : "p_source_index", point, count);
    if (result >= 0) result = put_count(writer, velocity ? "u_source_many" : "p_source_many", 1);
    if (result >= 0) result = put_count(writer, velocity ? "u_source_mode" : "p_source_mode", modes[mode]);
    for (int q = velocity ? KW_SOURCE_UX : KW_SOURCE_P; q <= (velocity ? KW_SOURCE_UZ : KW_SOURCE_P) && result >= 0;
         q++) {
        int64_t steps = acting_steps(writer->problem, q, q);
        if (steps > 0) result = put_input(writer, input[q], q, point, count);
        if (result >= 0) result = put_count(writer, flag[q], steps);
    }
    free(point);
    return result;
}

static herr_t put_sources(kw_writer *writer)
{
    const kw_problem *problem = writer->problem;
    bool have[2] = {false, false};
    kw_source_mode mode[2] = {KW_ADDITIVE, KW_ADDITIVE};
    for (int64_t s = 0; s < problem->source_count; s++) {
        bool velocity = is_of(&problem->sources[s], true);
        have[velocity] = true;
        mode[velocity] = problem->sources[s].mode;
    }
    if (have[0]) KW_PUT(put_kind(writer, false, mode[0]));
    if (have[1]) KW_PUT(put_kind(writer, true, mode[1]));
    if (!have[0]) KW_PUT(put_count(writer, "p_source_flag", 0));
    for (int i = 0; i < 3 && !have[1]; i++) {
        static const char *const flag[] = {"ux_source_flag", "uy_source_flag", "uz_source_flag"};
        KW_PUT(put_count(writer, flag[i], 0));
    }
    return 0;
}

/* ---- sensors ---- */

static herr_t put_corners(const kw_writer *writer)
{
    const kw_problem *problem = writer->problem;
    double *value = malloc((size_t)problem->set_count * 6 * sizeof *value);
    if (value == NULL) return -1;
    for (int64_t s = 0; s < problem->set_count; s++)
        for (int i = 0; i < 3; i++) {
            value[6 * s + i] = (double)(problem->sets[s].box.lo[i] + 1);
            value[6 * s + 3 + i] = (double)problem->sets[s].box.hi[i];
        }
    herr_t result = put_list(writer, "sensor_mask_corners", true, value, problem->set_count, 6);
    free(value);
    return result;
}

/* Boxes as corners if there are only boxes, else every row as an index, in their order. */
static herr_t put_sensors(kw_writer *writer)
{
    const kw_problem *problem = writer->problem;
    bool boxes = problem->set_count > 0;
    int64_t rows = kw_sensor_count(problem);
    for (int64_t s = 0; s < problem->set_count; s++) boxes &= problem->sets[s].kind == KW_SENSOR_BOX;
    KW_PUT(put_count(writer, "sensor_mask_type", boxes));
    if (boxes) return put_corners(writer);
    if (rows == 0) return 0;
    int64_t *point = malloc((size_t)rows * sizeof *point);
    if (point == NULL) return -1;
    for (int64_t i = 0; i < rows; i++) point[i] = file_index(&problem->grid, kw_sensor_locate(problem, i).index);
    herr_t result = put_points(writer, "sensor_mask_index", point, rows);
    free(point);
    return result;
}

static herr_t write_all(kw_writer *writer)
{
    KW_PUT(put_root(writer));
    KW_PUT(put_grid(writer));
    KW_PUT(put_medium(writer));
    KW_PUT(put_sources(writer));
    return put_sensors(writer);
}

kw_status kw_kwave_write(const char *path, bool force, const kw_problem *problem, const kw_field_source *fields)
{
    kw_writer writer = {.problem = problem, .fields = fields, .path = path};
    KW_TRY(check(problem));
    kw_hdf5_watch();
    char part[4200];
    if (kw_refuse_existing(path, force, "") != KW_OK)
        return kw_fail(KW_ERR_RUN, "\"%s\" exists or is no file; take another name, or --force to replace it", path);
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return kw_fail(KW_ERR_RUN, "\"%s\" is too long", path);
    writer.file = H5Fcreate(part, force ? H5F_ACC_TRUNC : H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    if (writer.file < 0) return kw_fail(KW_ERR_RUN, "cannot write \"%s\": %s", part, kw_hdf5_reason());
    herr_t result = write_all(&writer);
    if (H5Fclose(writer.file) < 0) result = -1;
    if (result >= 0 && rename(part, path) == 0) return KW_OK;
    if (result >= 0) kw_fail(KW_ERR_RUN, "cannot rename \"%s\" to \"%s\"", part, path);
    unlink(part);
    if (result >= 0) return KW_ERR_RUN;
    return writer.status != KW_OK ? writer.status
                                  : kw_fail(KW_ERR_RUN, "cannot write \"%s\": %s", path, kw_hdf5_reason());
}
