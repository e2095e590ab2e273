/* What the machine lets this process use. */
#ifndef KWSIM_MACHINE_H
#define KWSIM_MACHINE_H

#include <stddef.h>

#include "kwsim/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CPUs that this process may use: the smaller of the affinity mask and the cgroup's quota, rounded up; >= 1. */
int kw_machine_threads(void);

/* Host memory in bytes: free is the smaller of what the system has available and what the cgroup leaves. */
void kw_machine_memory(double *free_bytes, double *total_bytes);

/* KW_ERR_RESOURCE if less than `bytes` of host memory are free, with what they are for: to be asked before memory whose
 * size a user's file decides. */
kw_status kw_machine_need(double bytes, const char *purpose);

/* Name of the processor. */
void kw_machine_cpu_model(char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
