/* Shapes that paint values on the grid. Lengths in m from the origin of the grid (grid.h). */
#ifndef KWSIM_SHAPE_H
#define KWSIM_SHAPE_H

#include "kwsim/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kw_shape_kind {
    KW_SHAPE_BALL,      /* |x - center| <= radius */
    KW_SHAPE_BOX,       /* |x_i - center_i| <= size_i / 2 */
    KW_SHAPE_CYLINDER,  /* along `direction`: radial distance <= radius, axial distance <= length / 2 */
    KW_SHAPE_ELLIPSOID, /* sum ((x_i - center_i)/radii_i)^2 <= 1 */
    KW_SHAPE_HALFSPACE, /* (x - center) . direction >= 0 */
    KW_SHAPE_GAUSSIAN   /* weight exp(-|x - center|^2 / (2 sigma^2)), cut at 9 sigma */
} kw_shape_kind;

typedef struct kw_shape {
    kw_shape_kind kind;
    double center[3];    /* m */
    double extent[3];    /* m; ball: radius in [0]; box: half sizes; cylinder: radius, half length in [0], [1];
                            ellipsoid: semi-axes; Gaussian: sigma in [0] */
    double direction[3]; /* unit vector; cylinder's axis, half-space's inner normal */
} kw_shape;

/* How much of the value a shape leaves at position x (m): 1 inside, 0 outside, between for a Gaussian.
 * A point on the surface is inside; the test allows for rounding of 1e-9 of the shape's own length. Along a
 * flat axis of `grid` nothing varies: distances there do not count. */
double kw_shape_weight(const kw_shape *shape, const kw_grid *grid, const double x[3]);

/* The box of grid points outside of which the weight is 0; may be empty (hi <= lo on some axis). */
kw_box kw_shape_bounds(const kw_shape *shape, const kw_grid *grid);

#ifdef __cplusplus
}
#endif
#endif
