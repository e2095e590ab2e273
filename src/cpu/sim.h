/* A prepared run on the CPU in one precision. */
#ifndef KW_CPU_SIM_H
#define KW_CPU_SIM_H

#include "implementation.h"
#include "layout.h"
#include "plans.h"
#include "real.h"

/* Working memory of one thread. */
typedef struct kw_scratch {
    kw_complex *in, *out; /* tiles [n[KW_LINES]][KW_TILE] */
    kw_real *plane;       /* [real_pitch] */
    kw_real *row;         /* [n[KW_COLUMNS]] */
} kw_scratch;

/* Fields are [plane][real_pitch], spectra [plane][spec_pitch]; index a = 0 ... dims-1 counts active axes. */
struct kw_sim {
    kw_cpu_head head;
    const kw_problem *problem; /* borrowed */
    kw_layout layout;
    int threads;
    KW(plans) plans;

    kw_real *p;
    kw_real *u[3]; /* staggered by +h/2 along their axis, half a step early */
    kw_real *rho[3];
    kw_complex *spec[3]; /* between steps spec[0] holds the plane transforms of p */

    kw_real c2, rho0;           /* c0^2 and rho0 where constant */
    kw_real *c2_map, *rho0_map; /* else; NULL where constant */
    kw_real dt;

    kw_real *kappa;       /* [n[KW_LINES]/2 + 1][spec_pitch], divided by the number of points */
    kw_real *gradient[3]; /* P, complex: of lines [n]; of rows and columns one per column of a plane [spec_pitch] */
    kw_real *pml[3], *pml_staggered[3];

    kw_scratch *scratch; /* [threads] */
    void *scratch_memory;

    int64_t sensors;
    int64_t *sensor_offset; /* into a padded field */
    kw_real *ring;          /* [ring_steps][sensors] */
    int64_t ring_steps, waiting;

    int64_t steps; /* taken */
    bool stale;    /* densities were written from outside: p and spec[0] no longer follow */
    double bytes, create_seconds, step_seconds;
    int64_t allocations, fail_allocation;
};

/* The step, classical form: classical.c. */
void KW(classical_step)(kw_sim *sim);

/* p and its plane transforms from the densities. */
void KW(classical_refresh)(kw_sim *sim);

/* State of step 0 from p, which holds p0: rho_i = p0/(d c0^2), u_i at -dt/2 such that u(0) = 0. */
void KW(classical_start)(kw_sim *sim);

#endif
