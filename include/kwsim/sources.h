/* What every backend needs to know of sources, in double (numbers of README, "Sources"). */
#ifndef KWSIM_SOURCES_H
#define KWSIM_SOURCES_H

#include "kwsim/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Factor from a signal in Pa or m/s to what goes into the field, at every point of a source: scale[count].
 *     p additive 2 dt/(d c0 h_x);  p Dirichlet 1/(d c0^2);  u_i additive 2 c0 dt/h_i;  u_i Dirichlet 1
 * c0 at the point itself, d the number of active axes, h_x the spacing of the first of them. Reads c0 plane by plane.
 */
kw_status kw_source_scales(const kw_problem *problem, const kw_source *source, const kw_field_source *fields,
                           double *scale);

/* The signal of point `row` at step n in Pa or m/s, 0 where there is none. */
double kw_source_value(const kw_source *source, int64_t row, int64_t n);

/* True if the source acts in step n: a Dirichlet source that stops leaves its points alone afterwards. */
bool kw_source_acts(const kw_source *source, int64_t n);

/* Largest pressure in Pa that the scene puts in: of p0 and of every signal (u times rho0 c0). */
double kw_problem_amplitude(const kw_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
