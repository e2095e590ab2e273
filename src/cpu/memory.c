/* All memory of a run, in one list: what the estimate adds up is what is allocated and what is freed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim.h"

static const kw_precision OWN = sizeof(kw_real) == 8 ? KW_DOUBLE : KW_SINGLE;

typedef struct kw_part {
    void **at;
    double bytes;
    const char *purpose;
} kw_part;

typedef struct kw_parts {
    kw_part *part;
    int count;
} kw_parts;

static void add(kw_parts *parts, void *at, double bytes, const char *purpose)
{
    parts->part[parts->count++] = (kw_part){at, bytes, purpose};
}

static double round_up(double bytes) { return ceil(bytes / 64.0) * 64.0; }

static bool is_map(const kw_problem *problem, kw_quantity quantity)
{
    return kw_problem_has(problem, quantity) && !kw_map_is_constant(&problem->map[quantity]);
}

/* Bytes of one thread's scratch by part; the total is returned. */
typedef struct scratch_sizes {
    double tile, plane, row, divergence, total;
} scratch_sizes;

static double find_scratch(const kw_sim *sim, scratch_sizes *s)
{
    const double real = sizeof(kw_real);
    const int64_t *n = sim->layout.slots.n;
    int64_t longest = n[KW_LINES];
    for (int slot = KW_ROWS; slot <= KW_COLUMNS && sim->mixed.on; slot++)
        longest = n[slot] > longest ? n[slot] : longest;
    s->tile = round_up((double)longest * KW_TILE * 2 * real);
    s->plane = round_up((double)sim->layout.real_pitch * real);
    s->row = round_up((double)n[KW_COLUMNS] * real);
    s->divergence = sim->problem->absorption.on ? s->plane : 0;
    s->total = sim->problem->absorption.on || sim->problem->nonlinear ? s->plane : 0;
    return 2 * s->tile + s->plane + s->row + s->divergence + s->total;
}

static void list_fields(kw_sim *sim, kw_parts *parts)
{
    const kw_layout *layout = &sim->layout;
    const kw_problem *problem = sim->problem;
    const double real = sizeof(kw_real), lines = (double)layout->slots.n[KW_LINES];
    double field = lines * (double)layout->real_pitch * real, spectrum = lines * (double)layout->spec_pitch * 2 * real;
    double half = floor(lines / 2 + 1) * (double)layout->spec_pitch * real;
    bool absorbing_map =
        problem->absorption.on && (is_map(problem, KW_QUANTITY_C0) || is_map(problem, KW_QUANTITY_ALPHA));
    add(parts, &sim->p, field, "pressure, velocity, density");
    for (int a = 0; a < layout->slots.dims; a++) {
        kw_slot slot = layout->slots.slot[a];
        double n = (double)layout->slots.n[slot];
        if (sim->mixed.on) {
            double lines_of_columns = (double)KW(mixed_line_elements)(layout) * 2 * real;
            double state = slot == KW_COLUMNS ? lines_of_columns : spectrum;
            add(parts, &sim->mixed.u[a], state, "pressure, velocity, density");
            add(parts, &sim->mixed.rho[a], state, "pressure, velocity, density");
            add(parts, &sim->mixed.gradient[a], 2 * real * n, "k-space tables");
            add(parts, &sim->mixed.divergence[a], 2 * real * n, "k-space tables");
        } else {
            add(parts, &sim->u[a], field, "pressure, velocity, density");
            add(parts, &sim->rho[a], field, "pressure, velocity, density");
        }
        if (!sim->mixed.on || a < 2) add(parts, &sim->spec[a], spectrum, "spectra");
        add(parts, &sim->gradient[a], 2 * real * (slot == KW_LINES ? n : (double)layout->spec_pitch), "k-space tables");
        add(parts, &sim->pml[a], real * n, "k-space tables");
        add(parts, &sim->pml_staggered[a], real * n, "k-space tables");
    }
    if (is_map(problem, KW_QUANTITY_C0)) add(parts, &sim->c2_map, field, "medium maps");
    if (is_map(problem, KW_QUANTITY_RHO0)) add(parts, &sim->rho0_map, field, "medium maps");
    for (int a = 0; a < layout->slots.dims; a++)
        if (problem->staggered) add(parts, &sim->staggered[a], field, "medium maps");
    if (is_map(problem, KW_QUANTITY_BONA)) add(parts, &sim->bona_map, field, "medium maps");
    if (absorbing_map) add(parts, &sim->tau_map, field, "medium maps");
    if (absorbing_map && sim->disperses) add(parts, &sim->eta_map, field, "medium maps");
    add(parts, &sim->kappa, half, "k-space tables");
    if (sim->attenuates) add(parts, &sim->power[0], half, "absorption");
    if (sim->disperses) add(parts, &sim->power[1], half, "absorption");
}

static void list_sources(kw_sim *sim, kw_parts *parts)
{
    const kw_layout *layout = &sim->layout;
    const double real = sizeof(kw_real), lines = (double)layout->slots.n[KW_LINES];
    bool spread = false;
    for (int64_t s = 0; s < sim->problem->source_count; s++) {
        kw_cpu_source *source = &sim->sources[s];
        double count = (double)source->source->count;
        add(parts, &source->offset, 8 * count, "sources");
        add(parts, &source->entry, 8 * count, "sources");
        add(parts, &source->scale, real * count, "sources");
        add(parts, &source->plane_start, 8 * (lines + 1), "sources");
        for (int a = 0; a < layout->slots.dims && sim->mixed.on; a++) {
            bool needed = source->source->quantity == KW_SOURCE_P || source->source->quantity == KW_SOURCE_VOLUME ||
                          (int)source->source->quantity == KW_SOURCE_UX + layout->slots.axis[a];
            double state = layout->slots.slot[a] == KW_COLUMNS ? (double)KW(mixed_line_elements)(layout) * 2 * real
                                                               : lines * (double)layout->spec_pitch * 2 * real;
            if (needed) add(parts, &source->mixed[a], state, "sources");
        }
        if (source->source->mode != KW_ADDITIVE && !sim->mixed.on) continue;
        add(parts, &source->field, lines * (double)layout->real_pitch * real, "sources");
        spread = true;
    }
    if (spread) add(parts, &sim->kappa_source, floor(lines / 2 + 1) * (double)layout->spec_pitch * real, "sources");
    if (spread || (sim->disperses && layout->slots.dims == 1))
        add(parts, &sim->spare, lines * (double)layout->spec_pitch * 2 * real, "sources");
}

static void list_recordings(kw_sim *sim, kw_parts *parts)
{
    const kw_problem *problem = sim->problem;
    const double real = sizeof(kw_real);
    unsigned needs = 0;
    for (int r = 0; r < problem->recording_count; r++) {
        kw_cpu_recording *recording = &sim->recordings[r];
        const kw_recording *asked = recording->asked;
        double rows = (double)recording->rows, series = kw_bit_count(asked->series);
        double points = (double)KW(recording_points)(problem, asked);
        int64_t steps = problem->time.steps > 0 ? problem->time.steps : problem->time.asked_steps;
        needs |= kw_recording_needs(problem, asked);
        recording->phases = 2 * asked->frequencies * kw_recording_samples(asked, steps);
        if (asked->kind == KW_RECORD_SENSORS) add(parts, &recording->offset, 8 * rows, "recording");
        if (points > 0) add(parts, &recording->stencil, points * (double)KW(stencil_size)(), "recording");
        if (asked->frequencies > 0) add(parts, &recording->phase, real * (double)recording->phases, "recording");
        int slots = kw_recording_slots(problem, asked);
        if (slots > 0) add(parts, &recording->slots, slots * rows * real, "recording");
        if (series == 0) continue;
        add(parts, &recording->ring, series * rows * real * (double)kw_recording_ring(problem, asked, OWN),
            "recording");
    }
    for (int a = 0; a < sim->layout.slots.dims; a++) {
        double n = (double)sim->layout.slots.n[sim->layout.slots.slot[a]];
        if (kw_bit(needs, KW_REC_UX_CENTRED + sim->layout.slots.axis[a]))
            add(parts, &sim->shift[a], 2 * n * real, "recording");
    }
}

static void list_scratch(kw_sim *sim, kw_parts *parts)
{
    scratch_sizes s;
    add(parts, &sim->scratch, sim->threads * (double)sizeof(kw_scratch), "scratch of the threads");
    add(parts, &sim->scratch_memory, sim->threads * find_scratch(sim, &s), "scratch of the threads");
}

/* The list, in memory owned by the caller; the sizes that follow from the problem are set in sim. */
static kw_status list_parts(kw_sim *sim, kw_parts *parts)
{
    const kw_problem *problem = sim->problem;
    int64_t most = 60 + 9 * problem->source_count + 6 * problem->recording_count;
    *parts = (kw_parts){calloc((size_t)most, sizeof(kw_part)), 0};
    if (sim->sources == NULL) sim->sources = calloc((size_t)problem->source_count + 1, sizeof *sim->sources);
    if (sim->recordings == NULL)
        sim->recordings = calloc((size_t)problem->recording_count + 1, sizeof *sim->recordings);
    if (parts->part == NULL || sim->sources == NULL || sim->recordings == NULL)
        return kw_fail(KW_ERR_RESOURCE, "no memory");
    for (int64_t s = 0; s < problem->source_count; s++) sim->sources[s].source = &problem->sources[s];
    sim->layout = kw_layout_make(&problem->grid, sizeof(kw_real));
    for (int r = 0; r < problem->recording_count; r++) {
        sim->recordings[r].asked = &problem->recordings[r];
        sim->recordings[r].rows = kw_recording_rows(problem, &problem->recordings[r]);
    }
    sim->attenuates = kw_absorption_is_fractional(problem) && problem->absorption.attenuation;
    sim->disperses = kw_absorption_is_fractional(problem) && problem->absorption.dispersion;
    sim->mixed.on = kw_mixed_taken(problem);
    for (int a = 0; a < sim->layout.slots.dims; a++) {
        int64_t bins = sim->layout.slots.bins, across = (bins + KW_TILE - 1) / KW_TILE;
        sim->mixed.width[a] = sim->layout.slots.slot[a] == KW_ROWS ? (int)((bins + across - 1) / across) : KW_TILE;
    }
    list_fields(sim, parts);
    list_sources(sim, parts);
    list_recordings(sim, parts);
    list_scratch(sim, parts);
    return KW_OK;
}

kw_status KW(estimate)(const kw_problem *problem, const kw_options *options, kw_memory_plan *plan)
{
    kw_sim sim = {.problem = problem, .threads = options->threads};
    kw_parts parts;
    kw_status status = list_parts(&sim, &parts);
    *plan = (kw_memory_plan){0};
    for (int i = 0; i < parts.count; i++) kw_memory_add(plan, parts.part[i].purpose, parts.part[i].bytes);
    free(parts.part);
    free(sim.sources);
    free(sim.recordings);
    return status;
}

/* ---- allocation ---- */

/* Zeroed memory, aligned for FFTW and in huge pages where that pays; NULL with a message if there is none. */
static void *allocate(kw_sim *sim, double bytes)
{
    const size_t huge = (size_t)2 << 20;
    void *memory = NULL;
    size_t size = (size_t)round_up(bytes > 0 ? bytes : 64);
    size_t alignment = size >= 2 * huge ? huge : 64;
    bool failed = ++sim->allocations == sim->fail_allocation;
    if (failed || posix_memalign(&memory, alignment, size) != 0) {
        kw_fail(KW_ERR_RESOURCE, "the system gives no %.0f MB of memory", bytes / 1e6);
        return NULL;
    }
    if (alignment == huge) madvise(memory, size, MADV_HUGEPAGE);
    memset(memory, 0, size);
    sim->bytes += bytes;
    return memory;
}

static void divide_scratch(kw_sim *sim)
{
    scratch_sizes s;
    find_scratch(sim, &s);
    char *at = sim->scratch_memory;
    for (int t = 0; t < sim->threads; t++) {
        kw_scratch *scratch = &sim->scratch[t];
        scratch->in = (void *)at;
        scratch->out = (void *)(at += (size_t)s.tile);
        scratch->plane = (void *)(at += (size_t)s.tile);
        scratch->row = (void *)(at += (size_t)s.plane);
        at += (size_t)s.row;
        scratch->divergence = s.divergence > 0 ? (void *)at : NULL;
        at += (size_t)s.divergence;
        scratch->total = s.total > 0 ? (void *)at : NULL;
        at += (size_t)s.total;
    }
}

kw_status KW(allocate)(kw_sim *sim)
{
    kw_parts parts;
    kw_status status = list_parts(sim, &parts);
    sim->parts = parts.part;
    if (status != KW_OK) return status;
    for (int i = 0; i < parts.count; i++) {
        *parts.part[i].at = allocate(sim, parts.part[i].bytes);
        if (*parts.part[i].at == NULL) return KW_ERR_RESOURCE;
        sim->part_count = i + 1;
    }
    divide_scratch(sim);
    sim->absorb[0] = sim->spec[0];
    sim->absorb[1] = sim->layout.slots.dims > 1 ? sim->spec[1] : sim->spare;
    return KW_OK;
}

void KW(release)(kw_sim *sim)
{
    if (sim == NULL) return;
    KW(plans_destroy)(&sim->plans);
    for (int i = 0; i < sim->part_count; i++) free(*sim->parts[i].at);
    free(sim->parts);
    free(sim->sources);
    free(sim->recordings);
    free(sim);
}
