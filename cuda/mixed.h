/* The step in mixed space (axis_step.h) and its state: F S whole, m_i = rho0 u_i and, in the slabs, sigma_i = rho_i
 * transformed along every axis but i. p is made in real space where it is recorded or looked at. */
#ifndef KW_CUDA_MIXED_H
#define KW_CUDA_MIXED_H

#include "axis_step.h"
#include "kernels.h"
#include "kwsim/backend.h"

struct kw_sim;

/* What the state of a source that acts on mixed space adds, for a signal of 1. */
typedef struct kw_mixed_source {
    float2 *total;      /* pressure: to F S */
    float2 *density[3]; /* pressure: to the slabs */
    float2 *momentum;   /* velocity: to m_i before it is damped */
} kw_mixed_source;

typedef struct kw_mixed {
    bool on;
    bool fresh;  /* p holds the state's pressure everywhere */
    bool corner; /* there are points in the slabs of every axis */
    kw_spectrum_shape shape;
    kw_axis axis[3]; /* by active axis; so below */
    kw_radial kappa;
    float2 *total, *sum; /* F S; scratch, and the axes' parts */
    float2 *pressure;    /* F p, where c0 is a map; else NULL */
    kw_axis_step step[3];
    float2 *momentum[3], *density[3];
    float *table[3]; /* root, variable, gradient, damping, slab, place of each axis, one after the other */
    float *flat_variable;
    float *gain; /* [KW_AXIS_SOURCES], of this step */
    kw_mixed_source source[KW_AXIS_SOURCES];

    unsigned char *row_needed; /* host, [lines rows]: rows of p that recordings read */
    unsigned char *wanted;     /* device, [lines] */
    int *planes, *rows;        /* device: lists of them */
    int plane_count, row_count;
    float2 *held; /* [dims] real fields of the densities, while they are read or written from outside */
} kw_mixed;

/* Why the GPU's mixed space cannot take the problem, in words for a person; NULL if it can. */
const char *kw_mixed_obstacle_here(const kw_problem *problem);

/* Is the run to be taken in mixed space? */
bool kw_mixed_taken_here(const kw_problem *problem);

/* Adds the state's bytes to a plan. */
void kw_mixed_plan(const kw_problem *problem, kw_memory_plan *plan);

/* Lays the state out in the arena from `at` on; returns its end. */
char *kw_mixed_carve(kw_sim *sim, char *at);

/* Tables; then, with the maps, recordings and points of sources there, what the sources add; then, with p0 in p, the
 * state before step 0. */
kw_status kw_mixed_fill(kw_sim *sim);
kw_status kw_mixed_sources(kw_sim *sim);
kw_status kw_mixed_start(kw_sim *sim);

/* A step, with p where recordings want it if `shows`. */
kw_status kw_mixed_step(kw_sim *sim, bool shows);

/* Every KW_MIXED_MEND steps F S is set to the sum of the densities where a point lies in the slabs of every axis: nothing
 * else damps a rounding error there. */
enum { KW_MIXED_MEND = 50 };
kw_status kw_mixed_mend(kw_sim *sim);

/* True if a step that shows p shows it everywhere. */
bool kw_mixed_shows_all(const kw_sim *sim);

/* p everywhere. */
kw_status kw_mixed_pressure(kw_sim *sim);

/* The real field of a component (active axis a), for reading and, followed by kw_mixed_written(), writing: its array. */
kw_status kw_mixed_component(kw_sim *sim, int a, bool density, float2 **field);
kw_status kw_mixed_written(kw_sim *sim, int a, bool density);

/* The state from densities that were written; frees what was held. */
kw_status kw_mixed_refresh(kw_sim *sim);
void kw_mixed_release(kw_sim *sim);

#endif
