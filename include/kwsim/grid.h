/* The grid: sizes, spacing, coordinates and wavenumbers. Knows no arrays.
 *
 * Arrays on the grid are (nx, ny, nz) with z fastest: the element (x, y, z) is at (x*ny + y)*nz + z.
 * An axis of one point is flat: nothing varies along it. One flat axis makes a 2-D run, two a 1-D run.
 * The origin of coordinates is the grid point with index n/2 (integer division) on every axis.
 */
#ifndef KWSIM_GRID_H
#define KWSIM_GRID_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kw_grid {
    int64_t n[3]; /* points along x, y, z; the PML is among them */
    double h[3];  /* spacing in m */
} kw_grid;

/* A box of grid points: lo <= index < hi on every axis. */
typedef struct kw_box {
    int64_t lo[3], hi[3];
} kw_box;

static inline bool kw_axis_active(const kw_grid *grid, int axis) { return grid->n[axis] > 1; }

/* Number of axes with more than one point: d of the equations. */
int kw_grid_dims(const kw_grid *grid);

int64_t kw_grid_points(const kw_grid *grid);
int64_t kw_box_points(const kw_box *box);
kw_box kw_grid_box(const kw_grid *grid);

static inline int64_t kw_grid_offset(const kw_grid *grid, const int64_t index[3])
{
    return (index[0] * grid->n[1] + index[1]) * grid->n[2] + index[2];
}

/* Coordinate in m of a (possibly fractional) index. */
double kw_grid_coordinate(const kw_grid *grid, int axis, double index);

/* Fractional index of a coordinate in m. */
double kw_grid_index(const kw_grid *grid, int axis, double coordinate);

/* Wavenumber in rad/m of bin m = 0 ... n-1: 2 pi m'/(n h), m' folded to -n/2 ... n/2-1 (n even: the Nyquist
 * entry is negative) or -(n-1)/2 ... (n-1)/2. */
double kw_wavenumber(int64_t n, double h, int64_t m);

/* Largest |k| on the grid in rad/m: the spectral corner. */
double kw_grid_kmax(const kw_grid *grid);

/* Smallest spacing and largest spacing in m over the active axes (all axes if none is active). */
double kw_grid_min_spacing(const kw_grid *grid);
double kw_grid_max_spacing(const kw_grid *grid);

/* Largest prime factor of n >= 1 (1 for 1): FFTs are fast when it is at most 7. */
int64_t kw_largest_prime_factor(int64_t n);

/* The size nearest to n, smaller or larger, whose prime factors are all at most 7. */
int64_t kw_nearest_fast_size(int64_t n);

#ifdef __cplusplus
}
#endif
#endif
