#include "estimate.h"

#include <math.h>

#include "kwsim/machine.h"
#include "kwsim/prep.h"
#include "kwsim/recorder.h"

kw_status kw_estimate(const kw_problem *problem, const kw_options *options, const kw_backend *backend,
                      kw_memory_plan *plan)
{
    KW_TRY(backend->estimate(problem, options, plan));
    double keeping = kw_recorder_bytes(problem, options->precision);
    if (backend != kw_backend_find("cpu")) /* its memory is a card's; the host's must hold what is read and kept */
        return kw_machine_need(2.0 * fmax(keeping, kw_prep_bytes(problem)) + kw_source_bytes(problem),
                               "reading maps and recording");
    kw_memory_add(plan, "reading maps and recording", fmax(keeping, kw_prep_bytes(problem)));
    kw_memory_add(plan, "sources", kw_source_bytes(problem));
    return KW_OK;
}
