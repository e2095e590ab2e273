/* Stability of a lossless run with a density map, found before the run. */
#ifndef KW_APP_STABILITY_H
#define KW_APP_STABILITY_H

#include "kwsim/backend.h"

/* Largest eigenvalue of the step's second difference, p_(n+1) - 2 p_n + p_(n-1) = -A p_n, without PML and sources, from
 * below to some 3 %, by twenty Lanczos steps on the backend itself: the run is stable if it is at most 4 (README,
 * "Stability"). Takes the time and the memory of a short run, and five fields of host memory. */
kw_status kw_lanczos_estimate(const kw_problem *problem, const kw_backend *backend, const kw_options *options,
                              double *largest);

#endif
