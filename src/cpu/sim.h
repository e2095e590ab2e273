/* A prepared run on the CPU in one precision. */
#ifndef KW_CPU_SIM_H
#define KW_CPU_SIM_H

#include "implementation.h"
#include "kwsim/recording.h"
#include "kwsim/sources.h"
#include "layout.h"
#include "plans.h"
#include "real.h"

/* Working memory of one thread. Planes are [real_pitch]; NULL where the physics does not need them. */
typedef struct kw_scratch {
    kw_complex *in, *out; /* tiles [n[KW_LINES]][KW_TILE] */
    kw_real *plane;
    kw_real *row;        /* [n[KW_COLUMNS]] */
    kw_real *divergence; /* absorption: sum of the d_i, then times rho0 */
    kw_real *total;      /* nonlinear: S before the step; absorption: S, and terms of the pressure */
} kw_scratch;

/* A source as the planes read it: entries sorted by place. */
typedef struct kw_cpu_source {
    const kw_source *source;
    int axis;             /* active axis of a velocity source; -1: pressure */
    int64_t *offset;      /* [count] into a padded field */
    int64_t *entry;       /* [count] number in the problem's source */
    kw_real *scale;       /* [count] */
    int64_t *plane_start; /* [lines + 1] */
    kw_complex *mixed[3]; /* mixed space: the same in the representation of each density, or of its own velocity */
    kw_real *field; /* additive: what a signal of 1 adds everywhere; with a signal per point: what this step adds */
} kw_cpu_source;

/* A recording, in the order of kwsim/recording.h; NULL what it does not need. */
typedef struct kw_cpu_recording {
    const kw_recording *asked;
    int64_t rows, phases;
    int64_t *offset; /* [rows] into a padded field, or -1 - the number of the row's first stencil */
    void *stencil;
    kw_real *slots; /* [slots][rows] */
    kw_real *phase;
    kw_real *ring; /* [ring][series][rows] */
    int64_t waiting;
} kw_cpu_recording;

/* State of the mixed-space step, by active axis: transformed along every other axis. Lines and rows lie like spectra; whole
 * lines along the columns follow each other, for half the other wavenumbers. spec[0] holds the spectrum of S, or of p
 * where c0 is a map. */
typedef struct kw_mixed {
    bool on, fresh; /* fresh: p is that of the state */
    int width[3];   /* lines worked on together */
    kw_complex *u[3], *rho[3];
    kw_real *gradient[3], *divergence[3]; /* complex, [n]: factors of dt P_i and dt M_i */
} kw_mixed;

/* Fields are [plane][real_pitch], spectra [plane][spec_pitch]; index a = 0 ... dims-1 counts active axes. */
struct kw_sim {
    kw_cpu_head head;
    const kw_problem *problem; /* borrowed */
    kw_layout layout;
    int threads;
    KW(plans) plans;
    kw_mixed mixed;

    kw_real *p;
    kw_real *u[3]; /* staggered by +h/2 along their axis, half a step early */
    kw_real *rho[3];
    kw_complex *spec[3]; /* between steps spec[0] holds the plane transforms of p */

    kw_real dt, c2, rho0, tau, eta, bona;                      /* where constant */
    kw_real *c2_map, *rho0_map, *tau_map, *eta_map, *bona_map; /* else; NULL where constant */
    kw_real *staggered[3];      /* rho0_i of each active axis, where given; else the mean of neighbours is taken */
    bool attenuates, disperses; /* terms with transforms */

    kw_real *kappa;        /* [n[KW_LINES]/2 + 1][spec_pitch], divided by the number of points; so the next three */
    kw_real *kappa_source; /* cos(c_ref dt |k|/2), for additive sources */
    kw_real *power[2];     /* |k|^(y-2) and |k|^(y-1) */
    kw_complex *absorb[2]; /* spectra of rho0 sum d_i and of S: spec[0] and spec[1], or the spare */
    kw_complex *spare;     /* a spectrum: the dispersion's in 1-D, the sources' */
    kw_real *gradient[3];  /* P, complex: of lines [n]; of rows and columns one per column of a plane [spec_pitch] */
    kw_real *pml[3], *pml_staggered[3];

    kw_scratch *scratch; /* [threads] */
    char *scratch_memory;
    kw_cpu_source *sources; /* [problem->source_count] */

    kw_cpu_recording *recordings; /* [problem->recording_count] */
    kw_real *shift[3];            /* moves u_i to the grid point, [2 n] of each active axis */

    struct kw_part *parts; /* every allocation, to be freed */
    int part_count;

    int64_t steps; /* taken */
    bool stale;    /* the state was written from outside: p and spec[0] no longer follow */
    double bytes, create_seconds, step_seconds;
    int64_t allocations, fail_allocation;
};

static inline int64_t kw_plane_points(const kw_sim *sim)
{
    return sim->layout.slots.n[KW_ROWS] * sim->layout.slots.n[KW_COLUMNS];
}

/* memory.c */
kw_status KW(estimate)(const kw_problem *problem, const kw_options *options, kw_memory_plan *plan);
kw_status KW(allocate)(kw_sim *sim);
void KW(release)(kw_sim *sim);

/* fields.c: tables and maps. */
kw_status KW(fill)(kw_sim *sim, const kw_field_source *source);

/* classical.c. The functions of all files below but these four are called by every thread of a parallel region. */
void KW(classical_step)(kw_sim *sim);
/* p and its plane transforms from the state. */
void KW(classical_refresh)(kw_sim *sim);
/* State of step 0 from p, which holds p0: rho_i = p0/(d c0^2), u_i at -dt/2 such that u(0) = 0. */
void KW(classical_start)(kw_sim *sim);
/* What a signal of 1 of each additive source adds, once. */
void KW(sources_start)(kw_sim *sim);

/* pressure.c: the equation of state with absorption and nonlinearity. */
void KW(plane_total)(const kw_sim *sim, int64_t x, kw_real *total); /* S = sum rho_i of a plane */
void KW(plane_absorption)(kw_sim *sim, int64_t x, kw_scratch *scratch);
void KW(lines_absorption)(kw_sim *sim);
/* spectrum = F_lines^-1 table F_lines spectrum */
void KW(lines_scale)(kw_sim *sim, const kw_real *table, kw_complex *spectrum);
/* p = c0^2 (S + B + Stokes' term) of a plane where no transform is needed. */
void KW(plane_pressure)(kw_sim *sim, int64_t x, const kw_scratch *scratch);
/* p with the terms whose spectra lines_absorption() made. */
void KW(plane_pressure_absorbing)(kw_sim *sim, int64_t x, kw_scratch *scratch);

unsigned KW(flush_denormals)(void);
void KW(restore_denormals)(unsigned old);

/* mixed.c: all but the first are called outside parallel regions. */
int64_t KW(mixed_line_elements)(const kw_layout *layout); /* of the state along the columns */
kw_status KW(mixed_tables)(kw_sim *sim);
void KW(mixed_sources)(kw_sim *sim);
void KW(mixed_start)(kw_sim *sim);
void KW(mixed_step)(kw_sim *sim);
void KW(mixed_pressure)(kw_sim *sim); /* p of the state, if it is not there */
void KW(mixed_refresh)(kw_sim *sim);
void KW(mixed_read)(kw_sim *sim, int a, bool density);
void KW(mixed_write)(kw_sim *sim, int a, bool density);

/* record.c */
int64_t KW(recording_points)(const kw_problem *problem, const kw_recording *asked);
size_t KW(stencil_size)(void);
kw_status KW(recordings_fill)(kw_sim *sim);
void KW(record)(kw_sim *sim); /* the step that was just taken */

/* sources.c */
kw_status KW(sources_fill)(kw_sim *sim, const kw_field_source *fields);
void KW(sources_prepare)(kw_sim *sim); /* what the step's additive sources with a signal per point add */
void KW(sources_velocity)(kw_sim *sim, int a, int64_t x);
void KW(sources_pressure)(kw_sim *sim, int64_t x);

#endif
