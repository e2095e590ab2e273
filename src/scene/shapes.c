#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"

enum { KEY_SIZE = 64 };

static void index_key(const char *key, char *text) { snprintf(text, KEY_SIZE, "%s_index", key); }

static bool equal_spacing(const kw_grid *grid)
{
    return kw_grid_max_spacing(grid) <= kw_grid_min_spacing(grid) * (1.0 + 1e-12);
}

kw_status kw_scene_length(const kw_node *node, const char *key, const kw_grid *grid, double *value)
{
    char by_index[KEY_SIZE];
    index_key(key, by_index);
    KW_TRY(kw_node_exclude(node, by_index, key));
    if (!kw_node_has(node, by_index)) {
        KW_TRY(kw_node_require(node, key, "a length in m"));
        return kw_node_real(node, key, KW_POSITIVE("m"), false, value);
    }
    if (!equal_spacing(grid))
        return kw_node_fail(node, by_index, "the spacing differs between the axes; give %s in m", key);
    KW_TRY(kw_node_real(node, by_index, KW_POSITIVE("grid points"), false, value));
    *value *= kw_grid_min_spacing(grid);
    return KW_OK;
}

kw_status kw_scene_position(const kw_node *node, const char *key, const kw_grid *grid, double value[3])
{
    char by_index[KEY_SIZE];
    double index[3];
    index_key(key, by_index);
    KW_TRY(kw_node_exclude(node, by_index, key));
    if (!kw_node_has(node, by_index)) return kw_node_reals3(node, key, KW_ANY("m"), true, value);
    KW_TRY(kw_node_reals3(node, by_index, KW_ANY("grid points"), false, index));
    for (int i = 0; i < 3; i++) value[i] = kw_grid_coordinate(grid, i, index[i]);
    return KW_OK;
}

/* Three lengths: key in m, or key_index in points of each axis. */
static kw_status lengths3(const kw_node *node, const char *key, const kw_grid *grid, double value[3])
{
    char by_index[KEY_SIZE];
    index_key(key, by_index);
    KW_TRY(kw_node_exclude(node, by_index, key));
    if (!kw_node_has(node, by_index)) {
        KW_TRY(kw_node_require(node, key, "three lengths in m"));
        return kw_node_reals3(node, key, KW_POSITIVE("m"), false, value);
    }
    KW_TRY(kw_node_reals3(node, by_index, KW_POSITIVE("grid points"), false, value));
    for (int i = 0; i < 3; i++) value[i] *= grid->h[i];
    return KW_OK;
}

kw_status kw_scene_direction(const kw_node *node, const char *key, const kw_grid *grid, bool may_be_flat,
                             double value[3])
{
    KW_TRY(kw_node_require(node, key, "a direction [x, y, z]"));
    KW_TRY(kw_node_reals3(node, key, KW_ANY(""), false, value));
    double length = sqrt(value[0] * value[0] + value[1] * value[1] + value[2] * value[2]);
    if (!(length > 0.0)) return kw_node_fail(node, key, "must not be [0, 0, 0]");
    for (int i = 0; i < 3; i++) {
        value[i] /= length;
        if (!kw_axis_active(grid, i) && value[i] != 0.0 && !may_be_flat)
            return kw_node_fail(node, key, "must be 0 along the %c axis, which has one point", 'x' + i);
    }
    return KW_OK;
}

static kw_status check_keys(const kw_node *node, const char *own, const char *more)
{
    char known[300];
    snprintf(known, sizeof known, "shape %s %s", own, more);
    return kw_node_check_keys(node, known);
}

static kw_status read_ball(const kw_node *node, const kw_grid *grid, const char *more, kw_shape *shape)
{
    KW_TRY(check_keys(node, "center center_index radius radius_index", more));
    KW_TRY(kw_scene_position(node, "center", grid, shape->center));
    return kw_scene_length(node, "radius", grid, &shape->extent[0]);
}

static kw_status read_box(const kw_node *node, const kw_grid *grid, const char *more, kw_shape *shape)
{
    KW_TRY(check_keys(node, "center center_index size size_index", more));
    KW_TRY(kw_scene_position(node, "center", grid, shape->center));
    KW_TRY(lengths3(node, "size", grid, shape->extent));
    for (int i = 0; i < 3; i++) shape->extent[i] *= 0.5;
    return KW_OK;
}

static kw_status read_cylinder(const kw_node *node, const kw_grid *grid, const char *more, kw_shape *shape)
{
    KW_TRY(check_keys(node, "center center_index direction radius radius_index length length_index", more));
    KW_TRY(kw_scene_position(node, "center", grid, shape->center));
    KW_TRY(kw_scene_direction(node, "direction", grid, true, shape->direction));
    KW_TRY(kw_scene_length(node, "radius", grid, &shape->extent[0]));
    KW_TRY(kw_scene_length(node, "length", grid, &shape->extent[1]));
    shape->extent[1] *= 0.5;
    return KW_OK;
}

static kw_status read_ellipsoid(const kw_node *node, const kw_grid *grid, const char *more, kw_shape *shape)
{
    KW_TRY(check_keys(node, "center center_index radii radii_index", more));
    KW_TRY(kw_scene_position(node, "center", grid, shape->center));
    return lengths3(node, "radii", grid, shape->extent);
}

static kw_status read_halfspace(const kw_node *node, const kw_grid *grid, const char *more, kw_shape *shape)
{
    KW_TRY(check_keys(node, "point point_index normal", more));
    KW_TRY(kw_scene_position(node, "point", grid, shape->center));
    return kw_scene_direction(node, "normal", grid, false, shape->direction);
}

static kw_status read_gaussian(const kw_node *node, const kw_grid *grid, const char *more, kw_shape *shape)
{
    KW_TRY(check_keys(node, "center center_index sigma sigma_index", more));
    KW_TRY(kw_scene_position(node, "center", grid, shape->center));
    return kw_scene_length(node, "sigma", grid, &shape->extent[0]);
}

kw_status kw_scene_shape(const kw_node *node, const kw_grid *grid, const char *more, kw_shape *shape)
{
    static kw_status (*const read[])(const kw_node *, const kw_grid *, const char *, kw_shape *) = {
        read_ball, read_box, read_cylinder, read_ellipsoid, read_halfspace, read_gaussian};
    static const char kinds[] = "ball box cylinder ellipsoid halfspace gaussian"; /* kw_shape_kind's order */
    int kind = 0;
    KW_TRY(kw_node_require(node, "shape", "one of: ball box cylinder ellipsoid halfspace gaussian"));
    KW_TRY(kw_node_choice(node, "shape", kinds, false, &kind));
    *shape = (kw_shape){.kind = (kw_shape_kind)kind};
    return read[kind](node, grid, more, shape);
}
