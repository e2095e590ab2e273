/* k-Wave's input files as problems. */
#include <hdf5.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kwsim/dataset.h"
#include "kwsim/kwave.h"
#include "kwsim/log.h"
#include "kwsim/machine.h"
#include "kwsim/recording.h"

typedef struct kw_reader {
    const char *path;
    const kw_kwave_request *request;
    kw_problem *problem;
    hid_t file;
    int minor;    /* of the format's version */
    int64_t n[3]; /* Nx, Ny, Nz */
} kw_reader;

static kw_status wrong(const kw_reader *reader, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static kw_status wrong(const kw_reader *reader, const char *name, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return kw_fail(KW_ERR_SCENE, "%s: %s: %s", reader->path, name, text);
}

bool kw_kwave_is(const char *path)
{
    struct stat st;
    kw_hdf5_watch();
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0 && H5Fis_hdf5(path) > 0;
}

/* ---- attributes ---- */

/* A string attribute of fixed or variable length, its end blanks and zeros off; "" if there is none. */
static void read_text(hid_t at, const char *name, char *text, size_t size)
{
    text[0] = '\0';
    if (H5Aexists(at, name) <= 0) return;
    hid_t attribute = H5Aopen(at, name, H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    bool text_like =
        type >= 0 && H5Tget_class(type) == H5T_STRING && space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    if (text_like && H5Tis_variable_str(type) > 0) {
        char *held = NULL;
        if (H5Aread(attribute, type, &held) >= 0 && held != NULL) snprintf(text, size, "%s", held);
        if (held != NULL) H5free_memory(held);
    } else if (text_like) {
        size_t length = H5Tget_size(type);
        char *held = calloc(1, length + 1);
        if (held != NULL && H5Aread(attribute, type, held) >= 0) snprintf(text, size, "%s", held);
        free(held);
    }
    for (size_t end = strlen(text); end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\n'); end--)
        text[end - 1] = '\0';
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    if (attribute >= 0) H5Aclose(attribute);
}

static kw_status read_version(kw_reader *reader)
{
    char type[40], major[40], minor[40], description[600];
    read_text(reader->file, "file_type", type, sizeof type);
    read_text(reader->file, "major_version", major, sizeof major);
    read_text(reader->file, "minor_version", minor, sizeof minor);
    read_text(reader->file, "file_description", description, sizeof description);
    if (strcmp(type, "input") != 0)
        return wrong(reader, "file_type",
                     "must be \"input\", got \"%s\": this HDF5 file is no k-Wave input, and no scene (text) either",
                     type);
    if (major[0] == '\0' || minor[0] == '\0')
        return wrong(reader, "major_version, minor_version",
                     "missing, or not text: they must be \"1\" and \"0\", \"1\" or \"2\"");
    if (strcmp(major, "1") != 0 || strlen(minor) != 1 || minor[0] < '0' || minor[0] > '2')
        return wrong(reader, "major_version, minor_version", "formats 1.0, 1.1 and 1.2 are read, this is \"%s\".\"%s\"",
                     major, minor);
    reader->minor = minor[0] - '0';
    reader->problem->kwave.description = strdup(description);
    return reader->problem->kwave.description != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory");
}

/* ---- datasets ---- */

static bool has(const kw_reader *reader, const char *name) { return H5Lexists(reader->file, name, H5P_DEFAULT) > 0; }

/* A dataset of this file itself: links lead to other files, or nowhere. */
static kw_status check_link(const kw_reader *reader, const char *name)
{
    H5L_info_t link;
    if (!has(reader, name)) return wrong(reader, name, "missing");
    if (H5Lget_info(reader->file, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
        return wrong(reader, name, "must be a dataset of the file itself, not a link");
    hid_t object = H5Oopen(reader->file, name, H5P_DEFAULT);
    bool is_dataset = object >= 0 && H5Iget_type(object) == H5I_DATASET;
    if (object >= 0) H5Oclose(object);
    return is_dataset ? KW_OK : wrong(reader, name, "must be a dataset");
}

/* Opens a dataset, checking type and what its attribute says of it; *count is its number of elements. */
static kw_status open_dataset(const kw_reader *reader, const char *name, bool integer, kw_dataset *dataset,
                              int64_t *count)
{
    char declared[40];
    KW_TRY(check_link(reader, name));
    if (kw_dataset_open(reader->path, name, dataset) != KW_OK) return wrong(reader, name, "%s", kw_error_message());
    read_text((hid_t)dataset->handle[1], "data_type", declared, sizeof declared);
    kw_status status = KW_OK;
    if (dataset->integer != integer)
        status = wrong(reader, name, "must hold %s", integer ? "64-bit integers" : "floating-point numbers");
    if (status == KW_OK && declared[0] != '\0' && strcmp(declared, integer ? "long" : "float") != 0)
        status = wrong(reader, name, "its attribute data_type must be \"%s\", got \"%s\"", integer ? "long" : "float",
                       declared);
    *count = 1;
    for (int i = 0; i < dataset->rank; i++) {
        if (dataset->dim[i] > 0 && *count > (INT64_C(1) << 53) / dataset->dim[i])
            status = wrong(reader, name, "has too many elements");
        else
            *count *= dataset->dim[i];
    }
    if (status == KW_OK && *count < 1) status = wrong(reader, name, "is empty");
    if (status != KW_OK) kw_dataset_close(dataset);
    return status;
}

/* A whole dataset; `wanted` < 0: any number of elements. Owned by the caller. */
static kw_status read_all(const kw_reader *reader, const char *name, bool integer, int64_t wanted, int64_t *count,
                          double **value)
{
    kw_dataset dataset;
    *value = NULL;
    KW_TRY(open_dataset(reader, name, integer, &dataset, count));
    kw_status status = KW_OK;
    if (wanted >= 0 && *count != wanted)
        status = wrong(reader, name, "must have %lld elements, got %lld", (long long)wanted, (long long)*count);
    if (status == KW_OK) status = kw_machine_need(8.0 * (double)*count, name);
    if (status == KW_OK) *value = malloc((size_t)*count * sizeof **value);
    if (status == KW_OK && *value == NULL) status = kw_fail(KW_ERR_RESOURCE, "no memory for %s", name);
    if (status == KW_OK && kw_dataset_read(&dataset, 0, dataset.rank > 0 ? dataset.dim[0] : 1, *value) != KW_OK)
        status = wrong(reader, name, "%s", kw_error_message());
    kw_dataset_close(&dataset);
    for (int64_t i = 0; status == KW_OK && i < *count; i++)
        if (!isfinite((*value)[i]))
            status = wrong(reader, name, "must be finite, got %g in element %lld", (*value)[i], (long long)i);
    if (status != KW_OK) {
        free(*value);
        *value = NULL;
    }
    return status;
}

static kw_status read_number(const kw_reader *reader, const char *name, bool integer, double least, double most,
                             double *value)
{
    int64_t count;
    double *one;
    KW_TRY(read_all(reader, name, integer, 1, &count, &one));
    *value = one[0];
    free(one);
    if (*value >= least && *value <= most) return KW_OK;
    return wrong(reader, name, "must be %g to %g, got %g", least, most, *value);
}

static kw_status read_integer(const kw_reader *reader, const char *name, double least, double most, int64_t *value)
{
    double number;
    KW_TRY(read_number(reader, name, true, least, most, &number));
    *value = (int64_t)number;
    return KW_OK;
}

/* 0 where the dataset is absent. */
static kw_status read_flag(const kw_reader *reader, const char *name, double most, int64_t *value)
{
    *value = 0;
    return has(reader, name) ? read_integer(reader, name, 0, most, value) : KW_OK;
}

/* ---- grid, time, what is refused ---- */

static kw_status refuse(const kw_reader *reader, const char *name, const char *what)
{
    int64_t value;
    KW_TRY(read_flag(reader, name, 0x1p53, &value));
    return value == 0 ? KW_OK : wrong(reader, name, "%s", what);
}

static kw_status read_grid(kw_reader *reader)
{
    static const char *const size[] = {"Nx", "Ny", "Nz"}, *const spacing[] = {"dx", "dy", "dz"};
    static const char *const pml[] = {"pml_x_size", "pml_y_size", "pml_z_size"};
    static const char *const alpha[] = {"pml_x_alpha", "pml_y_alpha", "pml_z_alpha"};
    kw_problem *problem = reader->problem;
    for (int i = 0; i < 3; i++) {
        int ours = 2 - i;
        KW_TRY(read_integer(reader, size[i], 1, 1048576, &reader->n[i]));
        problem->user.n[ours] = reader->n[i];
        problem->user.h[ours] = 1.0;
        problem->pml.alpha[ours] = 2.0;
        if (reader->n[i] == 1 && i == 2) continue; /* 2-D files have no dz */
        KW_TRY(read_number(reader, spacing[i], false, 1e-30, 1e30, &problem->user.h[ours]));
        KW_TRY(read_integer(reader, pml[i], 0, 1048576, &problem->pml.size[ours]));
        KW_TRY(read_number(reader, alpha[i], false, 0, 1e30, &problem->pml.alpha[ours]));
        if (reader->n[i] == 1) problem->pml.size[ours] = 0;
    }
    problem->grid = problem->user;
    problem->inner = kw_grid_box(&problem->grid);
    if (kw_grid_dims(&problem->grid) == 0)
        return wrong(reader, "Nx, Ny, Nz", "at least one axis must have more than one point");
    if (kw_pml_check(&problem->grid, &problem->pml) != KW_OK)
        return wrong(reader, "pml_*_size", "in kwsim's order of axes, %s", kw_error_message());
    return KW_OK;
}

static kw_status read_time(kw_reader *reader)
{
    kw_time *time = &reader->problem->time;
    KW_TRY(read_integer(reader, "Nt", 1, 0x1p53, &time->asked_steps));
    KW_TRY(read_number(reader, "dt", false, 1e-30, 1e30, &time->asked_dt));
    KW_TRY(read_number(reader, "c_ref", false, 1e-6, 1e9, &reader->problem->asked_c_ref));
    if (reader->request->steps > 0) time->asked_steps = reader->request->steps;
    time->allow_unstable = true; /* runs what the original runs; what is above the limit is warned of */
    return KW_OK;
}

static kw_status refuse_others(const kw_reader *reader)
{
    KW_TRY(refuse(reader, "nonuniform_grid_flag", "kwsim has no non-uniform grids"));
    KW_TRY(refuse(reader, "axisymmetric_flag", "kwsim does not simulate axisymmetric media; a 3-D grid does"));
    KW_TRY(refuse(reader, "elastic_flag", "kwsim does not simulate elastic media"));
    static const char *const stress[] = {"sxx_source_flag", "syy_source_flag", "szz_source_flag",
                                         "sxy_source_flag", "sxz_source_flag", "syz_source_flag"};
    for (size_t i = 0; i < sizeof stress / sizeof stress[0]; i++)
        KW_TRY(refuse(reader, stress[i], "kwsim has no stress sources"));
    return KW_OK;
}

/* ---- medium ---- */

/* A number or a whole field. */
static kw_status read_map(const kw_reader *reader, const char *name, kw_quantity quantity)
{
    kw_map *map = &reader->problem->map[quantity];
    kw_dataset dataset;
    int64_t count;
    char where[600], shape[120];
    KW_TRY(open_dataset(reader, name, false, &dataset, &count));
    kw_dataset_shape(&dataset, shape, sizeof shape);
    bool field = dataset.rank == 3 && count > 1;
    for (int i = 0; field && i < 3; i++) field = dataset.dim[i] == reader->problem->grid.n[i];
    kw_dataset_close(&dataset);
    snprintf(where, sizeof where, "%s: %s", reader->path, name);
    free(map->where);
    map->where = strdup(where);
    if (map->where == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    if (count == 1) {
        KW_TRY(read_number(reader, name, false, -1e30, 1e30, &map->value));
        map->min = map->max = map->value;
        return KW_OK;
    }
    if (!field)
        return wrong(reader, name, "must be one number or Nz x Ny x Nx = %lld x %lld x %lld, got %s",
                     (long long)reader->n[2], (long long)reader->n[1], (long long)reader->n[0], shape);
    map->file = strdup(reader->path);
    map->dataset = strdup(name);
    map->min = -INFINITY;
    map->max = INFINITY;
    return map->file != NULL && map->dataset != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory");
}

/* Are the densities at staggered points the means of neighbours, as kwsim makes them itself? Plane by plane. */
static kw_status compare_staggered(const kw_reader *reader, bool *same)
{
    static const char *const name[] = {"rho0", "rho0_sgz", "rho0_sgy", "rho0_sgx"}; /* by our axes */
    const kw_grid *grid = &reader->problem->grid;
    int64_t points = grid->n[1] * grid->n[2], count;
    kw_dataset dataset[4];
    memset(dataset, 0, sizeof dataset);
    double *plane = malloc((size_t)points * 3 * sizeof *plane);
    kw_status status = plane != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory");
    for (int i = 0; i < 4 && status == KW_OK; i++)
        if (i == 0 || kw_axis_active(grid, i - 1)) status = open_dataset(reader, name[i], false, &dataset[i], &count);
    double *here = plane, *next = plane + points, *given = plane + 2 * points;
    *same = true;
    for (int64_t x = 0; x < grid->n[0] && status == KW_OK && *same; x++) {
        status = kw_dataset_read(&dataset[0], x, 1, here);
        if (status == KW_OK && x + 1 < grid->n[0]) status = kw_dataset_read(&dataset[0], x + 1, 1, next);
        for (int axis = 0; axis < 3 && status == KW_OK; axis++) {
            if (!kw_axis_active(grid, axis)) continue;
            status = kw_dataset_read(&dataset[axis + 1], x, 1, given);
            for (int64_t i = 0; i < points && status == KW_OK; i++) {
                int64_t y = i / grid->n[2], z = i % grid->n[2];
                double other = here[i];
                if (axis == 0 && x + 1 < grid->n[0]) other = next[i];
                if (axis == 1 && y + 1 < grid->n[1]) other = here[i + grid->n[2]];
                if (axis == 2 && z + 1 < grid->n[2]) other = here[i + 1];
                *same &= fabs(given[i] - 0.5 * (here[i] + other)) <= 1e-6 * fabs(given[i]);
            }
        }
    }
    for (int i = 0; i < 4; i++) kw_dataset_close(&dataset[i]);
    free(plane);
    return status;
}

/* rho0_sgx ... are used as given; where they are what kwsim makes of rho0 they take no memory. */
static kw_status read_staggered(const kw_reader *reader)
{
    static const char *const name[] = {"rho0_sgz", "rho0_sgy", "rho0_sgx"};
    kw_problem *problem = reader->problem;
    bool same = true, fields = problem->map[KW_QUANTITY_RHO0].file != NULL;
    for (int axis = 0; axis < 3; axis++) {
        if (!kw_axis_active(&problem->grid, axis)) continue;
        kw_map *map = &problem->map[KW_QUANTITY_RHO0_X + axis];
        KW_TRY(read_map(reader, name[axis], (kw_quantity)(KW_QUANTITY_RHO0_X + axis)));
        if (fields && map->file != NULL) continue;
        same &= !fields && map->file == NULL &&
                fabs(map->value - problem->map[KW_QUANTITY_RHO0].value) <= 1e-6 * map->value;
        fields &= map->file != NULL;
    }
    if (same && fields) KW_TRY(compare_staggered(reader, &same));
    problem->staggered = !same;
    return KW_OK;
}

static kw_status read_medium(kw_reader *reader)
{
    kw_problem *problem = reader->problem;
    int64_t nonlinear;
    KW_TRY(read_map(reader, "c0", KW_QUANTITY_C0));
    KW_TRY(read_map(reader, "rho0", KW_QUANTITY_RHO0));
    KW_TRY(read_staggered(reader));
    KW_TRY(read_flag(reader, "nonlinear_flag", 1, &nonlinear));
    KW_TRY(read_flag(reader, "absorbing_flag", 2, &problem->kwave.absorbing));
    problem->nonlinear = nonlinear != 0;
    if (problem->nonlinear) KW_TRY(read_map(reader, "BonA", KW_QUANTITY_BONA));
    if (problem->kwave.absorbing == 0) return KW_OK;
    problem->absorption = (kw_absorption){true, 2.0, true, true};
    KW_TRY(read_map(reader, "alpha_coeff", KW_QUANTITY_ALPHA));
    if (problem->kwave.absorbing == 2) return KW_OK;
    KW_TRY(read_number(reader, "alpha_power", false, 1e-6, 3.0 - 1e-6, &problem->absorption.power));
    if (problem->absorption.power == 1.0)
        return wrong(reader, "alpha_power", "must not be 1, where the dispersion is infinite");
    return KW_OK;
}

/* ---- indices ---- */

/* A list of 1-based indices, x fastest: our own dense order. */
static kw_status read_indices(const kw_reader *reader, const char *name, int64_t *count, int64_t **offset)
{
    double *value, points = (double)kw_grid_points(&reader->problem->grid);
    KW_TRY(read_all(reader, name, true, -1, count, &value));
    *offset = malloc((size_t)*count * sizeof **offset);
    kw_status status = *offset != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory for %s", name);
    for (int64_t i = 0; i < *count && status == KW_OK; i++) {
        if (!(value[i] >= 1.0 && value[i] <= points))
            status = wrong(reader, name, "element %lld must be 1 to %.0f, got %.0f", (long long)i, points, value[i]);
        else
            (*offset)[i] = (int64_t)value[i] - 1;
    }
    free(value);
    if (status != KW_OK) free(*offset);
    return status;
}

static void split_offset(const kw_grid *grid, int64_t offset, int64_t index[3])
{
    index[2] = offset % grid->n[2];
    index[1] = offset / grid->n[2] % grid->n[1];
    index[0] = offset / grid->n[2] / grid->n[1];
}

/* ---- sources ---- */

static kw_status add_source(const kw_reader *reader, const char *name, kw_source_quantity quantity, int64_t mode,
                            const int64_t *offset, int64_t count, kw_source **added)
{
    static const kw_source_mode modes[] = {KW_DIRICHLET, KW_ADDITIVE_NO_CORRECTION, KW_ADDITIVE};
    char where[600];
    kw_problem *problem = reader->problem;
    kw_source *source = &problem->sources[problem->source_count++];
    snprintf(where, sizeof where, "%s: %s", reader->path, name);
    *source = (kw_source){
        .quantity = quantity, .mode = modes[mode], .prescaled = true, .count = count, .where = strdup(where)};
    source->index = malloc((size_t)count * 3 * sizeof *source->index);
    if (source->index == NULL || source->where == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
    for (int64_t i = 0; i < count; i++) split_offset(&problem->grid, offset[i], source->index + 3 * i);
    *added = source;
    return KW_OK;
}

/* Signals of one dataset: one, or [sample][point]. The flag is the number of samples. */
static kw_status read_signals(const kw_reader *reader, const char *name, int64_t samples, bool many, kw_source *source)
{
    int64_t count, rows = many ? source->count : 1;
    double *value;
    KW_TRY(read_all(reader, name, false, -1, &count, &value));
    kw_status status = KW_OK;
    if (count % rows != 0 || count / rows != samples) /* no product of what the file says: it may overflow */
        status = wrong(reader, name, "has %lld elements, and its flag says %lld samples of %lld signals",
                       (long long)count, (long long)samples, (long long)rows);
    source->signals = rows;
    source->samples = samples;
    source->signal = status == KW_OK ? malloc((size_t)count * sizeof *source->signal) : NULL;
    if (status == KW_OK && source->signal == NULL)
        status = kw_fail(KW_ERR_RESOURCE, "no memory for the sources' signals");
    for (int64_t i = 0; i < rows && status == KW_OK; i++)
        for (int64_t n = 0; n < samples; n++) source->signal[i * samples + n] = value[n * rows + i];
    free(value);
    return status;
}

static kw_status read_pressure_source(const kw_reader *reader)
{
    kw_kwave *kwave = &reader->problem->kwave;
    int64_t count, *offset;
    kw_source *source;
    if (kwave->flag[3] == 0) return KW_OK;
    KW_TRY(read_integer(reader, "p_source_mode", 0, 2, &kwave->p_mode));
    KW_TRY(read_integer(reader, "p_source_many", 0, 1, &kwave->p_many));
    KW_TRY(read_indices(reader, "p_source_index", &count, &offset));
    kw_status status = add_source(reader, "p_source_input", KW_SOURCE_P, kwave->p_mode, offset, count, &source);
    free(offset);
    KW_TRY(status);
    return read_signals(reader, "p_source_input", kwave->flag[3], kwave->p_many != 0, source);
}

/* The transducer drives ux with one signal, delayed by whole samples: element i adds input[n + delay_mask[i] - 1]. */
static kw_status read_transducer(const kw_reader *reader, const int64_t *offset, int64_t count)
{
    int64_t steps = reader->problem->kwave.flag[5], samples, delays, rows = 0;
    double *input = NULL, *delay = NULL;
    kw_source *source;
    KW_TRY(read_all(reader, "transducer_source_input", false, -1, &samples, &input));
    kw_status status = read_all(reader, "delay_mask", true, count, &delays, &delay);
    for (int64_t i = 0; i < count && status == KW_OK; i++) {
        if (delay[i] < 1.0 || delay[i] - 1.0 + (double)steps > (double)samples)
            status =
                wrong(reader, "delay_mask",
                      "element %lld must be 1 to %lld, got %.0f: the signal has %lld samples, %lld are driven",
                      (long long)i, (long long)(samples - steps + 1), delay[i], (long long)samples, (long long)steps);
        else if ((int64_t)delay[i] > rows)
            rows = (int64_t)delay[i];
    }
    if (status == KW_OK) status = kw_machine_need(8.0 * (double)rows * (double)steps, "the transducer's signals");
    if (status == KW_OK)
        status = add_source(reader, "transducer_source_input", KW_SOURCE_UZ, 1, offset, count, &source);
    if (status == KW_OK) {
        source->signals = rows;
        source->samples = steps;
        source->signal = malloc((size_t)(rows * steps) * sizeof *source->signal);
        source->row = malloc((size_t)count * sizeof *source->row);
        if (source->signal == NULL || source->row == NULL)
            status = kw_fail(KW_ERR_RESOURCE, "no memory for the sources' signals");
    }
    for (int64_t i = 0; i < count && status == KW_OK; i++) source->row[i] = (int64_t)delay[i] - 1;
    for (int64_t row = 0; row < rows && status == KW_OK; row++)
        for (int64_t n = 0; n < steps; n++) source->signal[row * steps + n] = n + row < samples ? input[n + row] : 0.0;
    free(input);
    free(delay);
    return status;
}

static kw_status read_velocity_sources(const kw_reader *reader)
{
    static const char *const input[] = {"ux_source_input", "uy_source_input", "uz_source_input"};
    kw_kwave *kwave = &reader->problem->kwave;
    int64_t count, *offset;
    bool velocity = kwave->flag[0] > 0 || kwave->flag[1] > 0 || kwave->flag[2] > 0;
    if (!velocity && kwave->flag[5] == 0) return KW_OK;
    if (velocity) KW_TRY(read_integer(reader, "u_source_mode", 0, 2, &kwave->u_mode));
    if (velocity) KW_TRY(read_integer(reader, "u_source_many", 0, 1, &kwave->u_many));
    KW_TRY(read_indices(reader, "u_source_index", &count, &offset));
    kw_status status = KW_OK;
    for (int i = 0; i < 3 && status == KW_OK; i++) {
        kw_source *source;
        if (kwave->flag[i] == 0) continue;
        if (reader->n[i] == 1) status = wrong(reader, input[i], "points along an axis of one point");
        if (status == KW_OK)
            status = add_source(reader, input[i], (kw_source_quantity)(KW_SOURCE_UX + 2 - i), kwave->u_mode, offset,
                                count, &source);
        if (status == KW_OK) status = read_signals(reader, input[i], kwave->flag[i], kwave->u_many != 0, source);
    }
    if (status == KW_OK && kwave->flag[5] > 0) status = read_transducer(reader, offset, count);
    free(offset);
    return status;
}

static kw_status read_sources(kw_reader *reader)
{
    static const char *const flags[] = {"ux_source_flag", "uy_source_flag", "uz_source_flag",
                                        "p_source_flag",  "p0_source_flag", "transducer_source_flag"};
    kw_problem *problem = reader->problem;
    problem->kwave.u_mode = problem->kwave.u_many = problem->kwave.p_mode = problem->kwave.p_many = -1;
    for (int i = 0; i < 6; i++) KW_TRY(read_flag(reader, flags[i], i == 4 ? 1 : 0x1p53, &problem->kwave.flag[i]));
    problem->sources = calloc(6, sizeof *problem->sources);
    if (problem->sources == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
    problem->has_p0 = problem->kwave.flag[4] != 0;
    if (problem->has_p0) KW_TRY(read_map(reader, "p0_source_input", KW_QUANTITY_P0));
    KW_TRY(read_velocity_sources(reader));
    KW_TRY(read_pressure_source(reader));
    if (problem->has_p0 || problem->source_count > 0) return KW_OK;
    return wrong(reader, "*_source_flag", "there is no source: all are 0");
}

/* ---- sensors ---- */

static kw_status read_index_mask(const kw_reader *reader, kw_sensor_set *set)
{
    int64_t *offset;
    kw_problem *problem = reader->problem;
    KW_TRY(read_indices(reader, "sensor_mask_index", &set->count, &offset));
    set->rows = set->count;
    set->name = strdup("sensor_mask_index");
    set->position = malloc((size_t)set->count * 3 * sizeof *set->position);
    problem->set_count = 1;
    if (set->name == NULL || set->position == NULL) {
        free(offset);
        return kw_fail(KW_ERR_RESOURCE, "no memory for the sensors");
    }
    for (int64_t i = 0; i < set->count; i++) {
        int64_t index[3];
        split_offset(&problem->grid, offset[i], index);
        for (int a = 0; a < 3; a++) set->position[3 * i + a] = kw_grid_coordinate(&problem->grid, a, (double)index[a]);
    }
    free(offset);
    return KW_OK;
}

/* Each cuboid x1, y1, z1, x2, y2, z2, 1-based, both corners inside. */
static kw_status read_corners(const kw_reader *reader)
{
    int64_t count;
    double *corner;
    kw_problem *problem = reader->problem;
    KW_TRY(read_all(reader, "sensor_mask_corners", true, -1, &count, &corner));
    kw_status status = count % 6 == 0 ? KW_OK
                                      : wrong(reader, "sensor_mask_corners", "must have 6 numbers a cuboid, got %lld",
                                              (long long)count);
    free(problem->sets);
    problem->sets = calloc((size_t)(count / 6) + 1, sizeof *problem->sets);
    if (problem->sets == NULL) status = kw_fail(KW_ERR_RESOURCE, "no memory for the sensors");
    for (int64_t c = 0; c < count / 6 && status == KW_OK; c++) {
        kw_sensor_set *set = &problem->sets[c];
        char name[40];
        snprintf(name, sizeof name, "%lld", (long long)(c + 1));
        *set = (kw_sensor_set){.name = strdup(name), .first = kw_sensor_count(problem), .kind = KW_SENSOR_BOX};
        problem->set_count = c + 1;
        if (set->name == NULL) status = kw_fail(KW_ERR_RESOURCE, "no memory for the sensors");
        for (int i = 0; i < 3 && status == KW_OK; i++) {
            double low = corner[6 * c + i], high = corner[6 * c + 3 + i];
            if (!(low >= 1.0 && low <= high && high <= (double)reader->n[i]))
                status = wrong(reader, "sensor_mask_corners",
                               "cuboid %lld along %c: must be 1 <= first <= last <= %lld, got %.0f and %.0f",
                               (long long)(c + 1), 'x' + i, (long long)reader->n[i], low, high);
            set->box.lo[2 - i] = (int64_t)low - 1;
            set->box.hi[2 - i] = (int64_t)high;
        }
        set->rows = set->count = kw_box_points(&set->box);
        if (status == KW_OK && (double)set->first + (double)set->rows > 0x1p53)
            status = wrong(reader, "sensor_mask_corners", "has more than 2^53 points in all");
    }
    free(corner);
    return status;
}

static kw_status read_sensors(kw_reader *reader)
{
    kw_problem *problem = reader->problem;
    const kw_kwave_request *request = reader->request;
    bool needed = request->p || request->u || request->u_non_staggered || request->p_max || request->p_min ||
                  request->p_rms || request->u_max || request->u_min || request->u_rms || request->copy_mask;
    int64_t type = 0;
    problem->kwave.mask_type = -1;
    problem->sets = calloc(1, sizeof *problem->sets);
    if (problem->sets == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sensors");
    if (!needed && !has(reader, "sensor_mask_index") && !has(reader, "sensor_mask_corners")) return KW_OK;
    if (reader->minor >= 1) KW_TRY(read_flag(reader, "sensor_mask_type", 1, &type)); /* 1.0: always indices */
    problem->kwave.mask_type = (int)type;
    return type == 0 ? read_index_mask(reader, &problem->sets[0]) : read_corners(reader);
}

/* ---- recordings ---- */

static kw_status add_recording(const kw_reader *reader, kw_recording_kind kind)
{
    kw_problem *problem = reader->problem;
    kw_recording *r = &problem->recordings[problem->recording_count++];
    *r = (kw_recording){.kind = kind,
                        .set_count = kind == KW_RECORD_SENSORS ? problem->set_count : 0,
                        .box = problem->inner,
                        .cover = problem->inner,
                        .from = reader->request->start - 1,
                        .to = INT64_C(1) << 53,
                        .every = 1};
    r->name = strdup("");
    r->where = strdup("-s");
    return r->name != NULL && r->where != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory");
}

static kw_status make_recordings(kw_reader *reader)
{
    kw_problem *problem = reader->problem;
    const kw_kwave_request *q = reader->request;
    const unsigned p = 1u << KW_REC_P, u = kw_recording_components(&problem->grid, KW_REC_UX);
    const unsigned centred = kw_recording_components(&problem->grid, KW_REC_UX_CENTRED);
    problem->recordings = calloc(2, sizeof *problem->recordings);
    if (problem->recordings == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    if (q->u_non_staggered && reader->minor == 0)
        return kw_fail(KW_ERR_SCENE, "%s: --u_non_staggered_raw: not for files of format 1.0", reader->path);
    if (q->start > problem->time.asked_steps)
        return kw_fail(KW_ERR_SCENE, "%s: -s: the first recorded step must be 1 to Nt = %lld, got %lld", reader->path,
                       (long long)problem->time.asked_steps, (long long)q->start);
    kw_recording sensors = {.series = (q->p ? p : 0) | (q->u ? u : 0) | (q->u_non_staggered ? centred : 0),
                            .max = (q->p_max ? p : 0) | (q->u_max ? u : 0),
                            .min = (q->p_min ? p : 0) | (q->u_min ? u : 0),
                            .rms = (q->p_rms ? p : 0) | (q->u_rms ? u : 0)};
    kw_recording all = {.max = (q->p_max_all ? p : 0) | (q->u_max_all ? u : 0),
                        .min = (q->p_min_all ? p : 0) | (q->u_min_all ? u : 0)};
    if (kw_recording_needs(problem, &sensors) != 0) {
        KW_TRY(add_recording(reader, KW_RECORD_SENSORS));
        kw_recording *made = &problem->recordings[problem->recording_count - 1];
        made->series = sensors.series;
        made->max = sensors.max;
        made->min = sensors.min;
        made->rms = sensors.rms;
    }
    if (kw_recording_needs(problem, &all) != 0) {
        KW_TRY(add_recording(reader, KW_RECORD_GRID));
        kw_recording *made = &problem->recordings[problem->recording_count - 1];
        made->max = all.max;
        made->min = all.min;
    }
    problem->final = (q->p_final ? p : 0) | (q->u_final ? u : 0);
    return KW_OK;
}

static kw_status read_file(kw_reader *reader)
{
    kw_problem *problem = reader->problem;
    KW_TRY(read_version(reader));
    KW_TRY(refuse_others(reader));
    KW_TRY(read_grid(reader));
    KW_TRY(read_time(reader));
    KW_TRY(read_medium(reader));
    KW_TRY(read_sources(reader));
    KW_TRY(read_sensors(reader));
    KW_TRY(make_recordings(reader));
    problem->cpu_wisdom = true;
    problem->compression = reader->request->compression;
    problem->kwave.copy_mask = reader->request->copy_mask;
    problem->inputs = calloc(1, sizeof *problem->inputs);
    if (problem->inputs == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    problem->inputs[0] = strdup(reader->path);
    problem->input_count = 1;
    problem->output_file = strdup("output.h5");
    return problem->inputs[0] != NULL && problem->output_file != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory");
}

kw_status kw_kwave_load(const char *path, const kw_kwave_request *request, kw_problem *problem)
{
    kw_reader reader = {.path = path, .request = request, .problem = problem};
    *problem = (kw_problem){.scene_file = strdup(path), .kwave = {.on = true}};
    if (problem->scene_file == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    kw_hdf5_watch();
    reader.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    kw_status status =
        reader.file >= 0 ? KW_OK : kw_fail(KW_ERR_SCENE, "cannot open \"%s\" as HDF5: %s", path, kw_hdf5_reason());
    if (status == KW_OK) status = read_file(&reader);
    if (reader.file >= 0) H5Fclose(reader.file);
    if (status != KW_OK) kw_problem_free(problem);
    return status;
}
