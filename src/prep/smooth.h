/* Smoothing of whole maps in the spectrum. */
#ifndef KW_PREP_SMOOTH_H
#define KW_PREP_SMOOTH_H

#include "kwsim/grid.h"
#include "kwsim/status.h"

/* Multiplies the spectrum of field[nx][ny][nz] by the rotational Blackman window W(rho),
 *     rho = min(1, sqrt(sum (m_i/M_i)^2)),   W(x) = 0.42 + 0.5 cos(pi x) + 0.08 cos(2 pi x),
 * m_i the folded index, M_i = n_i/2 (even) or (n_i - 1)/2 (odd), W interpolated linearly between x = j/max M_i: the
 * field's usual filter of initial pressures and maps. With `restore_max` the result is scaled to the largest |value| from
 * before, which makes it depend on the field non-linearly. KW_ERR_RESOURCE. */
kw_status kw_smooth(const kw_grid *grid, bool restore_max, double *field);

/* Bytes that smoothing takes, the field included. */
double kw_smooth_bytes(const kw_grid *grid);

#endif
