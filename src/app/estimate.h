/* What a run takes, all told. */
#ifndef KW_APP_ESTIMATE_H
#define KW_APP_ESTIMATE_H

#include "kwsim/backend.h"

/* The backend's estimate in bytes by purpose; on the CPU reading maps, recording and the sources' signals take from
 * the same memory and are added. The plan is the caller's. Errors are those of the backend. */
kw_status kw_estimate(const kw_problem *problem, const kw_options *options, const kw_backend *backend,
                      kw_memory_plan *plan);

#endif
