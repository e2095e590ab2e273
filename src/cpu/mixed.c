/* The mixed-space step, for linear lossless media of constant density (README, "Mixed space").
 *
 * A PML factor depends on the coordinate along its own axis alone, so it commutes with the transforms along the others.
 * u_i and rho_i are therefore kept transformed along every axis but i, and a step needs lines of axis i only:
 *
 *     u_i   <- Ebar_i (Ebar_i u_i - dt/rho0 F_i^-1 {P_i kappa F p})       along i; then transformed along i
 *     rho_i <- E_i (E_i rho_i - dt rho0 F_i^-1 {M_i kappa F u_i})         along i; then transformed along i
 *     F p    = c0^2 sum F rho_i,   or, where c0 is a map, F (c0^2 F^-1 sum F rho_i)
 *
 * four transforms of a line that stays in cache, one pass over memory for each axis: 12 passes of line transforms where the
 * classical step has 30. The numbers are the same.
 *
 * Lines along the halved axis are whole; those of half the other wavenumbers suffice, the rest follows from symmetry:
 *     Y(k)[kh] = X(k, kh), kh <= n/2;   conj X(-k, n - kh), kh > n/2. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/tables.h"
#include "sim.h"

/* ---- tiles: neighbouring lines across planes, or across the rows of a plane ---- */

/* One tile: element (j, c) is at first + j stride + c of a spectrum. */
typedef struct kw_mixed_tile {
    int64_t n, stride, first;
    int width, valid; /* lines in the tile, and of these the real ones */
    const kw_real *kappa;
    int64_t kappa_stride;
    bool folds; /* the factors of j are those of n - j beyond the middle */
} kw_mixed_tile;

static inline const kw_real *kappa_row(const kw_mixed_tile *tile, int64_t j)
{
    int64_t row = tile->folds && j > tile->n / 2 ? tile->n - j : j;
    return tile->kappa + row * tile->kappa_stride;
}

static int64_t tile_count(const kw_sim *sim, int a)
{
    const kw_layout *layout = &sim->layout;
    if (layout->slots.slot[a] == KW_LINES) return layout->tiles;
    return layout->slots.n[KW_LINES] * ((layout->slots.bins + sim->mixed.width[a] - 1) / sim->mixed.width[a]);
}

static kw_mixed_tile find_tile(const kw_sim *sim, int a, int64_t number)
{
    const kw_layout *layout = &sim->layout;
    int64_t lines = layout->slots.n[KW_LINES], bins = layout->slots.bins;
    kw_mixed_tile tile = {.width = sim->mixed.width[a]};
    if (layout->slots.slot[a] == KW_LINES) {
        tile.n = lines;
        tile.stride = tile.kappa_stride = layout->spec_pitch;
        tile.first = number * KW_TILE;
        tile.valid = KW_TILE;
        tile.kappa = sim->kappa + tile.first;
        tile.folds = true;
        return tile;
    }
    int64_t across = (bins + tile.width - 1) / tile.width, x = number / across, column = number % across * tile.width;
    tile.n = layout->slots.n[KW_ROWS];
    tile.stride = tile.kappa_stride = bins;
    tile.first = x * layout->spec_pitch + column;
    tile.valid = (int)(bins - column < tile.width ? bins - column : tile.width);
    tile.kappa = sim->kappa + (x <= lines / 2 ? x : lines - x) * layout->spec_pitch + column;
    return tile;
}

/* tile = g kappa spectrum, g[j] complex; lines that are not there are 0 */
KW_SIMD static void gather_scaled(const kw_mixed_tile *tile, const kw_complex *spectrum, const kw_real *g,
                                  kw_complex *out)
{
    for (int64_t j = 0; j < tile->n; j++) {
        const kw_real *kappa = kappa_row(tile, j), *in = spectrum[tile->first + j * tile->stride];
        kw_real *to = out[j * tile->width], re = g[2 * j], im = g[2 * j + 1];
        for (int c = 0; c < tile->valid; c++) {
            kw_real a = re * kappa[c], b = im * kappa[c];
            to[2 * c] = a * in[2 * c] - b * in[2 * c + 1];
            to[2 * c + 1] = a * in[2 * c + 1] + b * in[2 * c];
        }
        for (int c = 2 * tile->valid; c < 2 * tile->width; c++) to[c] = 0;
    }
}

/* tile *= g kappa */
KW_SIMD static void scale_in_place(const kw_mixed_tile *tile, const kw_real *g, kw_complex *lines)
{
    for (int64_t j = 0; j < tile->n; j++) {
        const kw_real *kappa = kappa_row(tile, j);
        kw_real *v = lines[j * tile->width], re = g[2 * j], im = g[2 * j + 1];
        for (int c = 0; c < tile->valid; c++) {
            kw_real a = re * kappa[c], b = im * kappa[c], x = v[2 * c], y = v[2 * c + 1];
            v[2 * c] = a * x - b * y;
            v[2 * c + 1] = a * y + b * x;
        }
    }
}

/* state = e (e state - tile), and tile = state; e[j] */
KW_SIMD static void damp(const kw_mixed_tile *tile, const kw_real *e, kw_complex *state, kw_complex *lines)
{
    for (int64_t j = 0; j < tile->n; j++) {
        int64_t at = tile->first + j * tile->stride;
        kw_real *s = state[at], *v = lines[j * tile->width], f = e[j];
        for (int c = 0; c < 2 * tile->valid; c++) v[c] = s[c] = f * (f * s[c] - v[c]);
    }
}

KW_SIMD static void add_more(const kw_mixed_tile *tile, kw_complex *state, const kw_complex *more, kw_real gain,
                             kw_complex *lines)
{
    for (int64_t j = 0; j < tile->n; j++) {
        int64_t at = tile->first + j * tile->stride;
        const kw_real *m = more[at];
        kw_real *s = state[at], *v = lines[j * tile->width];
        for (int c = 0; c < 2 * tile->valid; c++) v[c] = s[c] += gain * m[c];
    }
}

/* spectrum = tile, or += */
KW_SIMD static void scatter(const kw_mixed_tile *tile, const kw_complex *lines, bool adds, kw_real factor,
                            kw_complex *spectrum)
{
    for (int64_t j = 0; j < tile->n; j++) {
        kw_real *to = spectrum[tile->first + j * tile->stride];
        const kw_real *v = lines[j * tile->width];
        if (adds)
            for (int c = 0; c < 2 * tile->valid; c++) to[c] += factor * v[c];
        else
            for (int c = 0; c < 2 * tile->valid; c++) to[c] = factor * v[c];
    }
}

KW_SIMD static void gather(const kw_mixed_tile *tile, const kw_complex *spectrum, kw_complex *lines)
{
    for (int64_t j = 0; j < tile->n; j++) {
        const kw_real *from = spectrum[tile->first + j * tile->stride];
        kw_real *v = lines[j * tile->width];
        for (int c = 0; c < 2 * tile->valid; c++) v[c] = from[c];
        for (int c = 2 * tile->valid; c < 2 * tile->width; c++) v[c] = 0;
    }
}

/* ---- batches: whole lines along the halved axis, one after the other ---- */

/* Wavenumbers of a line, and of its mirror image. */
typedef struct kw_mixed_line {
    int64_t here, mirror; /* offsets of their rows in a spectrum */
    bool writes_mirror;   /* the mirror's row is written from this line: no line of its own stands for it */
    const kw_real *kappa; /* [bins] */
} kw_mixed_line;

static kw_mixed_line find_line(const kw_sim *sim, int64_t number)
{
    const kw_layout *layout = &sim->layout;
    int64_t lines = layout->slots.n[KW_LINES], rows = layout->slots.n[KW_ROWS], bins = layout->slots.bins;
    bool flat = layout->slots.dims == 2;
    int64_t half = flat ? 1 : rows / 2 + 1, x = number / half, y = number % half;
    int64_t mx = (lines - x) % lines, my = (rows - y) % rows;
    kw_mixed_line line = {.here = x * layout->spec_pitch + y * bins, .mirror = mx * layout->spec_pitch + my * bins};
    line.writes_mirror = flat ? mx > lines / 2 : my > rows / 2;
    line.kappa = sim->kappa + (x <= lines / 2 ? x : lines - x) * layout->spec_pitch + y * bins;
    return line;
}

static int64_t line_count(const kw_slots *slots)
{
    return slots->dims == 2 ? slots->n[KW_LINES] / 2 + 1 : slots->n[KW_LINES] * (slots->n[KW_ROWS] / 2 + 1);
}

int64_t KW(mixed_line_elements)(const kw_layout *layout)
{
    return line_count(&layout->slots) * layout->slots.n[KW_COLUMNS];
}

static void read_line(const kw_sim *sim, const kw_mixed_line *line, const kw_complex *spectrum, kw_complex *y)
{
    int64_t n = sim->layout.slots.n[KW_COLUMNS];
    memcpy(y, spectrum + line->here, (size_t)(n / 2 + 1) * sizeof *y);
    for (int64_t k = n / 2 + 1; k < n; k++) {
        const kw_real *from = spectrum[line->mirror + n - k];
        y[k][0] = from[0];
        y[k][1] = -from[1];
    }
}

static void write_line(const kw_sim *sim, const kw_mixed_line *line, const kw_complex *y, bool adds, kw_real factor,
                       kw_complex *spectrum)
{
    int64_t n = sim->layout.slots.n[KW_COLUMNS];
    kw_real keep = adds ? 1 : 0;
    for (int64_t k = 0; k <= n / 2; k++) {
        kw_real *to = spectrum[line->here + k];
        to[0] = keep * to[0] + factor * y[k][0];
        to[1] = keep * to[1] + factor * y[k][1];
    }
    for (int64_t k = 0; k <= n / 2 && line->writes_mirror; k++) {
        kw_real *to = spectrum[line->mirror + k];
        const kw_real *from = y[k == 0 ? 0 : n - k];
        to[0] = keep * to[0] + factor * from[0];
        to[1] = keep * to[1] - factor * from[1];
    }
}

/* y *= g kappa */
KW_SIMD static void scale_line(int64_t n, const kw_real *kappa, const kw_real *g, kw_complex *y)
{
    for (int64_t k = 0; k < n; k++) {
        kw_real factor = kappa[k <= n / 2 ? k : n - k], a = g[2 * k] * factor, b = g[2 * k + 1] * factor;
        kw_real re = y[k][0], im = y[k][1];
        y[k][0] = a * re - b * im;
        y[k][1] = a * im + b * re;
    }
}

KW_SIMD static void damp_line(int64_t n, const kw_real *e, kw_complex *restrict state, kw_complex *restrict y)
{
    for (int64_t k = 0; k < n; k++) {
        state[k][0] = e[k] * (e[k] * state[k][0] - y[k][0]);
        state[k][1] = e[k] * (e[k] * state[k][1] - y[k][1]);
        y[k][0] = state[k][0];
        y[k][1] = state[k][1];
    }
}

KW_SIMD static void add_line(int64_t n, kw_complex *restrict state, const kw_complex *restrict more, kw_real gain,
                             kw_complex *restrict y)
{
    for (int64_t k = 0; k < n; k++) {
        y[k][0] = state[k][0] += gain * more[k][0];
        y[k][1] = state[k][1] += gain * more[k][1];
    }
}

/* ---- one axis of a step ---- */

/* Adds what the sources of a quantity (`axis` >= 0: a velocity, -1: the pressure) put into the tile or the line. */
static void add_sources(const kw_sim *sim, int a, int axis, const kw_mixed_tile *tile, int64_t first, int64_t n,
                        kw_complex *state, kw_complex *lines)
{
    for (int64_t s = 0; s < sim->problem->source_count; s++) {
        const kw_cpu_source *source = &sim->sources[s];
        if (source->axis != axis || !kw_source_acts(source->source, sim->steps)) continue;
        kw_real gain = (kw_real)kw_source_value(source->source, 0, sim->steps);
        if (gain == 0) continue;
        if (tile != NULL)
            add_more(tile, state, source->mixed[a], gain, lines);
        else
            add_line(n, state + first, source->mixed[a] + first, gain, lines);
    }
}

static void step_tile(kw_sim *sim, int a, int64_t number, kw_complex *lines)
{
    kw_mixed_tile tile = find_tile(sim, a, number);
    const kw_mixed *mixed = &sim->mixed;
    gather_scaled(&tile, sim->spec[0], mixed->gradient[a], lines);
    KW(axis_inverse)(&sim->plans, a, lines);
    damp(&tile, sim->pml_staggered[a], mixed->u[a], lines);
    add_sources(sim, a, a, &tile, 0, 0, mixed->u[a], lines);
    KW(axis_forward)(&sim->plans, a, lines);
    scale_in_place(&tile, mixed->divergence[a], lines);
    KW(axis_inverse)(&sim->plans, a, lines);
    damp(&tile, sim->pml[a], mixed->rho[a], lines);
    add_sources(sim, a, -1, &tile, 0, 0, mixed->rho[a], lines);
    KW(axis_forward)(&sim->plans, a, lines);
    scatter(&tile, lines, a > 0, 1, sim->spec[1]);
}

static void step_batch(kw_sim *sim, int a, int64_t first, int64_t count, kw_complex *lines)
{
    const kw_mixed *mixed = &sim->mixed;
    int64_t n = sim->layout.slots.n[KW_COLUMNS];
    kw_mixed_line line[KW_TILE];
    for (int64_t i = 0; i < KW_TILE; i++) {
        kw_complex *y = lines + i * n;
        if (i >= count) {
            memset(y, 0, (size_t)n * sizeof *y);
            continue;
        }
        line[i] = find_line(sim, first + i);
        read_line(sim, &line[i], sim->spec[0], y);
        scale_line(n, line[i].kappa, mixed->gradient[a], y);
    }
    KW(axis_inverse)(&sim->plans, a, lines);
    for (int64_t i = 0; i < count; i++) {
        damp_line(n, sim->pml_staggered[a], mixed->u[a] + (first + i) * n, lines + i * n);
        add_sources(sim, a, a, NULL, (first + i) * n, n, mixed->u[a], lines + i * n);
    }
    KW(axis_forward)(&sim->plans, a, lines);
    for (int64_t i = 0; i < count; i++) scale_line(n, line[i].kappa, mixed->divergence[a], lines + i * n);
    KW(axis_inverse)(&sim->plans, a, lines);
    for (int64_t i = 0; i < count; i++) {
        damp_line(n, sim->pml[a], mixed->rho[a] + (first + i) * n, lines + i * n);
        add_sources(sim, a, -1, NULL, (first + i) * n, n, mixed->rho[a], lines + i * n);
    }
    KW(axis_forward)(&sim->plans, a, lines);
    for (int64_t i = 0; i < count; i++) write_line(sim, &line[i], lines + i * n, a > 0, 1, sim->spec[1]);
}

/* ---- between representations ---- */

/* dst, transformed along every axis but a, from a whole spectrum, times `factor` and, unless g is NULL, along the axis
 * times g kappa, which then hold the inverse's division by n; all threads. */
static void axis_from_spectrum(kw_sim *sim, int a, const kw_complex *spectrum, const kw_real *g, kw_real factor,
                               kw_complex *dst)
{
    kw_complex *lines = sim->scratch[omp_get_thread_num()].in;
    int64_t n = sim->layout.slots.n[KW_COLUMNS], all = line_count(&sim->layout.slots);
    kw_real scale = g != NULL ? factor : factor / (kw_real)sim->layout.slots.n[sim->layout.slots.slot[a]];
    if (sim->layout.slots.slot[a] != KW_COLUMNS) {
#pragma omp for schedule(static)
        for (int64_t t = 0; t < tile_count(sim, a); t++) {
            kw_mixed_tile tile = find_tile(sim, a, t);
            if (g != NULL)
                gather_scaled(&tile, spectrum, g, lines);
            else
                gather(&tile, spectrum, lines);
            KW(axis_inverse)(&sim->plans, a, lines);
            scatter(&tile, lines, false, scale, dst);
        }
        return;
    }
#pragma omp for schedule(static)
    for (int64_t first = 0; first < all; first += KW_TILE) {
        int64_t count = all - first < KW_TILE ? all - first : KW_TILE;
        memset(lines, 0, (size_t)(n * KW_TILE) * sizeof *lines);
        for (int64_t i = 0; i < count; i++) {
            kw_mixed_line line = find_line(sim, first + i);
            read_line(sim, &line, spectrum, lines + i * n);
            if (g != NULL) scale_line(n, line.kappa, g, lines + i * n);
        }
        KW(axis_inverse)(&sim->plans, a, lines);
        kw_real *to = dst[first * n];
        const kw_real *from = lines[0];
        for (int64_t k = 0; k < 2 * count * n; k++) to[k] = scale * from[k];
    }
}

/* The whole spectrum of a field kept transformed along every axis but a; set, or added. */
static void spectrum_from_axis(kw_sim *sim, int a, const kw_complex *src, bool adds, kw_complex *spectrum)
{
    kw_complex *lines = sim->scratch[omp_get_thread_num()].in;
    int64_t n = sim->layout.slots.n[KW_COLUMNS], all = line_count(&sim->layout.slots);
    if (sim->layout.slots.slot[a] != KW_COLUMNS) {
#pragma omp for schedule(static)
        for (int64_t t = 0; t < tile_count(sim, a); t++) {
            kw_mixed_tile tile = find_tile(sim, a, t);
            gather(&tile, src, lines);
            KW(axis_forward)(&sim->plans, a, lines);
            scatter(&tile, lines, adds, 1, spectrum);
        }
        return;
    }
#pragma omp for schedule(static)
    for (int64_t first = 0; first < all; first += KW_TILE) {
        int64_t count = all - first < KW_TILE ? all - first : KW_TILE;
        memset(lines, 0, (size_t)(n * KW_TILE) * sizeof *lines);
        memcpy(lines, src + first * n, (size_t)(count * n) * sizeof *lines);
        KW(axis_forward)(&sim->plans, a, lines);
        for (int64_t i = 0; i < count; i++) {
            kw_mixed_line line = find_line(sim, first + i);
            write_line(sim, &line, lines + i * n, adds, 1, spectrum);
        }
    }
}

/* The whole spectrum of a padded real field, divided by another one unless that is NULL. */
static void spectrum_from_real(kw_sim *sim, kw_real *field, const kw_real *divisor, kw_complex *spectrum)
{
    const kw_layout *layout = &sim->layout;
#pragma omp for schedule(static)
    for (int64_t x = 0; x < layout->slots.n[KW_LINES]; x++) {
        kw_real *plane = field + x * layout->real_pitch;
        if (divisor != NULL) {
            const kw_real *by = divisor + x * layout->real_pitch, *from = plane;
            plane = sim->scratch[omp_get_thread_num()].plane;
            for (int64_t q = 0; q < kw_plane_points(sim); q++) plane[q] = from[q] / by[q];
        }
        KW(plane_forward)(&sim->plans, plane, spectrum + x * layout->spec_pitch);
    }
#pragma omp for schedule(static)
    for (int64_t t = 0; t < layout->tiles; t++) {
        kw_complex *lines = sim->scratch[omp_get_thread_num()].in;
        kw_mixed_tile tile = {.n = layout->slots.n[KW_LINES],
                              .stride = layout->spec_pitch,
                              .first = t * KW_TILE,
                              .width = KW_TILE,
                              .valid = KW_TILE};
        KW(line_forward)(&sim->plans, spectrum + t * KW_TILE, lines);
        scatter(&tile, lines, false, 1, spectrum);
    }
}

/* A padded real field from its spectrum times `factor`; `work`, which may be the spectrum, is destroyed. */
static void real_from_spectrum(kw_sim *sim, const kw_complex *spectrum, kw_real factor, kw_complex *work,
                               kw_real *field)
{
    const kw_layout *layout = &sim->layout;
#pragma omp for schedule(static)
    for (int64_t t = 0; t < layout->tiles; t++) {
        kw_complex *lines = sim->scratch[omp_get_thread_num()].in;
        kw_mixed_tile tile = {.n = layout->slots.n[KW_LINES],
                              .stride = layout->spec_pitch,
                              .first = t * KW_TILE,
                              .width = KW_TILE,
                              .valid = KW_TILE};
        gather(&tile, spectrum, lines);
        kw_real *v = lines[0];
        for (int64_t k = 0; k < 2 * tile.n * KW_TILE; k++) v[k] *= factor;
        KW(line_inverse)(&sim->plans, lines, work + t * KW_TILE);
    }
#pragma omp for schedule(static)
    for (int64_t x = 0; x < layout->slots.n[KW_LINES]; x++)
        KW(plane_inverse)(&sim->plans, work + x * layout->spec_pitch, field + x * layout->real_pitch);
}

static kw_real one_over_points(const kw_sim *sim) { return 1 / (kw_real)kw_grid_points(&sim->problem->grid); }

/* p of the state in sim->p. Where c0 is a map spec[0], the spectrum of the density, becomes that of p. */
static void make_pressure(kw_sim *sim, bool from_density)
{
    kw_real c2 = sim->c2_map != NULL ? 1 : sim->c2;
    real_from_spectrum(sim, sim->spec[0], c2 * one_over_points(sim), sim->spec[1], sim->p);
    if (sim->c2_map == NULL || !from_density) return;
#pragma omp for schedule(static)
    for (int64_t x = 0; x < sim->layout.slots.n[KW_LINES]; x++) {
        int64_t first = x * sim->layout.real_pitch, count = kw_plane_points(sim);
        for (int64_t q = first; q < first + count; q++) sim->p[q] *= sim->c2_map[q];
    }
    spectrum_from_real(sim, sim->p, NULL, sim->spec[0]);
}

static void swap_spectra(kw_sim *sim)
{
#pragma omp single
    {
        kw_complex *held = sim->spec[0];
        sim->spec[0] = sim->spec[1];
        sim->spec[1] = held;
    }
}

/* ---- the step and what starts it ---- */

void KW(mixed_step)(kw_sim *sim)
{
    const kw_slots *slots = &sim->layout.slots;
#pragma omp parallel num_threads(sim->threads)
    {
        unsigned mode = KW(flush_denormals)();
        kw_complex *lines = sim->scratch[omp_get_thread_num()].in;
        for (int a = 0; a < slots->dims - 1; a++) {
#pragma omp for schedule(static)
            for (int64_t t = 0; t < tile_count(sim, a); t++) step_tile(sim, a, t, lines);
        }
        int64_t all = line_count(slots);
#pragma omp for schedule(static)
        for (int64_t first = 0; first < all; first += KW_TILE)
            step_batch(sim, slots->dims - 1, first, all - first < KW_TILE ? all - first : KW_TILE, lines);
        swap_spectra(sim);
        if (sim->c2_map != NULL) make_pressure(sim, true);
        KW(restore_denormals)(mode);
    }
    sim->mixed.fresh = sim->c2_map != NULL;
}

void KW(mixed_pressure)(kw_sim *sim)
{
    if (sim->mixed.fresh) return;
#pragma omp parallel num_threads(sim->threads)
    make_pressure(sim, false);
    sim->mixed.fresh = true;
}

/* sim->p holds p0. */
void KW(mixed_start)(kw_sim *sim)
{
    const kw_mixed *mixed = &sim->mixed;
    int dims = sim->layout.slots.dims;
    int64_t lines = sim->layout.slots.n[KW_LINES];
#pragma omp parallel num_threads(sim->threads)
    {
        spectrum_from_real(sim, sim->p, NULL, sim->spec[0]);
        if (sim->c2_map != NULL) spectrum_from_real(sim, sim->p, sim->c2_map, sim->spec[1]);
        kw_complex *density = sim->c2_map != NULL ? sim->spec[1] : sim->spec[0];
        for (int a = 0; a < dims; a++)
            axis_from_spectrum(sim, a, density, NULL, (sim->c2_map != NULL ? 1 : 1 / sim->c2) / (kw_real)dims,
                               mixed->rho[a]);
#pragma omp for schedule(static)
        for (int64_t x = 0; x < lines; x++) {
            kw_real *s = sim->spec[0][x * sim->layout.spec_pitch];
            for (int64_t k = 0; k < 2 * sim->layout.spec_pitch && sim->c2_map == NULL; k++) s[k] /= sim->c2;
        }
        for (int a = 0; a < dims; a++) /* u_i(-dt/2) = +dt/(2 rho0) F^-1 {P_i kappa F p0} */
            axis_from_spectrum(sim, a, sim->spec[0], mixed->gradient[a], (kw_real)0.5, mixed->u[a]);
    }
    sim->mixed.fresh = true;
}

/* What a signal of 1 of each source adds, in the representations of the densities, or of its own component. */
void KW(mixed_sources)(kw_sim *sim)
{
#pragma omp parallel num_threads(sim->threads)
    for (int64_t s = 0; s < sim->problem->source_count; s++) {
        kw_cpu_source *source = &sim->sources[s];
        spectrum_from_real(sim, source->field, NULL, sim->spec[1]);
        for (int a = 0; a < sim->layout.slots.dims; a++)
            if (source->axis < 0 || source->axis == a)
                axis_from_spectrum(sim, a, sim->spec[1], NULL, 1, source->mixed[a]);
    }
    memset(sim->spec[1], 0, (size_t)(sim->layout.slots.n[KW_LINES] * sim->layout.spec_pitch) * sizeof *sim->spec[1]);
}

/* The spectrum of p from the densities, after they were written from outside. */
void KW(mixed_refresh)(kw_sim *sim)
{
#pragma omp parallel num_threads(sim->threads)
    {
        for (int a = 0; a < sim->layout.slots.dims; a++)
            spectrum_from_axis(sim, a, sim->mixed.rho[a], a > 0, sim->spec[0]);
        if (sim->c2_map != NULL) make_pressure(sim, true);
    }
    sim->mixed.fresh = sim->c2_map != NULL;
}

/* A component in real space, in sim->p, which no longer holds p then. */
void KW(mixed_read)(kw_sim *sim, int a, bool density)
{
#pragma omp parallel num_threads(sim->threads)
    {
        spectrum_from_axis(sim, a, density ? sim->mixed.rho[a] : sim->mixed.u[a], false, sim->spec[1]);
        real_from_spectrum(sim, sim->spec[1], one_over_points(sim), sim->spec[1], sim->p);
    }
    sim->mixed.fresh = false;
}

/* The component becomes what sim->p holds. */
void KW(mixed_write)(kw_sim *sim, int a, bool density)
{
#pragma omp parallel num_threads(sim->threads)
    {
        spectrum_from_real(sim, sim->p, NULL, sim->spec[1]);
        axis_from_spectrum(sim, a, sim->spec[1], NULL, 1, density ? sim->mixed.rho[a] : sim->mixed.u[a]);
    }
    sim->mixed.fresh = false;
}

/* Factors of the axes: dt/rho0 c0^2 P_i and dt rho0 M_i; the inverse transform of one axis is divided by its points, and
 * kappa by all. */
kw_status KW(mixed_tables)(kw_sim *sim)
{
    const kw_slots *slots = &sim->layout.slots;
    const kw_problem *problem = sim->problem;
    double points = (double)kw_grid_points(&problem->grid), dt = problem->time.dt,
           rho0 = problem->map[KW_QUANTITY_RHO0].min;
    double c0 = problem->map[KW_QUANTITY_C0].min, c2 = sim->c2_map != NULL ? 1.0 : c0 * c0;
    for (int a = 0; a < slots->dims; a++) {
        int64_t n = slots->n[slots->slot[a]];
        double *p = malloc((size_t)(2 * n) * sizeof *p);
        if (p == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for tables");
        kw_table_gradient(&problem->grid, slots->axis[a], n, p);
        for (int64_t j = 0; j < n; j++) {
            double scale = points / (double)n;
            sim->mixed.gradient[a][2 * j] = (kw_real)(dt / rho0 * c2 * scale * p[2 * j]);
            sim->mixed.gradient[a][2 * j + 1] = (kw_real)(dt / rho0 * c2 * scale * p[2 * j + 1]);
            sim->mixed.divergence[a][2 * j] = (kw_real)(-dt * rho0 * scale * p[2 * j]); /* M = -conj P */
            sim->mixed.divergence[a][2 * j + 1] = (kw_real)(dt * rho0 * scale * p[2 * j + 1]);
        }
        free(p);
    }
    return KW_OK;
}
