#include "kwsim/tables.h"

#include <math.h>

static double axis_wavenumber(const kw_grid *grid, int axis, int64_t m)
{
    return kw_axis_active(grid, axis) ? kw_wavenumber(grid->n[axis], grid->h[axis], m) : 0.0;
}

void kw_table_gradient(const kw_grid *grid, int axis, int64_t count, double *p)
{
    int64_t n = grid->n[axis];
    for (int64_t m = 0; m < count; m++) {
        double k = axis_wavenumber(grid, axis, m);
        double phase = 0.5 * k * grid->h[axis];
        p[2 * m] = -k * sin(phase);
        p[2 * m + 1] = 2 * m == n ? 0.0 : k * cos(phase); /* cos(pi/2) at the Nyquist bin is 0 exactly */
    }
}

void kw_table_k2(const kw_grid *grid, int axis, int64_t count, double *k2)
{
    for (int64_t m = 0; m < count; m++) {
        double k = axis_wavenumber(grid, axis, m);
        k2[m] = k * k;
    }
}

double kw_kappa(double c_ref, double dt, double k2)
{
    double a = 0.5 * c_ref * dt * sqrt(k2);
    return a > 0.0 ? sin(a) / a : 1.0;
}

double kw_kappa_source(double c_ref, double dt, double k2) { return cos(0.5 * c_ref * dt * sqrt(k2)); }

double kw_power_of_k(double k2, double exponent)
{
    if (exponent == 0.0) return 1.0;
    return k2 > 0.0 ? pow(k2, 0.5 * exponent) : 0.0;
}

double kw_absorption_nepers(double alpha, double power)
{
    return 100.0 * alpha * pow(1e-6 / (2.0 * M_PI), power) / (20.0 * M_LOG10E);
}

void kw_absorption_factors(const kw_problem *problem, double c0, double alpha, double *tau, double *eta)
{
    const kw_absorption *absorption = &problem->absorption;
    double y = absorption->power, nepers = kw_absorption_nepers(alpha, y);
    *tau = absorption->attenuation ? -2.0 * nepers * pow(c0, y - 1.0) : 0.0;
    *eta = absorption->dispersion && y != 2.0 ? 2.0 * nepers * pow(c0, y) * tan(0.5 * M_PI * y) : 0.0;
}

void kw_table_pml(const kw_problem *problem, int axis, bool staggered, double *factor)
{
    const kw_grid *grid = &problem->grid;
    int64_t n = grid->n[axis], size = kw_axis_active(grid, axis) ? problem->pml.size[axis] : 0;
    double strength = problem->pml.alpha[axis] * problem->c_ref / grid->h[axis];
    double shift = staggered ? 0.5 : 0.0;
    for (int64_t j = 0; j < n; j++) {
        double depth = 0.0;
        if (j < size) depth = ((double)(size - j) - shift) / (double)size;
        if (j >= n - size) depth = ((double)(j - (n - size) + 1) + shift) / (double)size;
        factor[j] = exp(-0.5 * strength * pow(depth, 4) * problem->time.dt);
    }
}
