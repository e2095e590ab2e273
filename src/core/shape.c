#include "kwsim/shape.h"

#include <math.h>

static const double SURFACE = 1.0 + 1e-9;     /* a point on the surface is inside, whatever the rounding */
static const double GAUSSIAN_CUT_SIGMA = 9.0; /* exp(-40.5) = 2.6e-18 is below half a unit of a double */

/* Squared distance from the centre and the part of it along the direction; flat axes do not count. */
static double distance2(const kw_shape *shape, const kw_grid *grid, const double x[3], double *along)
{
    double sum = 0.0;
    *along = 0.0;
    for (int i = 0; i < 3; i++) {
        double d = kw_axis_active(grid, i) ? x[i] - shape->center[i] : 0.0;
        sum += d * d;
        *along += d * shape->direction[i];
    }
    return sum;
}

static bool inside_box(const kw_shape *shape, const kw_grid *grid, const double x[3])
{
    for (int i = 0; i < 3; i++)
        if (kw_axis_active(grid, i) && fabs(x[i] - shape->center[i]) > shape->extent[i] * SURFACE) return false;
    return true;
}

static bool inside_ellipsoid(const kw_shape *shape, const kw_grid *grid, const double x[3])
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        double d = kw_axis_active(grid, i) ? (x[i] - shape->center[i]) / shape->extent[i] : 0.0;
        sum += d * d;
    }
    return sum <= SURFACE * SURFACE;
}

double kw_shape_weight(const kw_shape *shape, const kw_grid *grid, const double x[3])
{
    const double *r = shape->extent;
    double along;
    double d2 = distance2(shape, grid, x, &along);
    switch (shape->kind) {
    case KW_SHAPE_BALL:
        return d2 <= r[0] * r[0] * SURFACE * SURFACE;
    case KW_SHAPE_BOX:
        return inside_box(shape, grid, x);
    case KW_SHAPE_CYLINDER:
        return fabs(along) <= r[1] * SURFACE && d2 - along * along <= r[0] * r[0] * SURFACE * SURFACE;
    case KW_SHAPE_ELLIPSOID:
        return inside_ellipsoid(shape, grid, x);
    case KW_SHAPE_HALFSPACE:
        return along >= -1e-9 * kw_grid_min_spacing(grid);
    case KW_SHAPE_GAUSSIAN: {
        double cut = GAUSSIAN_CUT_SIGMA * r[0];
        return d2 <= cut * cut ? exp(-0.5 * d2 / (r[0] * r[0])) : 0.0;
    }
    }
    return 0.0;
}

/* Half size of the bounding box along an axis. */
static double reach(const kw_shape *shape, int axis)
{
    const double *r = shape->extent;
    double t = shape->direction[axis];
    switch (shape->kind) {
    case KW_SHAPE_BALL:
        return r[0];
    case KW_SHAPE_BOX:
    case KW_SHAPE_ELLIPSOID:
        return r[axis];
    case KW_SHAPE_CYLINDER:
        return r[1] * fabs(t) + r[0] * sqrt(fmax(0.0, 1.0 - t * t));
    case KW_SHAPE_HALFSPACE:
        return INFINITY;
    case KW_SHAPE_GAUSSIAN:
        return GAUSSIAN_CUT_SIGMA * r[0];
    }
    return 0.0;
}

kw_box kw_shape_bounds(const kw_shape *shape, const kw_grid *grid)
{
    kw_box box = kw_grid_box(grid);
    for (int i = 0; i < 3; i++) {
        double half = reach(shape, i) * SURFACE;
        if (!kw_axis_active(grid, i) || !isfinite(half)) continue;
        double n = (double)grid->n[i];
        double lo = ceil(kw_grid_index(grid, i, shape->center[i] - half) - 1e-6);
        double hi = floor(kw_grid_index(grid, i, shape->center[i] + half) + 1e-6) + 1.0;
        box.lo[i] = (int64_t)fmin(fmax(lo, 0.0), n);
        box.hi[i] = (int64_t)fmin(fmax(hi, 0.0), n);
    }
    return box;
}
