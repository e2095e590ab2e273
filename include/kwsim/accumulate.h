/* What a recorded value does to the accumulators, one row at a time; the same source for C and CUDA. KW_REAL is the
 * type of the run and KW_HOST_DEVICE what the compiler wants before a function that also runs on a GPU. */
#ifndef KWSIM_ACCUMULATE_H
#define KWSIM_ACCUMULATE_H

#ifndef KW_REAL
#define KW_REAL float
#endif
#ifndef KW_HOST_DEVICE
#define KW_HOST_DEVICE
#endif

/* sum += x with the rounding error kept in carry, so that a long sum in single precision stays exact: Kahan, Commun.
 * ACM 8 (1965). The sum is *sum - *carry. */
KW_HOST_DEVICE static inline void kw_sum_add(KW_REAL *sum, KW_REAL *carry, KW_REAL x)
{
    KW_REAL y = x - *carry, t = *sum + y;
    *carry = (t - *sum) - y;
    *sum = t;
}

/* u at n dt from u at (n - 5/2) dt ... (n + 5/2) dt, oldest first: within 5e-6 at 20 samples a period, 6e-5 at 13. */
KW_HOST_DEVICE static inline KW_REAL kw_centre_in_time(KW_REAL a, KW_REAL b, KW_REAL c, KW_REAL d, KW_REAL e, KW_REAL f)
{
    return (3 * (a + f) - 25 * (b + e) + 150 * (c + d)) / 256;
}

#endif
