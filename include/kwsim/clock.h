/* Monotonic wall clock in s, for durations. */
#ifndef KWSIM_CLOCK_H
#define KWSIM_CLOCK_H

#include <time.h>

static inline double kw_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
