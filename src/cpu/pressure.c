/* The equation of state (README, equations 3, 6 and 7):
 *
 *     p = c0^2 (S + A + B),   B = BonA S^2/(2 rho0) in nonlinear media,
 *     A = tau rho0 sum d_i                                                         Stokes (y = 2)
 *     A = tau F^-1{|k|^(y-2) F(rho0 sum d_i)} - eta F^-1{|k|^(y-1) F(S)}           other power laws
 */
#include <omp.h>

#include "sim.h"

/* v *= f, f a number or a plane */
static inline void multiply(kw_real *restrict v, const kw_real *restrict map, kw_real number, int64_t count)
{
    if (map != NULL)
        for (int64_t q = 0; q < count; q++) v[q] *= map[q];
    else
        for (int64_t q = 0; q < count; q++) v[q] *= number;
}

/* v += sign f t */
static inline void add_product(kw_real *restrict v, const kw_real *restrict map, kw_real number, kw_real sign,
                               const kw_real *restrict t, int64_t count)
{
    if (map != NULL)
        for (int64_t q = 0; q < count; q++) v[q] += sign * map[q] * t[q];
    else
        for (int64_t q = 0; q < count; q++) v[q] += sign * number * t[q];
}

static inline const kw_real *plane_of(const kw_sim *sim, const kw_real *map, int64_t x)
{
    return map != NULL ? map + x * sim->layout.real_pitch : NULL;
}

KW_SIMD void KW(plane_total)(const kw_sim *sim, int64_t x, kw_real *restrict total)
{
    int64_t first = x * sim->layout.real_pitch, count = kw_plane_points(sim);
    const kw_real *restrict r0 = sim->rho[0] + first;
    for (int64_t q = 0; q < count; q++) total[q] = r0[q];
    for (int a = 1; a < sim->layout.slots.dims; a++) {
        const kw_real *restrict r = sim->rho[a] + first;
        for (int64_t q = 0; q < count; q++) total[q] += r[q];
    }
}

/* S, plus BonA S^2/(2 rho0) */
static inline void add_nonlinear(const kw_sim *sim, int64_t x, kw_real *restrict s, int64_t count)
{
    const kw_real *bona = plane_of(sim, sim->bona_map, x), *rho0 = plane_of(sim, sim->rho0_map, x);
    if (!sim->problem->nonlinear) return;
    for (int64_t q = 0; q < count; q++) {
        kw_real b = bona != NULL ? bona[q] : sim->bona, r = rho0 != NULL ? rho0[q] : sim->rho0;
        s[q] += b * s[q] * s[q] / (2 * r);
    }
}

KW_SIMD void KW(plane_pressure)(kw_sim *sim, int64_t x, const kw_scratch *scratch)
{
    int64_t count = kw_plane_points(sim);
    kw_real *p = sim->p + x * sim->layout.real_pitch;
    KW(plane_total)(sim, x, p);
    add_nonlinear(sim, x, p, count);
    if (sim->problem->absorption.on) /* Stokes: scratch->divergence holds rho0 sum d_i */
        add_product(p, plane_of(sim, sim->tau_map, x), sim->tau, 1, scratch->divergence, count);
    multiply(p, plane_of(sim, sim->c2_map, x), sim->c2, count);
}

KW_SIMD void KW(plane_pressure_absorbing)(kw_sim *sim, int64_t x, kw_scratch *scratch)
{
    int64_t count = kw_plane_points(sim), pitch = sim->layout.spec_pitch;
    kw_real *p = sim->p + x * sim->layout.real_pitch;
    KW(plane_total)(sim, x, p);
    add_nonlinear(sim, x, p, count);
    if (sim->attenuates) {
        KW(plane_inverse)(&sim->plans, sim->absorb[0] + x * pitch, scratch->total);
        add_product(p, plane_of(sim, sim->tau_map, x), sim->tau, 1, scratch->total, count);
    }
    if (sim->disperses) {
        KW(plane_inverse)(&sim->plans, sim->absorb[1] + x * pitch, scratch->total);
        add_product(p, plane_of(sim, sim->eta_map, x), sim->eta, -1, scratch->total, count);
    }
    multiply(p, plane_of(sim, sim->c2_map, x), sim->c2, count);
}

/* scratch->divergence, the sum of the d_i, becomes rho0 times it; its plane transform and that of S go to absorb[]. */
KW_SIMD void KW(plane_absorption)(kw_sim *sim, int64_t x, kw_scratch *scratch)
{
    int64_t pitch = sim->layout.spec_pitch;
    multiply(scratch->divergence, plane_of(sim, sim->rho0_map, x), sim->rho0, kw_plane_points(sim));
    if (sim->attenuates) KW(plane_forward)(&sim->plans, scratch->divergence, sim->absorb[0] + x * pitch);
    if (!sim->disperses) return;
    KW(plane_total)(sim, x, scratch->total);
    KW(plane_forward)(&sim->plans, scratch->total, sim->absorb[1] + x * pitch);
}

KW_SIMD static void scale_tile_by(const kw_sim *sim, const kw_real *table, int64_t tile, kw_complex *lines)
{
    int64_t n = sim->layout.slots.n[KW_LINES];
    for (int64_t x = 0; x < n; x++) {
        const kw_real *factor = table + (x <= n / 2 ? x : n - x) * sim->layout.spec_pitch + tile * KW_TILE;
        kw_real *v = lines[x * KW_TILE];
        for (int c = 0; c < KW_TILE; c++) {
            v[2 * c] *= factor[c];
            v[2 * c + 1] *= factor[c];
        }
    }
}

void KW(lines_scale)(kw_sim *sim, const kw_real *table, kw_complex *spectrum)
{
#pragma omp for schedule(static)
    for (int64_t tile = 0; tile < sim->layout.tiles; tile++) {
        kw_scratch *scratch = &sim->scratch[omp_get_thread_num()];
        KW(line_forward)(&sim->plans, spectrum + tile * KW_TILE, scratch->in);
        scale_tile_by(sim, table, tile, scratch->in);
        KW(line_inverse)(&sim->plans, scratch->in, spectrum + tile * KW_TILE);
    }
}

void KW(lines_absorption)(kw_sim *sim)
{
    if (sim->attenuates) KW(lines_scale)(sim, sim->power[0], sim->absorb[0]);
    if (sim->disperses) KW(lines_scale)(sim, sim->power[1], sim->absorb[1]);
}
