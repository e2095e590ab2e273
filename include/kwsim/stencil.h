/* Reading and driving the field between grid points.
 *
 * The band-limited kernel is a sinc under a Kaiser window of KW_STENCIL_TAPS points per axis, scaled to sum 1: it
 * represents waves of 3 points per wavelength or longer to 2e-4, and is the same one for sensors and sources
 * (the adjoint). After Wise, Cox, Jaros & Treeby, J. Acoust. Soc. Am. 146 (2019), who cut the sinc off. */
#ifndef KWSIM_STENCIL_H
#define KWSIM_STENCIL_H

#include "kwsim/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KW_STENCIL_TAPS = 16 };

/* Weights along one axis: of grid points first, first+1, ..., which wrap around periodically. */
typedef struct kw_stencil {
    int taps;
    int64_t first; /* 0 <= first < n */
    double weight[KW_STENCIL_TAPS];
} kw_stencil;

/* The stencil of one axis for a position in grid points, which may be fractional; a flat axis has one tap. */
kw_stencil kw_stencil_make(kw_interpolation interpolation, int64_t n, double index);

#ifdef __cplusplus
}
#endif
#endif
