#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/dataset.h"
#include "kwsim/machine.h"
#include "kwsim/recording.h"
#include "parts.h"

/* ---- points ---- */

/* A grid point has half a spacing around it that belongs to it. */
static kw_status check_points(const kw_node *node, const char *key, const kw_grid *grid, const kw_sensor_set *set)
{
    for (int64_t row = 0; row < set->count; row++)
        for (int i = 0; i < 3; i++) {
            double index = kw_grid_index(grid, i, set->position[3 * row + i]);
            if (index >= -0.5 - 1e-9 && index < (double)grid->n[i] - 0.5 + 1e-9) continue;
            return kw_node_fail(
                node, key, "point %lld is outside the grid along %c: %g m (index %.6g); allowed: %g to %g m",
                (long long)row, 'x' + i, set->position[3 * row + i], index, kw_grid_coordinate(grid, i, 0.0),
                kw_grid_coordinate(grid, i, (double)(grid->n[i] - 1)));
        }
    return KW_OK;
}

static void from_indices(const kw_grid *grid, kw_sensor_set *set)
{
    for (int64_t k = 0; k < 3 * set->count; k++)
        set->position[k] = kw_grid_coordinate(grid, (int)(k % 3), set->position[k]);
}

static kw_status read_listed(const kw_node *node, const char *key, kw_sensor_set *set)
{
    return kw_node_points(node, key, &set->count, &set->position);
}

static kw_status read_rows(const kw_dataset *dataset, bool integer, kw_sensor_set *set)
{
    char shape[120];
    kw_dataset_shape(dataset, shape, sizeof shape);
    if (dataset->rank != 2 || dataset->dim[1] != 3 || dataset->dim[0] < 1)
        return kw_fail(KW_ERR_SCENE, "\"%s\" must be points x 3 (x, y, z of each), got %s", dataset->name, shape);
    if (integer && !dataset->integer)
        return kw_fail(KW_ERR_SCENE, "\"%s\" must hold integers: grid indices, from 0", dataset->name);
    KW_TRY(kw_machine_need(3.0 * sizeof(double) * (double)dataset->dim[0], "the listed points"));
    set->count = dataset->dim[0];
    set->position = malloc((size_t)set->count * 3 * sizeof(double));
    if (set->position == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for %lld points", (long long)set->count);
    KW_TRY(kw_dataset_read(dataset, 0, set->count, set->position));
    for (int64_t k = 0; k < 3 * set->count; k++)
        if (!isfinite(set->position[k]))
            return kw_fail(KW_ERR_SCENE, "\"%s\" must be finite, got %g in row %lld", dataset->name, set->position[k],
                           (long long)(k / 3));
    return KW_OK;
}

static kw_status read_filed(const kw_node *parent, const char *key, bool integer, kw_sensor_set *set)
{
    kw_node node;
    kw_dataset dataset;
    char *path = NULL, *name = NULL;
    KW_TRY(kw_node_group(parent, key, &node));
    KW_TRY(kw_node_check_keys(&node, "file dataset"));
    kw_status status = kw_scene_file(&node, &path, &name);
    if (status == KW_OK) {
        status = kw_dataset_open(path, name, &dataset);
        if (status == KW_OK) status = read_rows(&dataset, integer, set);
        if (status == KW_ERR_SCENE) status = kw_node_fail(&node, "dataset", "%s", kw_error_message());
        kw_dataset_close(&dataset);
    }
    free(path);
    free(name);
    return status;
}

/* points: in m; points_index: grid indices. Each a list or { file, dataset }. */
static kw_status read_points(const kw_node *node, const char *key, const kw_grid *grid, kw_sensor_set *set)
{
    bool by_index = strcmp(key, "points_index") == 0;
    set->kind = KW_SENSOR_POINTS;
    if (kw_node_is_group(node, key))
        KW_TRY(read_filed(node, key, by_index, set));
    else
        KW_TRY(read_listed(node, key, set));
    if (by_index) from_indices(grid, set);
    return check_points(node, key, grid, set);
}

/* ---- boxes and planes ---- */

static kw_status close_box(const kw_node *node, const kw_grid *grid, const double lo[3], const double hi[3],
                           kw_sensor_set *set)
{
    set->kind = KW_SENSOR_BOX;
    for (int i = 0; i < 3; i++) {
        double n = (double)grid->n[i];
        if (lo[i] < -0.5 || hi[i] > n - 0.5)
            return kw_node_fail(node, NULL, "leaves the grid along %c: indices %.6g to %.6g; allowed: 0 to %lld",
                                'x' + i, lo[i], hi[i], (long long)(grid->n[i] - 1));
        set->box.lo[i] = (int64_t)fmax(ceil(lo[i] - 1e-6), 0.0);
        set->box.hi[i] = (int64_t)fmin(floor(hi[i] + 1e-6) + 1.0, n);
        if (set->box.hi[i] <= set->box.lo[i])
            return kw_node_fail(node, NULL, "holds no grid point along %c: indices %.6g to %.6g", 'x' + i, lo[i],
                                hi[i]);
    }
    set->count = kw_box_points(&set->box);
    return KW_OK;
}

static kw_status read_box(const kw_node *parent, const char *key, const kw_grid *grid, kw_sensor_set *set)
{
    bool by_index = strcmp(key, "box_index") == 0;
    double lo[3] = {0}, hi[3] = {0};
    kw_node node;
    KW_TRY(kw_node_group(parent, key, &node));
    KW_TRY(kw_node_check_keys(&node, "min max"));
    KW_TRY(kw_node_require(&node, "min", "the lowest corner [x, y, z]"));
    KW_TRY(kw_node_require(&node, "max", "the highest corner [x, y, z], itself inside"));
    KW_TRY(kw_node_reals3(&node, "min", KW_ANY(by_index ? "grid points" : "m"), false, lo));
    KW_TRY(kw_node_reals3(&node, "max", KW_ANY(by_index ? "grid points" : "m"), false, hi));
    for (int i = 0; i < 3 && !by_index; i++) {
        lo[i] = kw_grid_index(grid, i, lo[i]);
        hi[i] = kw_grid_index(grid, i, hi[i]);
    }
    return close_box(&node, grid, lo, hi, set);
}

/* All points of the plane of grid points nearest to a position. */
static kw_status read_plane(const kw_node *parent, const char *key, const kw_grid *grid, kw_sensor_set *set)
{
    bool by_index = strcmp(key, "plane_index") == 0;
    int axis = 0;
    double at = 0.0, lo[3] = {0}, hi[3];
    kw_node node;
    KW_TRY(kw_node_group(parent, key, &node));
    KW_TRY(kw_node_check_keys(&node, "axis position"));
    KW_TRY(kw_node_require(&node, "axis", "the axis normal to the plane: \"x\", \"y\" or \"z\""));
    KW_TRY(kw_node_require(&node, "position", by_index ? "the index along the axis" : "the coordinate in m"));
    KW_TRY(kw_node_choice(&node, "axis", "x y z", false, &axis));
    KW_TRY(kw_node_real(&node, "position", KW_ANY(by_index ? "grid points" : "m"), false, &at));
    for (int i = 0; i < 3; i++) hi[i] = (double)(grid->n[i] - 1);
    lo[axis] = hi[axis] = floor((by_index ? at : kw_grid_index(grid, axis, at)) + 0.5);
    return close_box(&node, grid, lo, hi, set);
}

/* ---- sets ---- */

kw_status kw_scene_place(const kw_node *node, const kw_problem *problem, kw_sensor_set *set)
{
    static const struct {
        const char *key;
        kw_status (*read)(const kw_node *, const char *, const kw_grid *, kw_sensor_set *);
    } places[] = {{"points", read_points}, {"points_index", read_points}, {"box", read_box},
                  {"box_index", read_box}, {"plane", read_plane},         {"plane_index", read_plane}};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (!kw_node_has(node, places[i].key)) continue;
        if (found != NULL) return kw_node_exclude(node, places[i].key, found);
        found = places[i].key;
        KW_TRY(places[i].read(node, found, &problem->user, set));
    }
    if (found == NULL)
        return kw_node_fail(node, NULL, "must give one of: points points_index box box_index plane plane_index");
    for (int i = 0; i < 3 && set->kind == KW_SENSOR_BOX; i++) { /* in the grid with the PML around it */
        set->box.lo[i] += problem->inner.lo[i];
        set->box.hi[i] += problem->inner.lo[i];
    }
    return KW_OK;
}

static kw_status read_name(const kw_node *node, const kw_problem *problem, kw_sensor_set *set)
{
    const char *name = NULL;
    KW_TRY(kw_node_require(node, "name", "a name of its own"));
    KW_TRY(kw_node_text(node, "name", &name));
    for (int64_t i = 0; i < problem->set_count; i++)
        if (strcmp(problem->sets[i].name, name) == 0)
            return kw_node_fail(node, "name", "must differ from the other sets' names, got \"%s\" twice", name);
    set->name = strdup(name);
    return set->name != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
}

#define KW_SET_KEYS "name interpolation average quantities from_step to_step every frequencies"

/* `count` points spread over a surface. */
static kw_status read_surface(const kw_node *node, const kw_problem *problem, kw_sensor_set *set)
{
    static const char *const places[] = {"points", "points_index", "box", "box_index", "plane", "plane_index"};
    kw_surface surface;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) KW_TRY(kw_node_exclude(node, places[i], "shape"));
    KW_TRY(kw_scene_surface(node, &problem->user, KW_SET_KEYS " count", &surface));
    set->kind = KW_SENSOR_POINTS;
    set->count = 1;
    if (surface.kind != KW_SURFACE_POINT) KW_TRY(kw_node_require(node, "count", "the number of points"));
    KW_TRY(kw_node_integer(node, "count", (kw_rule){1.0, 1e9, false, "points"}, false, &set->count));
    KW_TRY(kw_machine_need(3.0 * sizeof(double) * (double)set->count, "the sensor points"));
    set->position = malloc((size_t)set->count * 3 * sizeof *set->position);
    if (set->position == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sensor points");
    kw_surface_points(&surface, set->count, set->position);
    return check_points(node, NULL, &problem->user, set);
}

/* Fills the set; what it owns is freed by the caller on failure. */
static kw_status read_place(const kw_node *node, const kw_problem *problem, kw_sensor_set *set)
{
    int interpolation = KW_NEAREST;
    KW_TRY(kw_node_choice(node, "interpolation", "nearest linear bandlimited", true, &interpolation));
    KW_TRY(kw_node_bool(node, "average", true, &set->average));
    set->interpolation = (kw_interpolation)interpolation;
    KW_TRY(read_name(node, problem, set));
    KW_TRY(kw_node_has(node, "shape") ? read_surface(node, problem, set) : kw_scene_place(node, problem, set));
    set->rows = set->average ? 1 : set->count;
    return KW_OK;
}

static kw_status read_set(const kw_node *node, kw_problem *problem)
{
    kw_sensor_set set = {0};
    if (!kw_node_has(node, "shape"))
        KW_TRY(kw_node_check_keys(node, KW_SET_KEYS " points points_index box box_index plane plane_index shape"));
    kw_status status = read_place(node, problem, &set);
    if (status != KW_OK) {
        free(set.name);
        free(set.position);
        return status;
    }
    set.first = kw_sensor_count(problem);
    problem->sets[problem->set_count++] = set;
    return KW_OK;
}

kw_status kw_scene_sensors(const kw_node *root, kw_problem *problem)
{
    int count;
    kw_node node;
    KW_TRY(kw_node_list(root, "sensors", &count));
    problem->sets = calloc((size_t)count + 1, sizeof *problem->sets);
    if (problem->sets == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
    for (int own = 0; own < 2; own++) /* the sets of the common recording come first */
        for (int i = 0; i < count; i++) {
            KW_TRY(kw_node_element(root, "sensors", i, &node));
            if (kw_scene_set_is_own(&node) != (own == 1)) continue;
            KW_TRY(read_set(&node, problem));
            if (own) KW_TRY(kw_scene_set_record(&node, problem, problem->set_count - 1));
            problem->recordings[0].set_count += !own;
        }
    if (count == 0 && kw_recording_needs(problem, &problem->recordings[0]) != 0)
        return kw_node_fail(root, "sensors",
                            "missing or empty: record.quantities has what is recorded at sensors, as \"p\" is; add a "
                            "set, or record only what is of the whole grid, as \"p_final\" is");
    return KW_OK;
}
