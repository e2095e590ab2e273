#include "smooth.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>

double kw_smooth_bytes(const kw_grid *grid)
{
    double rows = (double)grid->n[0] * (double)grid->n[1], n = (double)grid->n[2];
    return 8.0 * rows * (n + 2.0 * (floor(n / 2) + 1.0));
}

static double blackman(double x) { return 0.42 + 0.5 * cos(M_PI * x) + 0.08 * cos(2.0 * M_PI * x); }

/* The window at rho, linear between the nodes j/nodes. */
static double window(double rho, int64_t nodes)
{
    double x = fmin(rho, 1.0) * (double)nodes, below = fmin(floor(x), (double)nodes - 1.0), f = x - below;
    double low = blackman(below / (double)nodes), high = blackman((below + 1.0) / (double)nodes);
    return low + f * (high - low);
}

static double squared_share(int64_t m, int64_t n)
{
    double folded = (double)(m <= n / 2 ? m : n - m), most = (double)(n / 2);
    return n > 1 ? folded * folded / (most * most) : 0.0;
}

static void filter(const kw_grid *grid, fftw_complex *spectrum)
{
    int64_t nodes = 1, bins = grid->n[2] / 2 + 1;
    double scale = 1.0 / (double)kw_grid_points(grid);
    for (int i = 0; i < 3; i++)
        if (grid->n[i] > 1 && grid->n[i] / 2 > nodes) nodes = grid->n[i] / 2;
    for (int64_t x = 0; x < grid->n[0]; x++)
        for (int64_t y = 0; y < grid->n[1]; y++)
            for (int64_t z = 0; z < bins; z++) {
                double rho =
                    sqrt(squared_share(x, grid->n[0]) + squared_share(y, grid->n[1]) + squared_share(z, grid->n[2]));
                fftw_complex *value = &spectrum[(x * grid->n[1] + y) * bins + z];
                double factor = scale * window(rho, nodes);
                (*value)[0] *= factor;
                (*value)[1] *= factor;
            }
}

static double largest(const double *field, int64_t count)
{
    double most = 0.0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(field[i]));
    return most;
}

kw_status kw_smooth(const kw_grid *grid, bool restore_max, double *field)
{
    int64_t count = kw_grid_points(grid);
    int n[3] = {(int)grid->n[0], (int)grid->n[1], (int)grid->n[2]};
    double before = largest(field, count);
    fftw_complex *spectrum = fftw_malloc((size_t)(grid->n[0] * grid->n[1] * (grid->n[2] / 2 + 1)) * sizeof *spectrum);
    if (spectrum == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory to smooth a map");
    fftw_plan forward = fftw_plan_dft_r2c(3, n, field, spectrum, FFTW_ESTIMATE);
    fftw_plan inverse = fftw_plan_dft_c2r(3, n, spectrum, field, FFTW_ESTIMATE);
    kw_status status =
        forward != NULL && inverse != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "FFTW cannot plan the smoothing");
    if (status == KW_OK) {
        fftw_execute(forward);
        filter(grid, spectrum);
        fftw_execute(inverse);
    }
    fftw_destroy_plan(forward);
    fftw_destroy_plan(inverse);
    fftw_free(spectrum);
    double after = largest(field, count);
    for (int64_t i = 0; i < count && restore_max && after > 0.0 && status == KW_OK; i++) field[i] *= before / after;
    return status;
}
