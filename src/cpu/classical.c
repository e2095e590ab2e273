/* The k-space pseudospectral step in its classical, split-density form (README, equations 1 to 4).
 *
 *     u_i   <- Ebar_i (Ebar_i u_i - dt/rho0_i F^-1 {P_i kappa F p})
 *     rho_i <- E_i (E_i rho_i - dt rho0 F^-1 {M_i kappa F u_i})
 *     p      = c0^2 sum rho_i
 *
 * Every 3-D transform is split into transforms of planes and of lines across planes, and the pointwise work
 * is done where its data is in cache: four passes over memory instead of ten transforms and their updates.
 */
#include <omp.h>
#include <string.h>

#include "sim.h"

/* Quiet flush of denormals: in the tail of the PML they would cost a hundred times a normal number. */
#if defined(__SSE2__)
#include <xmmintrin.h>
unsigned KW(flush_denormals)(void)
{
    unsigned old = _mm_getcsr();
    _mm_setcsr(old | 0x8040);
    return old;
}
void KW(restore_denormals)(unsigned old) { _mm_setcsr(old); }
#else
unsigned KW(flush_denormals)(void) { return 0; }
void KW(restore_denormals)(unsigned old) { (void)old; }
#endif

/* ---- lines: multiply a tile by kappa and by P_i or M_i = -conj P_i ---- */

typedef enum operator{ GRADIENT, DIVERGENCE } operator;

/* out = in * kappa * (sign g.re + i g.im), one factor g for the row */
static inline void scale_by_one(kw_real *restrict out, const kw_real *restrict in, const kw_real *restrict kappa,
                                kw_real re, kw_real im)
{
    for (int c = 0; c < KW_TILE; c++) {
        kw_real a = re * kappa[c], b = im * kappa[c];
        out[2 * c] = a * in[2 * c] - b * in[2 * c + 1];
        out[2 * c + 1] = a * in[2 * c + 1] + b * in[2 * c];
    }
}

/* the same with a factor for every column */
static inline void scale_by_column(kw_real *restrict out, const kw_real *restrict in, const kw_real *restrict kappa,
                                   const kw_real *restrict g, kw_real sign)
{
    for (int c = 0; c < KW_TILE; c++) {
        kw_real a = sign * g[2 * c] * kappa[c], b = g[2 * c + 1] * kappa[c];
        out[2 * c] = a * in[2 * c] - b * in[2 * c + 1];
        out[2 * c + 1] = a * in[2 * c + 1] + b * in[2 * c];
    }
}

KW_SIMD static void scale_tile(const kw_sim *sim, int a, operator which, int64_t tile, kw_complex *out,
                               const kw_complex *in)
{
    const kw_layout *layout = &sim->layout;
    const kw_real *g = sim->gradient[a];
    kw_real sign = which == GRADIENT ? 1 : -1;
    int64_t n = layout->slots.n[KW_LINES], column = tile * KW_TILE;
    for (int64_t x = 0; x < n; x++) {
        int64_t folded = x <= n / 2 ? x : n - x;
        const kw_real *kappa = sim->kappa + folded * layout->spec_pitch + column;
        kw_real *to = out[x * KW_TILE];
        const kw_real *from = in[x * KW_TILE];
        if (layout->slots.slot[a] == KW_LINES)
            scale_by_one(to, from, kappa, sign * g[2 * x], g[2 * x + 1]);
        else
            scale_by_column(to, from, kappa, g + 2 * column, sign);
    }
}

/* spec_i = F_lines^-1 P_i kappa F_lines spec_0, every axis i */
static void lines_gradient(kw_sim *sim)
{
#pragma omp for schedule(static)
    for (int64_t tile = 0; tile < sim->layout.tiles; tile++) {
        kw_scratch *scratch = &sim->scratch[omp_get_thread_num()];
        KW(line_forward)(&sim->plans, sim->spec[0] + tile * KW_TILE, scratch->in);
        for (int a = 0; a < sim->layout.slots.dims; a++) {
            scale_tile(sim, a, GRADIENT, tile, scratch->out, scratch->in);
            KW(line_inverse)(&sim->plans, scratch->out, sim->spec[a] + tile * KW_TILE);
        }
    }
}

/* spec_i = F_lines^-1 M_i kappa F_lines spec_i, every axis i */
static void lines_divergence(kw_sim *sim)
{
#pragma omp for schedule(static)
    for (int64_t tile = 0; tile < sim->layout.tiles; tile++) {
        kw_scratch *scratch = &sim->scratch[omp_get_thread_num()];
        for (int a = 0; a < sim->layout.slots.dims; a++) {
            KW(line_forward)(&sim->plans, sim->spec[a] + tile * KW_TILE, scratch->in);
            scale_tile(sim, a, DIVERGENCE, tile, scratch->out, scratch->in);
            KW(line_inverse)(&sim->plans, scratch->out, sim->spec[a] + tile * KW_TILE);
        }
    }
}

/* ---- planes: update fields row by row ---- */

/* v = e (e v - c g), where e and c are numbers or rows (then not NULL) */
static inline void damped_update(kw_real *restrict v, const kw_real *restrict g, const kw_real *e_row, kw_real e,
                                 const kw_real *c_row, kw_real c, int64_t n)
{
#define KW_UPDATE(E, C)                                                                                                \
    for (int64_t z = 0; z < n; z++) v[z] = (E) * ((E)*v[z] - (C)*g[z])
    if (e_row != NULL && c_row != NULL)
        KW_UPDATE(e_row[z], c_row[z]);
    else if (e_row != NULL)
        KW_UPDATE(e_row[z], c);
    else if (c_row != NULL)
        KW_UPDATE(e, c_row[z]);
    else
        KW_UPDATE(e, c);
#undef KW_UPDATE
}

/* dt/rho0_i of one row, rho0_i the mean of the densities at a point and its neighbour along axis a; at the
 * last point its own density. Returns `row`, or NULL where the density is constant. */
static inline const kw_real *staggered_row(const kw_sim *sim, int a, int64_t x, int64_t y, kw_real *row)
{
    const kw_layout *layout = &sim->layout;
    int64_t columns = layout->slots.n[KW_COLUMNS];
    if (sim->staggered[a] != NULL) {
        const kw_real *given = sim->staggered[a] + x * layout->real_pitch + y * columns;
        for (int64_t z = 0; z < columns; z++) row[z] = sim->dt / given[z];
        return row;
    }
    if (sim->rho0_map == NULL) return NULL;
    const kw_real *here = sim->rho0_map + x * layout->real_pitch + y * columns, *next = here;
    if (layout->slots.slot[a] == KW_LINES && x + 1 < layout->slots.n[KW_LINES]) next = here + layout->real_pitch;
    if (layout->slots.slot[a] == KW_ROWS && y + 1 < layout->slots.n[KW_ROWS]) next = here + columns;
    kw_real twice = 2 * sim->dt;
    if (layout->slots.slot[a] == KW_COLUMNS) {
        for (int64_t z = 0; z < columns - 1; z++) row[z] = twice / (here[z] + here[z + 1]);
        row[columns - 1] = sim->dt / here[columns - 1];
    } else {
        for (int64_t z = 0; z < columns; z++) row[z] = twice / (here[z] + next[z]);
    }
    return row;
}

/* The damping factor of a row: a number, or a row of them (the return value) along the columns. */
static inline const kw_real *damping(const kw_layout *layout, int a, const kw_real *table, int64_t x, int64_t y,
                                     kw_real *number)
{
    if (layout->slots.slot[a] == KW_COLUMNS) return table;
    *number = table[layout->slots.slot[a] == KW_LINES ? x : y];
    return NULL;
}

KW_SIMD static void update_velocity(kw_sim *sim, int a, int64_t x, const kw_real *gradient, kw_real *row)
{
    const kw_layout *layout = &sim->layout;
    int64_t columns = layout->slots.n[KW_COLUMNS];
    for (int64_t y = 0; y < layout->slots.n[KW_ROWS]; y++) {
        kw_real e = 1;
        const kw_real *e_row = damping(layout, a, sim->pml_staggered[a], x, y, &e);
        const kw_real *c_row = staggered_row(sim, a, x, y, row);
        damped_update(sim->u[a] + x * layout->real_pitch + y * columns, gradient + y * columns, e_row, e, c_row,
                      sim->dt / sim->rho0, columns);
    }
}

/* rho_i <- E_i (E_i rho_i - dt f d_i), f = rho0, in nonlinear media rho0 + 2 S; `total` is S before the step, or NULL
 */
KW_SIMD static void update_density(kw_sim *sim, int a, int64_t x, const kw_real *divergence, const kw_real *total,
                                   kw_real *row)
{
    const kw_layout *layout = &sim->layout;
    int64_t columns = layout->slots.n[KW_COLUMNS];
    for (int64_t y = 0; y < layout->slots.n[KW_ROWS]; y++) {
        kw_real e = 1;
        const kw_real *e_row = damping(layout, a, sim->pml[a], x, y, &e), *c_row = NULL;
        if (sim->rho0_map != NULL) {
            const kw_real *rho0 = sim->rho0_map + x * layout->real_pitch + y * columns;
            for (int64_t z = 0; z < columns; z++) row[z] = sim->dt * rho0[z];
            c_row = row;
        }
        if (total != NULL) {
            for (int64_t z = 0; z < columns; z++)
                row[z] = (c_row != NULL ? row[z] : sim->dt * sim->rho0) + 2 * sim->dt * total[y * columns + z];
            c_row = row;
        }
        damped_update(sim->rho[a] + x * layout->real_pitch + y * columns, divergence + y * columns, e_row, e, c_row,
                      sim->dt * sim->rho0, columns);
    }
}

KW_SIMD static void accumulate(kw_real *restrict sum, const kw_real *restrict term, int64_t count)
{
    for (int64_t q = 0; q < count; q++) sum[q] += term[q];
}

static void transform_pressure(kw_sim *sim, int64_t x)
{
    KW(plane_forward)
    (&sim->plans, sim->p + x * sim->layout.real_pitch, sim->spec[0] + x * sim->layout.spec_pitch);
}

/* u_i from the gradients in spec_i, and spec_i = F_planes u_i */
static void planes_velocity(kw_sim *sim)
{
#pragma omp for schedule(static)
    for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++) {
        kw_scratch *scratch = &sim->scratch[omp_get_thread_num()];
        for (int a = 0; a < sim->layout.slots.dims; a++) {
            kw_complex *spec = sim->spec[a] + x * sim->layout.spec_pitch;
            KW(plane_inverse)(&sim->plans, spec, scratch->plane);
            update_velocity(sim, a, x, scratch->plane, scratch->row);
            KW(sources_velocity)(sim, a, x);
            KW(plane_forward)(&sim->plans, sim->u[a] + x * sim->layout.real_pitch, spec);
        }
    }
}

/* The densities of a plane from the divergences in spec_i; without `moves` only what the absorption needs of them. */
static void plane_density(kw_sim *sim, int64_t x, bool moves, kw_scratch *scratch)
{
    const kw_real *total = NULL;
    int64_t count = kw_plane_points(sim);
    if (scratch->divergence != NULL) memset(scratch->divergence, 0, (size_t)count * sizeof(kw_real));
    if (sim->problem->nonlinear) {
        KW(plane_total)(sim, x, scratch->total);
        total = scratch->total;
    }
    for (int a = 0; a < sim->layout.slots.dims; a++) {
        KW(plane_inverse)(&sim->plans, sim->spec[a] + x * sim->layout.spec_pitch, scratch->plane);
        if (scratch->divergence != NULL) accumulate(scratch->divergence, scratch->plane, count);
        if (moves) update_density(sim, a, x, scratch->plane, total, scratch->row);
    }
    if (moves) KW(sources_pressure)(sim, x);
    if (sim->problem->absorption.on) KW(plane_absorption)(sim, x, scratch);
}

/* rho_i from the divergences in spec_i, p from the rho_i, and spec_0 = F_planes p. A power law needs a pass over lines
 * in between. */
static void planes_density(kw_sim *sim, bool moves)
{
    bool fractional = sim->attenuates || sim->disperses;
#pragma omp for schedule(static)
    for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++) {
        kw_scratch *scratch = &sim->scratch[omp_get_thread_num()];
        plane_density(sim, x, moves, scratch);
        if (fractional) continue;
        KW(plane_pressure)(sim, x, scratch);
        transform_pressure(sim, x);
    }
    if (!fractional) return;
    KW(lines_absorption)(sim);
#pragma omp for schedule(static)
    for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++) {
        KW(plane_pressure_absorbing)(sim, x, &sim->scratch[omp_get_thread_num()]);
        transform_pressure(sim, x);
    }
}

void KW(classical_step)(kw_sim *sim)
{
#pragma omp parallel num_threads(sim->threads)
    {
        unsigned mode = KW(flush_denormals)();
        KW(sources_prepare)(sim);
        lines_gradient(sim);
        planes_velocity(sim);
        lines_divergence(sim);
        planes_density(sim, true);
        KW(restore_denormals)(mode);
    }
}

/* Absorption makes p depend on the divergences too: they follow from u. */
static void refresh_divergence(kw_sim *sim)
{
#pragma omp for schedule(static)
    for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++)
        for (int a = 0; a < sim->layout.slots.dims; a++) {
            kw_complex *spec = sim->spec[a] + x * sim->layout.spec_pitch;
            KW(plane_forward)(&sim->plans, sim->u[a] + x * sim->layout.real_pitch, spec);
        }
    lines_divergence(sim);
    planes_density(sim, false);
}

void KW(classical_refresh)(kw_sim *sim)
{
#pragma omp parallel num_threads(sim->threads)
    {
        unsigned mode = KW(flush_denormals)();
        if (sim->problem->absorption.on) {
            refresh_divergence(sim);
        } else {
#pragma omp for schedule(static)
            for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++) {
                KW(plane_pressure)(sim, x, &sim->scratch[omp_get_thread_num()]);
                transform_pressure(sim, x);
            }
        }
        KW(restore_denormals)(mode);
    }
}

/* ---- start ---- */

static void start_density(kw_sim *sim, int64_t x)
{
    int64_t first = x * sim->layout.real_pitch, count = sim->layout.slots.n[KW_ROWS] * sim->layout.slots.n[KW_COLUMNS];
    kw_real dims = (kw_real)sim->layout.slots.dims;
    for (int64_t q = first; q < first + count; q++) {
        kw_real share = sim->p[q] / (dims * (sim->c2_map != NULL ? sim->c2_map[q] : sim->c2));
        for (int a = 0; a < sim->layout.slots.dims; a++) sim->rho[a][q] = share;
    }
}

/* u_i(-dt/2) = +dt/(2 rho0_i) F^-1 {P_i kappa F p0} */
static void start_velocity(kw_sim *sim, int a, int64_t x, const kw_real *gradient, kw_real *row)
{
    const kw_layout *layout = &sim->layout;
    int64_t columns = layout->slots.n[KW_COLUMNS];
    for (int64_t y = 0; y < layout->slots.n[KW_ROWS]; y++) {
        const kw_real *c_row = staggered_row(sim, a, x, y, row), *g = gradient + y * columns;
        kw_real *u = sim->u[a] + x * layout->real_pitch + y * columns;
        for (int64_t z = 0; z < columns; z++) u[z] = (c_row != NULL ? c_row[z] : sim->dt / sim->rho0) * g[z] / 2;
    }
}

void KW(classical_start)(kw_sim *sim)
{
#pragma omp parallel num_threads(sim->threads)
    {
        kw_scratch *scratch = &sim->scratch[omp_get_thread_num()];
#pragma omp for schedule(static)
        for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++) transform_pressure(sim, x);
        lines_gradient(sim);
#pragma omp for schedule(static)
        for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++) {
            for (int a = 0; a < sim->layout.slots.dims; a++) {
                KW(plane_inverse)(&sim->plans, sim->spec[a] + x * sim->layout.spec_pitch, scratch->plane);
                start_velocity(sim, a, x, scratch->plane, scratch->row);
            }
            start_density(sim, x);
            transform_pressure(sim, x);
        }
    }
}
