/* From surfaces off the grid to the entries of a source: every node of a surface's quadrature is spread over the grid
 * points around it by the band-limited stencil, so that a source's strength does not depend on how it lies in the grid
 * (README, "Sources"). Also what delays and weighs entries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/machine.h"
#include "kwsim/stencil.h"
#include "parts.h"

static kw_status no_memory(void) { return kw_fail(KW_ERR_RESOURCE, "no memory for the sources"); }

/* ---- delay laws ---- */

/* The later, the nearer to the focus, or the farther along the direction. */
typedef struct kw_law {
    bool on, focused;
    bool counts[3]; /* flat axes do not */
    double point[3], direction[3], speed;
} kw_law;

static kw_status read_law(const kw_node *parent, const kw_grid *grid, kw_law *law)
{
    kw_node node;
    *law = (kw_law){.on = kw_node_has(parent, "delay_law")};
    for (int i = 0; i < 3; i++) law->counts[i] = kw_axis_active(grid, i);
    if (!law->on) return KW_OK;
    KW_TRY(kw_node_group(parent, "delay_law", &node));
    KW_TRY(kw_node_check_keys(&node, "focus focus_index direction sound_speed"));
    law->focused = kw_node_has(&node, "focus") || kw_node_has(&node, "focus_index");
    if (law->focused && kw_node_has(&node, "direction"))
        return kw_node_fail(&node, "direction", "contradicts focus, which is given too; keep one of them");
    KW_TRY(kw_node_require(&node, "sound_speed", "the speed in m/s at which the delays are counted"));
    KW_TRY(kw_node_real(&node, "sound_speed", KW_POSITIVE("m/s"), false, &law->speed));
    if (law->focused) return kw_scene_position(&node, "focus", grid, law->point);
    return kw_scene_direction(&node, "direction", grid, false, law->direction);
}

/* Delay in s up to a constant. */
static double law_delay(const kw_law *law, const double x[3])
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        double d = x[i] - law->point[i];
        if (!law->counts[i]) continue;
        sum += law->focused ? d * d : x[i] * law->direction[i];
    }
    return law->on ? (law->focused ? -sqrt(sum) : sum) / law->speed : 0.0;
}

/* ---- entries ---- */

/* Adds room for `more` entries; row, weight and delay come with the first. */
static kw_status grow(kw_source *source, int64_t more)
{
    size_t count = (size_t)(source->count + more);
    KW_TRY(kw_machine_need(56.0 * (double)more, "the sources' points"));
    int64_t *index = realloc(source->index, 3 * count * sizeof *index + 1);
    if (index != NULL) source->index = index;
    int64_t *row = realloc(source->row, count * sizeof *row + 1);
    if (row != NULL) source->row = row;
    double *weight = realloc(source->weight, count * sizeof *weight + 1);
    if (weight != NULL) source->weight = weight;
    double *delay = realloc(source->delay, count * sizeof *delay + 1);
    if (delay != NULL) source->delay = delay;
    return index != NULL && row != NULL && weight != NULL && delay != NULL ? KW_OK : no_memory();
}

static void add_entry(kw_source *source, const int64_t index[3], double weight, double delay, int64_t row)
{
    int64_t at = source->count++;
    memcpy(source->index + 3 * at, index, 3 * sizeof *index);
    source->weight[at] = weight;
    source->delay[at] = delay;
    source->row[at] = row;
}

/* Delays count from the earliest of the law; without any, there is none. */
static void settle_delays(kw_source *source, const kw_law *law, double earliest)
{
    double longest = 0.0;
    for (int64_t i = 0; i < source->count; i++) {
        if (law->on) source->delay[i] = fmax(0.0, source->delay[i] - earliest);
        longest = fmax(longest, source->delay[i]);
    }
    if (longest > 0.0) return;
    free(source->delay);
    source->delay = NULL;
}

/* ---- spreading ---- */

/* One element of a transducer. */
typedef struct kw_element {
    kw_surface surface;
    double delay, apodization;
} kw_element;

/* Weights over a box of grid points that may reach beyond the grid; with the delays' mean over their weights. */
typedef struct kw_pool {
    int64_t lo[3], n[3];
    double *weight, *size, *delay; /* sum w, sum |w|, sum |w| delay */
} kw_pool;

enum { MARGIN = 4 * KW_STENCIL_TAPS }; /* so that stencils near the edge do not wrap around before they are pooled */

/* Stencil along one axis, its first point counted from grid point -MARGIN. */
static kw_stencil pooled_stencil(const kw_grid *grid, int axis, double position, int staggered)
{
    double index = kw_grid_index(grid, axis, position) - (axis == staggered ? 0.5 : 0.0);
    if (!kw_axis_active(grid, axis)) return kw_stencil_make(KW_NEAREST, 1, 0.0);
    return kw_stencil_make(KW_BANDLIMITED, grid->n[axis] + 2 * MARGIN, index + MARGIN);
}

static kw_status check_nodes(const kw_node *node, const kw_grid *user, const kw_surface_nodes *nodes)
{
    for (int64_t k = 0; k < nodes->count; k++)
        for (int i = 0; i < 3; i++) {
            double index = kw_grid_index(user, i, nodes->position[3 * k + i]);
            if (!kw_axis_active(user, i) || (index >= -0.5 - 1e-9 && index <= (double)user->n[i] - 0.5 + 1e-9))
                continue;
            return kw_node_fail(node, NULL, "the surface leaves the grid along %c: %g m; allowed: %g to %g m", 'x' + i,
                                nodes->position[3 * k + i], kw_grid_coordinate(user, i, 0.0),
                                kw_grid_coordinate(user, i, (double)(user->n[i] - 1)));
        }
    return KW_OK;
}

static kw_status open_pool(const kw_grid *grid, const kw_surface_nodes *nodes, int staggered, kw_pool *pool)
{
    double points = 1.0;
    for (int i = 0; i < 3; i++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (int64_t k = 0; k < nodes->count; k++) {
            kw_stencil stencil = pooled_stencil(grid, i, nodes->position[3 * k + i], staggered);
            low = stencil.first < low ? stencil.first : low;
            high = stencil.first + stencil.taps > high ? stencil.first + stencil.taps : high;
        }
        pool->lo[i] = low;
        pool->n[i] = high - low;
        points *= (double)pool->n[i];
    }
    KW_TRY(kw_machine_need(24.0 * points, "spreading a source over the grid"));
    size_t count = (size_t)points;
    pool->weight = calloc(3 * count, sizeof *pool->weight);
    if (pool->weight == NULL) return no_memory();
    pool->size = pool->weight + count;
    pool->delay = pool->size + count;
    return KW_OK;
}

static void spread_node(const kw_grid *grid, kw_pool *pool, const double position[3], int staggered, double weight,
                        double delay)
{
    kw_stencil s[3];
    for (int i = 0; i < 3; i++) s[i] = pooled_stencil(grid, i, position[i], staggered);
    for (int i = 0; i < s[0].taps; i++)
        for (int j = 0; j < s[1].taps; j++) {
            int64_t x = s[0].first + i - pool->lo[0], y = s[1].first + j - pool->lo[1];
            int64_t at = (x * pool->n[1] + y) * pool->n[2] + s[2].first - pool->lo[2];
            double factor = weight * s[0].weight[i] * s[1].weight[j];
            for (int k = 0; k < s[2].taps; k++) {
                double w = factor * s[2].weight[k];
                pool->weight[at + k] += w;
                pool->size[at + k] += fabs(w);
                pool->delay[at + k] += fabs(w) * delay;
            }
        }
}

/* The pool's points as entries, wrapped into the grid. */
static kw_status empty_pool(const kw_grid *grid, const kw_pool *pool, double more_delay, int64_t row, kw_source *source)
{
    int64_t count = pool->n[0] * pool->n[1] * pool->n[2], used = 0;
    for (int64_t i = 0; i < count; i++) used += pool->size[i] > 0.0;
    KW_TRY(grow(source, used));
    for (int64_t i = 0; i < count; i++) {
        int64_t index[3] = {i / pool->n[2] / pool->n[1], i / pool->n[2] % pool->n[1], i % pool->n[2]};
        if (!(pool->size[i] > 0.0)) continue;
        for (int a = 0; a < 3; a++) {
            int64_t n = grid->n[a], at = index[a] + pool->lo[a] - (kw_axis_active(grid, a) ? MARGIN : 0);
            index[a] = (at % n + n) % n;
        }
        add_entry(source, index, pool->weight[i], more_delay + pool->delay[i] / pool->size[i], row);
    }
    return KW_OK;
}

/* Weight of a node of area dA: h dA/V, h the spacing that the source's factor divides by, so that a plane of them is a
 * wave of the signal's amplitude; lines and arcs on a 3-D grid are strips of the width of a grid point. */
static double area_factor(const kw_grid *grid, const kw_source *source, const kw_surface *surface, int axis)
{
    double cell = 1.0;
    int first = -1, dims = kw_grid_dims(grid);
    for (int i = 0; i < 3; i++) {
        if (!kw_axis_active(grid, i)) continue;
        cell *= grid->h[i];
        if (first < 0) first = i;
    }
    if (source->quantity == KW_SOURCE_VOLUME || surface->kind == KW_SURFACE_POINT) return 1.0;
    bool curve = surface->kind == KW_SURFACE_LINE || surface->kind == KW_SURFACE_ARC;
    double width = curve && dims == 3 ? cbrt(cell) : 1.0;
    return grid->h[axis >= 0 ? axis : first] / cell * width;
}

static kw_status spread_element(const kw_node *node, const kw_problem *problem, const kw_element *element,
                                const kw_law *law, bool by_node, int axis, bool outward, int64_t row, double *earliest,
                                kw_source *source)
{
    const kw_grid *grid = &problem->grid;
    kw_surface_nodes nodes;
    kw_pool pool = {0};
    double late = law_delay(law, element->surface.center);
    KW_TRY(kw_surface_quadrature(&element->surface, kw_grid_min_spacing(grid), &nodes));
    kw_status status = check_nodes(node, &problem->user, &nodes);
    if (status == KW_OK) status = open_pool(grid, &nodes, axis, &pool);
    double scale = element->apodization * area_factor(grid, source, &element->surface, axis);
    for (int64_t k = 0; k < nodes.count && status == KW_OK; k++) {
        const double *position = nodes.position + 3 * k;
        double delay = by_node ? law_delay(law, position) : late;
        double weight = scale * nodes.area[k] * (outward ? nodes.normal[3 * k + axis] : 1.0);
        *earliest = fmin(*earliest, delay);
        spread_node(grid, &pool, position, axis, weight, delay);
    }
    if (status == KW_OK) status = empty_pool(grid, &pool, element->delay, row, source);
    free(pool.weight);
    kw_surface_nodes_free(&nodes);
    return status;
}

/* ---- snapping ---- */

/* A node at its nearest grid point. */
typedef struct kw_snapped {
    int64_t place;
    double weight; /* the normal along the velocity's axis; 1 for others */
} kw_snapped;

static int by_place(const void *a, const void *b)
{
    int64_t x = ((const kw_snapped *)a)->place, y = ((const kw_snapped *)b)->place;
    return x < y ? -1 : x > y;
}

static void snap_nodes(const kw_grid *grid, const kw_surface_nodes *nodes, int axis, bool outward, kw_snapped *snapped)
{
    for (int64_t k = 0; k < nodes->count; k++) {
        int64_t index[3];
        for (int i = 0; i < 3; i++) {
            double nearest = floor(kw_grid_index(grid, i, nodes->position[3 * k + i]) + 0.5);
            index[i] = kw_axis_active(grid, i) ? (int64_t)fmin(fmax(nearest, 0.0), (double)(grid->n[i] - 1)) : 0;
        }
        snapped[k] = (kw_snapped){kw_grid_offset(grid, index), outward ? nodes->normal[3 * k + axis] : 1.0};
    }
    qsort(snapped, (size_t)nodes->count, sizeof *snapped, by_place);
}

/* The grid points nearest to the surface, each once, as if they had been listed; of a normal velocity with the mean of
 * the nodes' normals. */
static kw_status snap_element(const kw_node *node, const kw_problem *problem, const kw_element *element,
                              const kw_law *law, bool by_node, int axis, bool outward, int64_t row, double *earliest,
                              kw_source *source)
{
    const kw_grid *grid = &problem->grid;
    kw_surface_nodes nodes;
    KW_TRY(kw_surface_quadrature(&element->surface, kw_grid_min_spacing(grid), &nodes));
    kw_snapped *snapped = malloc((size_t)nodes.count * sizeof *snapped + 1);
    kw_status status = snapped != NULL ? check_nodes(node, &problem->user, &nodes) : no_memory();
    if (status == KW_OK) snap_nodes(grid, &nodes, axis, outward, snapped);
    if (status == KW_OK) status = grow(source, nodes.count);
    for (int64_t k = 0, end; k < nodes.count && status == KW_OK; k = end) {
        int64_t place = snapped[k].place;
        double sum = 0.0, position[3];
        for (end = k; end < nodes.count && snapped[end].place == place; end++) sum += snapped[end].weight;
        double weight = element->apodization * sum / (double)(end - k);
        int64_t index[3] = {place / grid->n[2] / grid->n[1], place / grid->n[2] % grid->n[1], place % grid->n[2]};
        for (int i = 0; i < 3; i++) position[i] = kw_grid_coordinate(grid, i, (double)index[i]);
        double delay = law_delay(law, by_node ? position : element->surface.center);
        *earliest = fmin(*earliest, delay);
        if (weight != 0.0) add_entry(source, index, weight, element->delay + delay, row);
    }
    free(snapped);
    kw_surface_nodes_free(&nodes);
    return status;
}

/* ---- reading ---- */

static kw_status read_element(const kw_node *node, const kw_problem *problem, kw_element *element)
{
    KW_TRY(kw_scene_surface(node, &problem->user, "delay apodization", &element->surface));
    KW_TRY(kw_node_real(node, "delay", KW_NOT_NEGATIVE("s"), true, &element->delay));
    return kw_node_real(node, "apodization", (kw_rule){-1e6, 1e6, false, ""}, true, &element->apodization);
}

static kw_status add_element(const kw_node *node, const kw_problem *problem, const kw_element *element,
                             const kw_law *law, bool by_node, bool snap, int axis, bool outward, int64_t row,
                             double *earliest, kw_source *source)
{
    if (outward && element->surface.kind == KW_SURFACE_POINT)
        return kw_node_fail(node, "shape", "a \"point\" has no normal; give its velocity by ux, uy, uz");
    bool pointed =
        element->surface.normal[0] != 0.0 || element->surface.normal[1] != 0.0 || element->surface.normal[2] != 0.0;
    if (outward && !pointed)
        return kw_node_require(node, "normal", "the direction in which the line radiates, or focus");
    if (snap) return snap_element(node, problem, element, law, by_node, axis, outward, row, earliest, source);
    return spread_element(node, problem, element, law, by_node, axis, outward, row, earliest, source);
}

kw_status kw_scene_transducer(const kw_node *node, const kw_problem *problem, int axis, bool outward, kw_source *source)
{
    int count;
    bool snap = false;
    double earliest = INFINITY;
    kw_law law;
    kw_element element = {.apodization = 1.0};
    KW_TRY(kw_node_bool(node, "snap", true, &snap));
    KW_TRY(read_law(node, &problem->user, &law));
    KW_TRY(kw_node_list(node, "elements", &count));
    source->elements = count > 0 ? count : 1;
    if (source->mode == KW_DIRICHLET && !snap)
        return kw_node_fail(node, "mode", "\"dirichlet\" holds the field at grid points: it needs snap = true here");
    if (source->quantity == KW_SOURCE_VOLUME && count == 0 && strcmp(kw_node_word(node, "shape"), "point") != 0)
        return kw_node_fail(node, "shape", "must be \"point\" for a volume velocity");
    if (!kw_node_has(node, "elements")) {
        KW_TRY(kw_scene_surface(node, &problem->user, "quantity mode after signal snap delay_law", &element.surface));
        KW_TRY(add_element(node, problem, &element, &law, true, snap, axis, outward, 0, &earliest, source));
    } else if (count == 0) {
        return kw_node_fail(node, "elements", "must hold at least one element");
    } else {
        KW_TRY(kw_node_check_keys(node, "quantity mode after signal snap delay_law elements"));
    }
    for (int e = 0; e < count; e++) {
        kw_node one;
        element = (kw_element){.apodization = 1.0};
        KW_TRY(kw_node_element(node, "elements", e, &one));
        KW_TRY(read_element(&one, problem, &element));
        if (source->quantity == KW_SOURCE_VOLUME && element.surface.kind != KW_SURFACE_POINT)
            return kw_node_fail(&one, "shape", "must be \"point\" for a volume velocity");
        KW_TRY(add_element(&one, problem, &element, &law, false, snap, axis, outward, e, &earliest, source));
    }
    settle_delays(source, &law, earliest);
    if (source->mode == KW_DIRICHLET && source->delay != NULL)
        return kw_node_fail(node, "mode", "\"dirichlet\" takes no delays; take an additive mode");
    return KW_OK;
}

/* ---- listed points ---- */

static kw_status read_list(const kw_node *node, const char *key, kw_rule rule, int64_t count, double **value)
{
    int64_t got;
    if (!kw_node_has(node, key)) return KW_OK;
    KW_TRY(kw_node_numbers(node, key, rule, &got, value));
    if (got == count) return KW_OK;
    return kw_node_fail(node, key, "must have one number for each of the %lld points, got %lld", (long long)count,
                        (long long)got);
}

kw_status kw_scene_delays(const kw_node *node, const kw_problem *problem, kw_source *source)
{
    kw_law law;
    double earliest = INFINITY;
    KW_TRY(read_law(node, &problem->user, &law));
    KW_TRY(read_list(node, "apodization", (kw_rule){-1e6, 1e6, false, ""}, source->count, &source->weight));
    KW_TRY(read_list(node, "delays", KW_NOT_NEGATIVE("s"), source->count, &source->delay));
    if (!law.on && source->delay == NULL) return KW_OK;
    if (source->mode == KW_DIRICHLET)
        return kw_node_fail(node, "mode", "\"dirichlet\" takes no delays; take an additive mode");
    if (source->delay == NULL) source->delay = calloc((size_t)source->count, sizeof *source->delay);
    if (source->delay == NULL) return no_memory();
    double *late = malloc((size_t)source->count * sizeof *late);
    if (late == NULL) return no_memory();
    for (int64_t i = 0; i < source->count; i++) {
        double position[3];
        for (int a = 0; a < 3; a++)
            position[a] = kw_grid_coordinate(&problem->grid, a, (double)source->index[3 * i + a]);
        late[i] = law_delay(&law, position);
        earliest = fmin(earliest, late[i]);
    }
    for (int64_t i = 0; i < source->count && law.on; i++) source->delay[i] += late[i] - earliest;
    free(late);
    settle_delays(source, &(kw_law){0}, 0.0);
    return KW_OK;
}
