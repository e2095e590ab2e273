#include "kwsim/stencil.h"

#include <math.h>

static const double KAISER_BETA = 8.0;

/* Modified Bessel function of order 0. */
static double bessel_i0(double x)
{
    double sum = 1.0, term = 1.0;
    for (int k = 1; k < 60 && term > 1e-18 * sum; k++) {
        term *= 0.25 * x * x / ((double)k * (double)k);
        sum += term;
    }
    return sum;
}

static double windowed_sinc(double x)
{
    double t = x / (0.5 * KW_STENCIL_TAPS);
    if (fabs(t) >= 1.0) return 0.0;
    double sinc = fabs(x) > 1e-12 ? sin(M_PI * x) / (M_PI * x) : 1.0;
    return sinc * bessel_i0(KAISER_BETA * sqrt(1.0 - t * t)) / bessel_i0(KAISER_BETA);
}

static int64_t wrap(int64_t i, int64_t n) { return (i % n + n) % n; }

kw_stencil kw_stencil_make(kw_interpolation interpolation, int64_t n, double index)
{
    kw_stencil stencil = {.taps = 1, .weight = {1.0}};
    double below = floor(index), fraction = index - below;
    if (n == 1) return stencil;
    bool on_point = fraction < 1e-9 || fraction > 1.0 - 1e-9; /* whatever the rounding of its coordinate */
    if (interpolation == KW_NEAREST || on_point) {
        stencil.first = wrap((int64_t)floor(index + 0.5), n);
        return stencil;
    }
    if (interpolation == KW_LINEAR) {
        stencil.taps = 2;
        stencil.first = wrap((int64_t)below, n);
        stencil.weight[0] = 1.0 - fraction;
        stencil.weight[1] = fraction;
        return stencil;
    }
    double sum = 0.0;
    int64_t first = (int64_t)below - KW_STENCIL_TAPS / 2 + 1;
    stencil.taps = KW_STENCIL_TAPS;
    stencil.first = wrap(first, n);
    for (int t = 0; t < KW_STENCIL_TAPS; t++) sum += stencil.weight[t] = windowed_sinc(index - (double)(first + t));
    for (int t = 0; t < KW_STENCIL_TAPS; t++) stencil.weight[t] /= sum;
    return stencil;
}
