/* Surfaces of transducers: places off the grid for sources (nodes with areas) and sensors (points spread evenly). */
#ifndef KWSIM_SURFACE_H
#define KWSIM_SURFACE_H

#include "kwsim/grid.h"
#include "kwsim/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kw_surface_kind {
    KW_SURFACE_POINT,
    KW_SURFACE_LINE,      /* from center - side length/2 to center + side length/2 */
    KW_SURFACE_ARC,       /* part of a circle, through its middle `center`, bending towards `normal` */
    KW_SURFACE_DISC,      /* with a hole of radius `inner` */
    KW_SURFACE_RECTANGLE, /* length along `side`, width across */
    KW_SURFACE_BOWL,      /* part of a sphere, through its middle `center`, bending towards `normal` */
    KW_SURFACE_SPHERE     /* in 2-D a circle */
} kw_surface_kind;

typedef struct kw_surface {
    kw_surface_kind kind;
    int dims;             /* of the grid: 1 to 3 */
    int flat;             /* the flat axis of a 2-D grid, else -1 */
    double center[3];     /* m */
    double normal[3];     /* unit vector: the direction in which it radiates */
    double side[3];       /* unit vector in the surface */
    double radius, inner; /* m; of curvature for arcs and bowls */
    double aperture;      /* m: diameter of arcs and bowls, at most 2 radius */
    double length, width; /* m */
} kw_surface;

/* Sets `side` to a unit vector across `normal`, along the user's axis most across it; in 2-D in the plane. */
void kw_surface_choose_side(kw_surface *surface);

/* Quadrature of the surface, exact to rounding for waves that the grid carries: nodes at most `spacing`/2 apart.
 * position[3 i], normal[3 i] outward unit vectors (of spheres; else along `normal`, towards the centre of bowls and
 * arcs), and area[i] in m^2, for curves in m, 1 for a point. All owned by the caller. KW_ERR_RESOURCE. */
typedef struct kw_surface_nodes {
    int64_t count;
    double *position, *normal, *area;
} kw_surface_nodes;
kw_status kw_surface_quadrature(const kw_surface *surface, double spacing, kw_surface_nodes *nodes);
void kw_surface_nodes_free(kw_surface_nodes *nodes);

/* `count` points spread evenly: lines and arcs end to end, discs, bowls and spheres on Vogel's spiral, circles from
 * `side` on, rectangles in rows of equal distance as far as the count allows. position[3 count]. */
void kw_surface_points(const kw_surface *surface, int64_t count, double *position);

#ifdef __cplusplus
}
#endif
#endif
