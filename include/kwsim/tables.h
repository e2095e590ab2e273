/* 1-D tables of the scheme, in double. Every backend converts these and makes none of its own, so that all
 * backends step the same numbers. */
#ifndef KWSIM_TABLES_H
#define KWSIM_TABLES_H

#include "kwsim/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gradient factors P = i k exp(+i k h/2) of one axis, interleaved real and imaginary, for bins 0 ... count-1.
 * P takes grid points to points staggered by +h/2; the factor back is M = -conj P. Both are real at the Nyquist
 * bin and kept there. A flat axis gives 0. */
void kw_table_gradient(const kw_grid *grid, int axis, int64_t count, double *p);

/* k^2 in rad^2/m^2 of bins 0 ... count-1 of one axis; a flat axis gives 0. */
void kw_table_k2(const kw_grid *grid, int axis, int64_t count, double *k2);

/* kappa = sin(a)/a, a = c_ref dt |k|/2, from the sum k2 of the axes' k^2. */
double kw_kappa(double c_ref, double dt, double k2);

/* kappa_src = cos(a): the correction of additive sources. Cox et al., IEEE Int. Ultrason. Symp. (2018). */
double kw_kappa_source(double c_ref, double dt, double k2);

/* |k|^exponent from the sum k2 of the axes' k^2, as the absorption's spectral operators have it: 0 at k = 0, but
 * |k|^0 = 1 there too. */
double kw_power_of_k(double k2, double exponent);

/* alpha in Np/((rad/s)^y m) from dB/(MHz^y cm). */
double kw_absorption_nepers(double alpha, double power);

/* The factors of the absorbing and the dispersive term at a point of sound speed c0 and coefficient alpha, as switched
 * on in the problem:
 *     tau = -2 alpha_Np c0^(y-1),   eta = 2 alpha_Np c0^y tan(pi y/2)  (0 for y = 2)
 * Treeby & Cox, J. Acoust. Soc. Am. 127 (2010). */
void kw_absorption_factors(const kw_problem *problem, double c0, double alpha, double *tau, double *eta);

/* PML factor exp(-sigma dt/2) of the n points of one axis; staggered: of the points + h/2.
 *   left  sigma = alpha (c_ref/h) ((x - L - 1)/(-L))^4     right  sigma = alpha (c_ref/h) (x/L)^4,  x = 1 ... L
 * and x + 1/2 when staggered. Tabei et al. (2002); Treeby & Cox, J. Biomed. Opt. 15 (2010). */
void kw_table_pml(const kw_problem *problem, int axis, bool staggered, double *factor);

#ifdef __cplusplus
}
#endif
#endif
