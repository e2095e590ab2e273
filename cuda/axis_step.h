/* One axis of a step in mixed space, as one kernel (README, "Mixed space"; equations 8 to 11 there). Along each line of axis
 * i, with what lies between in registers and shared memory:
 *
 *     a   = F_i^-1 {G kappa s}            s: F S, or F p where c0 is a map;  G = dt c0^2 P_i/n, or dt P_i/n
 *     m_i = Ebar (Ebar m_i - a)           m_i = rho0 u_i
 *     w   = D kappa F_i m_i               D = dt conj(P_i): -dt times the divergence
 *     b   = F_i^-1 w
 *     sigma_i = E (E sigma_i + b)         in the slabs alone, with what it was before:
 *     c   = (E^2 - 1) sigma_i + (E - 1) b     there, 0 elsewhere
 *
 * and w + F_i c is this axis' part of what F S gets. The parts are summed over the axes first and added once, by the last
 * axis: added one by one their rounding would grow with the steps. */
#ifndef KW_CUDA_AXIS_STEP_H
#define KW_CUDA_AXIS_STEP_H

#include "spectra.h"

enum { KW_AXIS_SOURCES = 4 };

typedef struct kw_axis_step {
    kw_axis axis;
    kw_radial kappa;
    const float2 *source;   /* s */
    const float4 *gradient; /* [n]: G, and this axis' part of kappa's variable */
    float divergence;       /* D = divergence conj(G) */
    float2 *momentum;       /* m_i */
    const float2 *damping;  /* [n]: Ebar^2, -Ebar */
    int skin;               /* points of a slab; 0: the axis is periodic */
    float2 *density;        /* sigma_i, a slab */
    const float4 *slab;     /* [2 skin]: E^2, E/n, E^2 - 1, (E - 1)/n */

    bool first, last;       /* of the axes; the first is that of the columns */
    float2 *sum;            /* of the axes' parts: written by the first, added to by the others but the last */
    float2 *total;          /* F S; the last axis adds the sum to it */
    float2 *lines_out;      /* last: F_i^-1 F S, laid out like a spectrum, may be `sum`; NULL: not wanted */
    const unsigned char *wanted; /* [n]: the points of the axis that are; NULL: all */

    int sources; /* last: F S also gets gain[i] times a spectrum */
    const float *gain[KW_AXIS_SOURCES];
    const float2 *to_total[KW_AXIS_SOURCES];
} kw_axis_step;

/* Bytes of shared memory for each point of a line. */
enum { KW_AXIS_STEP_BYTES = 16 };

kw_status kw_launch_axis_step(const kw_axis_step *step, cudaStream_t stream);
kw_status kw_axis_step_prepare(int64_t shared_bytes);

#endif
