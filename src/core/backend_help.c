/* What every backend needs beside its table. */
#include "kwsim/backend.h"

#include <string.h>

void kw_memory_add(kw_memory_plan *plan, const char *purpose, double bytes)
{
    plan->total += bytes;
    if (bytes == 0.0) return;
    for (int i = 0; i < plan->count; i++) {
        if (strcmp(plan->item[i].purpose, purpose) != 0) continue;
        plan->item[i].bytes += bytes;
        return;
    }
    if (plan->count == KW_MEMORY_ITEMS) { /* keep the total right whatever happens to the names */
        plan->item[plan->count - 1].bytes += bytes;
        return;
    }
    plan->item[plan->count].purpose = purpose;
    plan->item[plan->count++].bytes = bytes;
}

kw_status kw_box_check(const kw_grid *grid, const kw_box *box)
{
    for (int i = 0; i < 3; i++)
        if (box->lo[i] < 0 || box->hi[i] > grid->n[i] || box->lo[i] > box->hi[i])
            return kw_fail(KW_ERR_RUN, "the box %lld ... %lld leaves the %c axis", (long long)box->lo[i],
                           (long long)box->hi[i], 'x' + i);
    return KW_OK;
}
