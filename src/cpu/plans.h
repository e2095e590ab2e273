/* FFTW's plans for planes and lines, and their wisdom on disk. Plans are single-threaded: the threads of the
 * stepper each take planes or tiles, so results do not depend on their number. */
#ifndef KW_CPU_PLANS_H
#define KW_CPU_PLANS_H

#include "kwsim/status.h"
#include "layout.h"
#include "real.h"

typedef struct KW(plans) {
    FFTW(plan) plane_forward; /* real plane -> half spectrum, input kept */
    FFTW(plan) plane_inverse; /* half spectrum -> real plane, input destroyed; unscaled */
    FFTW(plan) line_forward;  /* KW_TILE lines of a spectrum -> tile [line point][KW_TILE] */
    FFTW(plan) line_inverse;  /* tile -> spectrum; unscaled */
    FFTW(plan)
    axis_forward[3], axis_inverse[3]; /* mixed space: lines of each active axis, in place in a tile; or NULL */
    char id[40];                      /* names the plans: the same id, the same bits */
    double seconds;                   /* of planning */
} KW(plans);

/* Measures the plans on scratch memory, which is overwritten: a real plane, one plane-aligned spectrum of the
 * whole layout, and a tile. With `wisdom`, plans measured earlier are taken from the cache folder and new ones
 * are kept there. KW_ERR_RESOURCE if FFTW cannot plan. */
kw_status KW(plans_make)(KW(plans) * plans, const kw_layout *layout, kw_real *plane, kw_complex *spectrum,
                         kw_complex *tile, int wisdom);

/* Plans of the mixed-space step, width[a] lines of active axis a at a time in `tile`: neighbours side by side, or, along
 * the columns, whole lines one after the other. Part of the id. */
kw_status KW(plans_make_axes)(KW(plans) * plans, const kw_layout *layout, const int width[3], kw_complex *tile,
                              int wisdom);

/* Accepts zeroed plans. */
void KW(plans_destroy)(KW(plans) * plans);

static inline void KW(plane_forward)(const KW(plans) * plans, kw_real *plane, kw_complex *spectrum)
{
    FFTW(execute_dft_r2c)(plans->plane_forward, plane, spectrum);
}

static inline void KW(plane_inverse)(const KW(plans) * plans, kw_complex *spectrum, kw_real *plane)
{
    FFTW(execute_dft_c2r)(plans->plane_inverse, spectrum, plane);
}

static inline void KW(axis_forward)(const KW(plans) * plans, int a, kw_complex *tile)
{
    FFTW(execute_dft)(plans->axis_forward[a], tile, tile);
}

static inline void KW(axis_inverse)(const KW(plans) * plans, int a, kw_complex *tile)
{
    FFTW(execute_dft)(plans->axis_inverse[a], tile, tile);
}

static inline void KW(line_forward)(const KW(plans) * plans, kw_complex *spectrum, kw_complex *tile)
{
    FFTW(execute_dft)(plans->line_forward, spectrum, tile);
}

static inline void KW(line_inverse)(const KW(plans) * plans, kw_complex *tile, kw_complex *spectrum)
{
    FFTW(execute_dft)(plans->line_inverse, tile, spectrum);
}

#endif
