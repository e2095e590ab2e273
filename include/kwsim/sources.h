/* What every backend needs to know of sources, in double (numbers of README, "Sources"). */
#ifndef KWSIM_SOURCES_H
#define KWSIM_SOURCES_H

#include "kwsim/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Factor from a signal in Pa, m/s or m^3/s to what goes into the field, of every entry of a source: scale[count].
 *     p additive 2 dt/(d c0 h_x);  p Dirichlet 1/(d c0^2);  u_i additive 2 c0 dt/h_i;  u_i Dirichlet 1;
 *     volume velocity dt rho0/(d V), V the volume of a cell;  each times the entry's weight
 * c0 and rho0 at the point itself, d the number of active axes, h_x the spacing of the first of them. Reads the map plane
 * by plane. */
kw_status kw_source_scales(const kw_problem *problem, const kw_source *source, const kw_field_source *fields,
                           double *scale);

/* The numbers of the entries in the order of their places on the grid, those of one place in the listed order:
 * order[count]. */
kw_status kw_source_order(const kw_grid *grid, const kw_source *source, int64_t *order);

/* The signal of entry i at step n, without its weight; 0 where there is none. Between samples, which delays ask for, it
 * is a cubic (Lagrange) through four of the oversampled ones. */
double kw_source_value(const kw_source *source, int64_t i, int64_t n);

/* True if the source acts in step n: a Dirichlet source that stops leaves its points alone afterwards. */
bool kw_source_acts(const kw_source *source, int64_t n);

/* True if the entries' values are not all the same signal: the source is spread every step. */
static inline bool kw_source_varies(const kw_source *source) { return source->signals > 1 || source->delay != NULL; }

/* Row of the signal of entry i. */
static inline int64_t kw_source_row(const kw_source *source, int64_t i)
{
    return source->signals == 1 ? 0 : source->row != NULL ? source->row[i] : i;
}

/* Largest pressure in Pa that the scene puts in: of p0 and of every signal (u times rho0 c0). */
double kw_problem_amplitude(const kw_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
