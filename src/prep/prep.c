#include "kwsim/prep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/dataset.h"
#include "kwsim/log.h"
#include "kwsim/machine.h"
#include "smooth.h"

/* A shape counts as seen on the grid where it leaves at least this much of its value. */
static const double SEEN_WEIGHT = 0.1;

static const int64_t SLAB_BYTES = INT64_C(32) << 20;

typedef struct kw_maps {
    const kw_problem *problem;
    int threads;
    kw_dataset dataset[KW_QUANTITY_COUNT]; /* open where the map comes from a file */
    double *slab;                          /* planes of a map in double */
    double *smoothed[KW_QUANTITY_COUNT];   /* whole maps, where they are smoothed and were asked for */
    int64_t slab_planes;
} kw_maps;

static int64_t plane_points(const kw_maps *maps) { return maps->problem->user.n[1] * maps->problem->user.n[2]; }

double kw_prep_bytes(const kw_problem *problem)
{
    double plane = (double)problem->user.n[1] * (double)problem->user.n[2] * sizeof(double);
    double bytes = 2.0 * fmin(fmax((double)SLAB_BYTES, plane), plane * (double)problem->user.n[0]);
    for (int q = 0; q < KW_QUANTITY_COUNT; q++)
        if (problem->map[q].smooth) bytes += kw_smooth_bytes(&problem->user);
    return bytes;
}

static void maps_close(kw_maps *maps)
{
    for (int q = 0; q < KW_QUANTITY_COUNT; q++) {
        kw_dataset_close(&maps->dataset[q]);
        free(maps->smoothed[q]);
    }
    free(maps->slab);
}

static kw_status maps_open(kw_maps *maps, const kw_problem *problem, int threads)
{
    *maps = (kw_maps){.problem = problem, .threads = threads};
    int64_t bytes = plane_points(maps) * (int64_t)sizeof(double);
    maps->slab_planes = SLAB_BYTES / bytes > 1 ? SLAB_BYTES / bytes : 1;
    if (maps->slab_planes > problem->user.n[0]) maps->slab_planes = problem->user.n[0];
    maps->slab = malloc((size_t)(maps->slab_planes * bytes));
    if (maps->slab == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for %lld bytes of map", (long long)bytes);
    for (int q = 0; q < KW_QUANTITY_COUNT; q++) {
        const kw_map *map = &problem->map[q];
        if (map->file != NULL) KW_TRY(kw_dataset_open(map->file, map->dataset, &maps->dataset[q]));
    }
    return KW_OK;
}

/* Paints one shape over plane x; true if it is seen there. */
static bool paint_plane(const kw_grid *grid, const kw_paint *paint, int64_t x, double *plane)
{
    kw_box box = kw_shape_bounds(&paint->shape, grid);
    bool seen = false;
    if (x < box.lo[0] || x >= box.hi[0]) return false;
    for (int64_t y = box.lo[1]; y < box.hi[1]; y++) {
        double *row = plane + y * grid->n[2];
        for (int64_t z = box.lo[2]; z < box.hi[2]; z++) {
            double at[3] = {kw_grid_coordinate(grid, 0, (double)x), kw_grid_coordinate(grid, 1, (double)y),
                            kw_grid_coordinate(grid, 2, (double)z)};
            double w = kw_shape_weight(&paint->shape, grid, at);
            row[z] = w == 1.0 ? paint->value : row[z] + (paint->value - row[z]) * w;
            seen |= w >= SEEN_WEIGHT;
        }
    }
    return seen;
}

/* Labels of `count` voxels from voxel `first` on become the map's values. */
static kw_status translate(const kw_maps *maps, const kw_map *map, int64_t first, int64_t count, double *values)
{
    const kw_grid *grid = &maps->problem->user;
    for (int64_t i = 0; i < count; i++) {
        int64_t low = 0, high = map->label_count - 1;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (map->label[middle] < values[i])
                low = middle + 1;
            else
                high = middle;
        }
        int64_t at = first + i;
        if (map->label[low] != values[i])
            return kw_fail(
                KW_ERR_SCENE,
                "%s: \"%s\" has the label %g at grid point (%lld, %lld, %lld), for which there is no material",
                map->where, map->dataset, values[i], (long long)(at / grid->n[2] / grid->n[1]),
                (long long)(at / grid->n[2] % grid->n[1]), (long long)(at % grid->n[2]));
        values[i] = map->label_value[low];
    }
    return KW_OK;
}

/* Planes x0 ... x0+nx-1 of a map, not smoothed, into `slab`; sets seen[i] of the shapes seen there. */
static kw_status paint_slab(kw_maps *maps, int quantity, int64_t x0, int64_t nx, char *seen, double *slab)
{
    const kw_grid *grid = &maps->problem->user;
    const kw_map *map = &maps->problem->map[quantity];
    int64_t points = plane_points(maps);
    if (map->file != NULL) KW_TRY(kw_dataset_read(&maps->dataset[quantity], x0, nx, slab));
    if (map->label_count > 0) KW_TRY(translate(maps, map, x0 * points, nx * points, slab));
#pragma omp parallel for num_threads(maps->threads) schedule(static)
    for (int64_t x = x0; x < x0 + nx; x++) {
        double *plane = slab + (x - x0) * points;
        for (int64_t q = 0; map->file == NULL && q < points; q++) plane[q] = map->value;
        for (int64_t i = 0; i < map->paint_count; i++)
            if (paint_plane(grid, &map->paints[i], x, plane)) {
#pragma omp atomic write
                seen[i] = 1;
            }
    }
    return KW_OK;
}

/* The whole map, smoothed, once. */
static kw_status make_smoothed(kw_maps *maps, int quantity, char *seen)
{
    const kw_map *map = &maps->problem->map[quantity];
    int64_t nx = maps->problem->user.n[0];
    if (maps->smoothed[quantity] != NULL) return KW_OK;
    KW_TRY(kw_machine_need(kw_smooth_bytes(&maps->problem->user), "smoothing a map"));
    double *whole = malloc((size_t)(nx * plane_points(maps)) * sizeof *whole);
    if (whole == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory to smooth a map");
    maps->smoothed[quantity] = whole;
    for (int64_t x0 = 0; x0 < nx; x0 += maps->slab_planes) {
        int64_t planes = nx - x0 < maps->slab_planes ? nx - x0 : maps->slab_planes;
        KW_TRY(paint_slab(maps, quantity, x0, planes, seen, whole + x0 * plane_points(maps)));
    }
    return kw_smooth(&maps->problem->user, map->restore_max, whole);
}

/* Planes x0 ... x0+nx-1 (at most slab_planes) of a map into maps->slab; sets seen[i] of the shapes seen there. */
static kw_status make_slab(kw_maps *maps, int quantity, int64_t x0, int64_t nx, char *seen)
{
    int64_t points = plane_points(maps);
    if (!maps->problem->map[quantity].smooth) return paint_slab(maps, quantity, x0, nx, seen, maps->slab);
    KW_TRY(make_smoothed(maps, quantity, seen));
    memcpy(maps->slab, maps->smoothed[quantity] + x0 * points, (size_t)(nx * points) * sizeof *maps->slab);
    return KW_OK;
}

/* ---- scan ---- */

static void index_of(const kw_grid *grid, int64_t offset, int64_t index[3])
{
    index[2] = offset % grid->n[2];
    index[1] = offset / grid->n[2] % grid->n[1];
    index[0] = offset / grid->n[2] / grid->n[1];
}

/* Range of `count` values; returns the first that is not finite, or -1. */
static int64_t find_range(const double *value, int64_t count, int64_t *least, int64_t *most)
{
    *least = *most = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(value[i])) return i;
        if (value[i] < value[*least]) *least = i;
        if (value[i] > value[*most]) *most = i;
    }
    return -1;
}

static kw_status scan_slab(kw_maps *maps, kw_map *map, int64_t x0, int64_t nx)
{
    const kw_grid *grid = &maps->problem->user;
    int64_t first = x0 * plane_points(maps), least, most, at[3];
    int64_t bad = find_range(maps->slab, nx * plane_points(maps), &least, &most);
    if (bad >= 0) {
        index_of(grid, first + bad, at);
        return kw_fail(KW_ERR_SCENE, "%s: must be finite everywhere, got %g at grid point (%lld, %lld, %lld)",
                       map->where, maps->slab[bad], (long long)at[0], (long long)at[1], (long long)at[2]);
    }
    if (x0 == 0 || maps->slab[least] < map->min) {
        map->min = maps->slab[least];
        index_of(grid, first + least, map->min_at);
    }
    if (x0 == 0 || maps->slab[most] > map->max) {
        map->max = maps->slab[most];
        index_of(grid, first + most, map->max_at);
    }
    return KW_OK;
}

static kw_status check_seen(const kw_map *map, const char *seen)
{
    for (int64_t i = 0; i < map->paint_count; i++) {
        if (seen[i]) continue;
        return kw_fail(KW_ERR_SCENE,
                       "%s: the shape touches no grid point: it lies outside the grid or is smaller than the "
                       "spacing (lengths are in metres)",
                       map->paints[i].where);
    }
    return KW_OK;
}

static kw_status scan_voxels(kw_maps *maps, kw_map *map, int quantity, char *seen)
{
    int64_t nx = maps->problem->user.n[0], step = maps->slab_planes;
    for (int64_t x0 = 0; x0 < nx; x0 += step) {
        int64_t planes = x0 + step < nx ? step : nx - x0;
        KW_TRY(make_slab(maps, quantity, x0, planes, seen));
        KW_TRY(scan_slab(maps, map, x0, planes));
    }
    return check_seen(map, seen);
}

static kw_status scan_map(kw_maps *maps, kw_map *map, int quantity)
{
    if (map->file == NULL && map->paint_count == 0) { /* smoothing a number leaves it */
        map->min = map->max = map->value;
        return KW_OK;
    }
    char *seen = calloc((size_t)map->paint_count + 1, 1);
    if (seen == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    kw_status status = scan_voxels(maps, map, quantity, seen);
    free(seen);
    return status;
}

static const struct {
    double least, most;
    const char *unit;
} usual[KW_QUANTITY_COUNT] = {{200.0, 12000.0, "m/s"},  {0.5, 25000.0, "kg/m^3"},    {0.0, 100.0, "dB/(MHz^y cm)"},
                              {0.0, 100.0, ""},         {-INFINITY, INFINITY, "Pa"}, {0.5, 25000.0, "kg/m^3"},
                              {0.5, 25000.0, "kg/m^3"}, {0.5, 25000.0, "kg/m^3"}};

/* Beyond these even single precision's exponent is not safe. */
static const struct {
    double least, most;
} sane[KW_QUANTITY_COUNT] = {{1e-6, 1e9},   {1e-9, 1e9}, {0.0, 1e9},  {0.0, 1e9},
                             {-1e30, 1e30}, {1e-9, 1e9}, {1e-9, 1e9}, {1e-9, 1e9}};

static kw_status check_range(const kw_map *map, int quantity)
{
    const int64_t *lo = map->min_at, *hi = map->max_at;
    bool positive = quantity == KW_QUANTITY_C0 || quantity == KW_QUANTITY_RHO0 || quantity >= KW_QUANTITY_RHO0_X;
    if (quantity != KW_QUANTITY_P0 && (map->min < 0.0 || (positive && map->min == 0.0)))
        return kw_fail(KW_ERR_SCENE, "%s: must be %s 0 %s, got %g at grid point (%lld, %lld, %lld)", map->where,
                       positive ? ">" : ">=", usual[quantity].unit, map->min, (long long)lo[0], (long long)lo[1],
                       (long long)lo[2]);
    if (map->max > sane[quantity].most || map->min < sane[quantity].least)
        return kw_fail(KW_ERR_SCENE, "%s: must be from %g to %g %s, got %g to %g", map->where, sane[quantity].least,
                       sane[quantity].most, usual[quantity].unit, map->min, map->max);
    if (quantity == KW_QUANTITY_P0) return KW_OK;
    if (map->min < usual[quantity].least)
        kw_log(KW_LOG_WARNING, "%s: %s %g %s at grid point (%lld, %lld, %lld) is below %g: is the unit right?",
               map->where, kw_quantity_name(quantity), map->min, usual[quantity].unit, (long long)lo[0],
               (long long)lo[1], (long long)lo[2], usual[quantity].least);
    if (map->max > usual[quantity].most)
        kw_log(KW_LOG_WARNING, "%s: %s %g %s at grid point (%lld, %lld, %lld) is above %g: is the unit right?",
               map->where, kw_quantity_name(quantity), map->max, usual[quantity].unit, (long long)hi[0],
               (long long)hi[1], (long long)hi[2], usual[quantity].most);
    return KW_OK;
}

static kw_status scan_all(kw_maps *maps, kw_problem *problem)
{
    for (int q = 0; q < KW_QUANTITY_COUNT; q++) {
        if (!kw_problem_has(problem, (kw_quantity)q)) continue;
        KW_TRY(scan_map(maps, &problem->map[q], q));
        KW_TRY(check_range(&problem->map[q], q));
    }
    return KW_OK;
}

kw_status kw_prep_scan(kw_problem *problem, int threads)
{
    kw_maps maps;
    kw_status status = maps_open(&maps, problem, threads);
    if (status == KW_OK) status = scan_all(&maps, problem);
    maps_close(&maps);
    return status;
}

/* ---- source ---- */

/* The slab's plane as plane x of the grid that is stepped, whose margins continue the edges; the initial pressure is 0
 * there. */
static void expand_plane(const kw_maps *maps, kw_quantity quantity, const double *plane, bool margin,
                         kw_precision precision, void *dst)
{
    const kw_problem *problem = maps->problem;
    const int64_t *n = problem->grid.n, *lo = problem->inner.lo, *own = problem->user.n;
#pragma omp parallel for num_threads(maps->threads) schedule(static)
    for (int64_t y = 0; y < n[1]; y++)
        for (int64_t z = 0; z < n[2]; z++) {
            int64_t v = y - lo[1], w = z - lo[2], at = y * n[2] + z;
            bool outside = margin || v < 0 || v >= own[1] || w < 0 || w >= own[2];
            v = v < 0 ? 0 : v >= own[1] ? own[1] - 1 : v;
            w = w < 0 ? 0 : w >= own[2] ? own[2] - 1 : w;
            double value = outside && quantity == KW_QUANTITY_P0 ? 0.0 : plane[v * own[2] + w];
            if (precision == KW_DOUBLE)
                ((double *)dst)[at] = value;
            else
                ((float *)dst)[at] = (float)value;
        }
}

/* Plane of the user's grid that plane x of the stepped one continues. */
static int64_t user_plane(const kw_problem *problem, int64_t x)
{
    int64_t own = x - problem->inner.lo[0];
    return own < 0 ? 0 : own >= problem->user.n[0] ? problem->user.n[0] - 1 : own;
}

static kw_status read_planes(void *self, kw_quantity quantity, int64_t x0, int64_t nx, kw_precision precision,
                             void *dst)
{
    kw_maps *maps = self;
    const kw_problem *problem = maps->problem;
    const kw_map *map = &problem->map[quantity];
    int64_t points = problem->grid.n[1] * problem->grid.n[2], have = 0, held = -1;
    char *seen = calloc((size_t)map->paint_count + 1, 1), *to = dst;
    if (seen == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    kw_status status = KW_OK;
    for (int64_t x = x0; x < x0 + nx && status == KW_OK; x++, to += points * (int64_t)kw_real_size(precision)) {
        int64_t own = user_plane(problem, x);
        if (held < 0 || own < held || own >= held + have) {
            int64_t last = user_plane(problem, x0 + nx - 1);
            held = own;
            have = last - own + 1 < maps->slab_planes ? last - own + 1 : maps->slab_planes;
            status = make_slab(maps, quantity, held, have, seen);
        }
        bool margin = x < problem->inner.lo[0] || x >= problem->inner.hi[0];
        const double *plane = maps->slab + (own - held) * plane_points(maps);
        if (status == KW_OK) expand_plane(maps, quantity, plane, margin, precision, to);
    }
    free(seen);
    return status;
}

kw_status kw_prep_open(const kw_problem *problem, int threads, kw_field_source *source)
{
    kw_maps *opened = malloc(sizeof *opened);
    if (opened == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    kw_status status = maps_open(opened, problem, threads);
    *source = (kw_field_source){opened, read_planes};
    if (status != KW_OK) kw_prep_close(source);
    return status;
}

void kw_prep_close(kw_field_source *source)
{
    if (source->self != NULL) {
        maps_close(source->self);
        free(source->self);
    }
    *source = (kw_field_source){0};
}
