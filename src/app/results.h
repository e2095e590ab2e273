/* What is written after the last step: final fields, and what the accumulators come to. */
#ifndef KW_APP_RESULTS_H
#define KW_APP_RESULTS_H

#include "kwsim/recorder.h"

/* Writes everything of the problem that is not a series; `fields` false leaves out the final fields, which a run that
 * did not end does not have. */
kw_status kw_results_write(const kw_problem *problem, const kw_backend *backend, kw_sim *sim, kw_precision precision,
                           kw_recorder *recorder, int64_t steps, bool fields);

#endif
