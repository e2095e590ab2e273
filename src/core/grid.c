#include "kwsim/grid.h"

#include <math.h>

int kw_grid_dims(const kw_grid *grid)
{
    int dims = 0;
    for (int i = 0; i < 3; i++) dims += kw_axis_active(grid, i);
    return dims;
}

int64_t kw_grid_points(const kw_grid *grid) { return grid->n[0] * grid->n[1] * grid->n[2]; }

int64_t kw_box_points(const kw_box *box)
{
    int64_t points = 1;
    for (int i = 0; i < 3; i++) points *= box->hi[i] > box->lo[i] ? box->hi[i] - box->lo[i] : 0;
    return points;
}

kw_box kw_grid_box(const kw_grid *grid) { return (kw_box){{0, 0, 0}, {grid->n[0], grid->n[1], grid->n[2]}}; }

double kw_grid_coordinate(const kw_grid *grid, int axis, double index)
{
    return (index - (double)(grid->n[axis] / 2)) * grid->h[axis];
}

double kw_grid_index(const kw_grid *grid, int axis, double coordinate)
{
    return coordinate / grid->h[axis] + (double)(grid->n[axis] / 2);
}

double kw_wavenumber(int64_t n, double h, int64_t m)
{
    int64_t folded = m < (n + 1) / 2 ? m : m - n;
    return 2.0 * M_PI * (double)folded / ((double)n * h);
}

double kw_grid_kmax(const kw_grid *grid)
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        double k = kw_axis_active(grid, i) ? kw_wavenumber(grid->n[i], grid->h[i], grid->n[i] / 2) : 0.0;
        sum += k * k;
    }
    return sqrt(sum);
}

static double extreme_spacing(const kw_grid *grid, double sign)
{
    bool any = kw_grid_dims(grid) > 0;
    double best = -INFINITY;
    for (int i = 0; i < 3; i++)
        if (!any || kw_axis_active(grid, i)) best = fmax(best, sign * grid->h[i]);
    return sign * best;
}

double kw_grid_min_spacing(const kw_grid *grid) { return extreme_spacing(grid, -1.0); }
double kw_grid_max_spacing(const kw_grid *grid) { return extreme_spacing(grid, 1.0); }

int64_t kw_largest_prime_factor(int64_t n)
{
    int64_t largest = 1;
    for (int64_t f = 2; f * f <= n; f++)
        while (n % f == 0) {
            largest = f;
            n /= f;
        }
    return n > 1 ? n : largest;
}

int64_t kw_nearest_fast_size(int64_t n)
{
    for (int64_t step = 0;; step++) {
        if (n + step >= 1 && kw_largest_prime_factor(n + step) <= 7) return n + step;
        if (n - step >= 1 && kw_largest_prime_factor(n - step) <= 7) return n - step;
    }
}
