/* Surfaces of transducers in a scene: shape, place, direction and lengths. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"

#define KW_SURFACES "point line arc disc ring rectangle bowl sphere"

static int flat_axis(const kw_grid *grid)
{
    int flat = -1;
    for (int i = 0; i < 3; i++)
        if (!kw_axis_active(grid, i)) flat = i;
    return kw_grid_dims(grid) == 2 ? flat : -1;
}

/* Keys of each shape beside `shape`; KW_SURFACES' order. */
static const char *const keys[] = {
    "center center_index",
    "from from_index to to_index normal focus focus_index",
    "center center_index radius radius_index aperture aperture_index normal focus focus_index",
    "center center_index radius radius_index normal focus focus_index",
    "center center_index radius radius_index inner_radius inner_radius_index normal focus focus_index",
    "center center_index length length_index width width_index side normal focus focus_index",
    "center center_index radius radius_index aperture aperture_index normal focus focus_index",
    "center center_index radius radius_index"};

static kw_status check_dimensions(const kw_node *node, const char *shape, bool area, bool point, int dims)
{
    if (area && dims < 3)
        return kw_node_fail(node, "shape", "\"%s\" is for 3-D grids; here: %s", shape,
                            dims == 2 ? "point line arc sphere (a circle)" : "point");
    if (!point && dims < 2) return kw_node_fail(node, "shape", "must be \"point\" on a 1-D grid, got \"%s\"", shape);
    return KW_OK;
}

/* normal, or the direction from the centre to focus. */
static kw_status read_normal(const kw_node *node, const kw_grid *grid, bool needed, kw_surface *surface)
{
    double focus[3] = {0}, length = 0.0;
    KW_TRY(kw_node_exclude(node, "focus", "normal"));
    KW_TRY(kw_node_exclude(node, "focus_index", "normal"));
    if (kw_node_has(node, "normal")) return kw_scene_direction(node, "normal", grid, false, surface->normal);
    if (!kw_node_has(node, "focus") && !kw_node_has(node, "focus_index"))
        return needed ? kw_node_require(node, "normal", "a direction [x, y, z], or focus a point that it looks at")
                      : KW_OK;
    KW_TRY(kw_scene_position(node, "focus", grid, focus));
    for (int i = 0; i < 3; i++) {
        surface->normal[i] = kw_axis_active(grid, i) ? focus[i] - surface->center[i] : 0.0;
        length += surface->normal[i] * surface->normal[i];
    }
    if (!(length > 0.0)) return kw_node_fail(node, "focus", "must not be the center");
    for (int i = 0; i < 3; i++) surface->normal[i] /= sqrt(length);
    return KW_OK;
}

static kw_status read_line(const kw_node *node, const kw_grid *grid, kw_surface *surface)
{
    double from[3] = {0}, to[3] = {0};
    if (!kw_node_has(node, "from_index")) KW_TRY(kw_node_require(node, "from", "an end of the line [x, y, z]"));
    if (!kw_node_has(node, "to_index")) KW_TRY(kw_node_require(node, "to", "the other end [x, y, z]"));
    KW_TRY(kw_scene_position(node, "from", grid, from));
    KW_TRY(kw_scene_position(node, "to", grid, to));
    for (int i = 0; i < 3; i++) {
        double along = kw_axis_active(grid, i) ? to[i] - from[i] : 0.0;
        surface->center[i] = 0.5 * (from[i] + to[i]);
        surface->side[i] = along;
        surface->length += along * along;
    }
    surface->length = sqrt(surface->length);
    if (!(surface->length > 0.0)) return kw_node_fail(node, "to", "must differ from the other end");
    for (int i = 0; i < 3; i++) surface->side[i] /= surface->length;
    return read_normal(node, grid, false, surface);
}

static kw_status read_aperture(const kw_node *node, const kw_grid *grid, kw_surface *surface)
{
    KW_TRY(kw_scene_length(node, "aperture", grid, &surface->aperture));
    if (surface->aperture <= 2.0 * surface->radius * (1.0 + 1e-12)) return KW_OK;
    return kw_node_fail(node, "aperture", "must be at most twice the radius of curvature, %g m, got %g m",
                        2.0 * surface->radius, surface->aperture);
}

static kw_status read_rectangle(const kw_node *node, const kw_grid *grid, kw_surface *surface)
{
    KW_TRY(kw_scene_length(node, "length", grid, &surface->length));
    KW_TRY(kw_scene_length(node, "width", grid, &surface->width));
    KW_TRY(read_normal(node, grid, true, surface));
    kw_surface_choose_side(surface);
    if (!kw_node_has(node, "side")) return KW_OK;
    KW_TRY(kw_scene_direction(node, "side", grid, false, surface->side));
    double along = 0.0;
    for (int i = 0; i < 3; i++) along += surface->side[i] * surface->normal[i];
    return fabs(along) < 1e-6 ? KW_OK : kw_node_fail(node, "side", "must be at a right angle to the normal");
}

/* Nothing that fits into the grid is longer than its diagonal: a length in the wrong unit is found before it is covered
 * with nodes. */
static kw_status check_size(const kw_node *node, const kw_grid *grid, const kw_surface *surface)
{
    double sum = 0.0;
    bool curved = surface->kind == KW_SURFACE_ARC || surface->kind == KW_SURFACE_BOWL;
    for (int i = 0; i < 3; i++) {
        double side = kw_axis_active(grid, i) ? (double)grid->n[i] * grid->h[i] : 0.0;
        sum += side * side;
    }
    const struct {
        const char *key;
        double value;
    } length[] = {{"radius", curved ? 0.0 : surface->radius},
                  {"aperture", surface->aperture},
                  {"to", surface->kind == KW_SURFACE_LINE ? surface->length : 0.0},
                  {"length", surface->kind == KW_SURFACE_LINE ? 0.0 : surface->length},
                  {"width", surface->width}};
    for (size_t i = 0; i < sizeof length / sizeof length[0]; i++)
        if (length[i].value > sqrt(sum))
            return kw_node_fail(
                node, kw_node_has(node, length[i].key) ? length[i].key : NULL,
                "the surface does not fit into the grid: %g m, and the grid's diagonal is %g m (lengths are in metres)",
                length[i].value, sqrt(sum));
    return KW_OK;
}

static kw_status read_surface(const kw_node *node, const kw_grid *grid, const char *more, kw_surface *surface)
{
    enum { POINT, LINE, ARC, DISC, RING, RECTANGLE, BOWL, SPHERE };
    static const kw_surface_kind kinds[] = {KW_SURFACE_POINT, KW_SURFACE_LINE,      KW_SURFACE_ARC,  KW_SURFACE_DISC,
                                            KW_SURFACE_DISC,  KW_SURFACE_RECTANGLE, KW_SURFACE_BOWL, KW_SURFACE_SPHERE};
    int shape = 0;
    char known[700];
    const char *word = "";
    KW_TRY(kw_node_require(node, "shape", "one of: " KW_SURFACES));
    KW_TRY(kw_node_choice(node, "shape", KW_SURFACES, false, &shape));
    KW_TRY(kw_node_text(node, "shape", &word));
    snprintf(known, sizeof known, "shape %s %s", keys[shape], more);
    KW_TRY(kw_node_check_keys(node, known));
    *surface = (kw_surface){.kind = kinds[shape], .dims = kw_grid_dims(grid), .flat = flat_axis(grid)};
    bool area = shape == DISC || shape == RING || shape == RECTANGLE || shape == BOWL;
    KW_TRY(check_dimensions(node, word, area, shape == POINT, surface->dims));
    if (shape == LINE) return read_line(node, grid, surface);
    KW_TRY(kw_scene_position(node, "center", grid, surface->center));
    if (shape == RECTANGLE) return read_rectangle(node, grid, surface);
    if (shape != POINT) KW_TRY(kw_scene_length(node, "radius", grid, &surface->radius));
    if (shape == RING) KW_TRY(kw_scene_length(node, "inner_radius", grid, &surface->inner));
    if (shape == RING && surface->inner >= surface->radius)
        return kw_node_fail(node, "inner_radius", "must be below the radius, %g m, got %g m", surface->radius,
                            surface->inner);
    if (shape == ARC || shape == BOWL) KW_TRY(read_aperture(node, grid, surface));
    surface->normal[surface->flat == 2 ? 1 : 2] = 1.0;
    if (shape == POINT || shape == SPHERE) {
        kw_surface_choose_side(surface);
        return KW_OK;
    }
    KW_TRY(read_normal(node, grid, true, surface));
    kw_surface_choose_side(surface);
    return KW_OK;
}

kw_status kw_scene_surface(const kw_node *node, const kw_grid *grid, const char *more, kw_surface *surface)
{
    KW_TRY(read_surface(node, grid, more, surface));
    return check_size(node, grid, surface);
}
