#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kwsim/clock.h"
#include "kwsim/tables.h"

/* ---- sizes: the one place that says how much memory a run takes ---- */

typedef struct sizes {
    double field, spectrum, kappa, gradient, pml, scratch, thread, ring, offsets;
    double tile, plane, row; /* parts of one thread's scratch */
    int64_t ring_steps;
} sizes;

/* Recorded points of p. */
static int64_t trace_count(const kw_problem *problem) { return problem->record.p ? kw_sensor_count(problem) : 0; }

static double round_up(double bytes) { return ceil(bytes / 64.0) * 64.0; }

static sizes find_sizes(const kw_problem *problem, const kw_layout *layout, int threads)
{
    const double real = sizeof(kw_real), n0 = (double)layout->slots.n[KW_LINES];
    int64_t sensors = trace_count(problem);
    sizes s = {0};
    s.field = n0 * (double)layout->real_pitch * real;
    s.spectrum = n0 * (double)layout->spec_pitch * 2 * real;
    s.kappa = floor(n0 / 2 + 1) * (double)layout->spec_pitch * real;
    for (int a = 0; a < layout->slots.dims; a++) {
        bool lines = layout->slots.slot[a] == KW_LINES;
        s.gradient += 2 * real * (lines ? n0 : (double)layout->spec_pitch);
        s.pml += 2 * real * (double)layout->slots.n[layout->slots.slot[a]];
    }
    s.tile = round_up(n0 * KW_TILE * 2 * real);
    s.plane = round_up((double)layout->real_pitch * real);
    s.row = round_up((double)layout->slots.n[KW_COLUMNS] * real);
    s.thread = 2 * s.tile + s.plane + s.row;
    s.scratch = threads * (s.thread + (double)sizeof(kw_scratch));
    s.ring_steps = kw_ring_steps(sensors, sizeof(kw_real) == 8 ? KW_DOUBLE : KW_SINGLE);
    s.ring = (double)sensors * (double)s.ring_steps * real;
    s.offsets = (double)sensors * sizeof(int64_t);
    return s;
}

static int map_count(const kw_problem *problem)
{
    return !kw_map_is_constant(&problem->map[KW_QUANTITY_C0]) + !kw_map_is_constant(&problem->map[KW_QUANTITY_RHO0]);
}

static kw_status estimate(const kw_problem *problem, const kw_options *options, kw_memory_plan *plan)
{
    kw_layout layout = kw_layout_make(&problem->grid, sizeof(kw_real));
    sizes s = find_sizes(problem, &layout, options->threads);
    *plan = (kw_memory_plan){.ring_steps = s.ring_steps};
    kw_memory_add(plan, "pressure, velocity, density", s.field * (1 + 2 * layout.slots.dims));
    kw_memory_add(plan, "spectra", s.spectrum * layout.slots.dims);
    kw_memory_add(plan, "medium maps", s.field * map_count(problem));
    kw_memory_add(plan, "k-space tables", s.kappa + s.gradient + s.pml);
    kw_memory_add(plan, "scratch of the threads", s.scratch);
    kw_memory_add(plan, "traces", s.ring + s.offsets);
    return KW_OK;
}

/* ---- memory ---- */

/* Zeroed memory, aligned for FFTW; NULL with a message if there is none. Counts for stats(). */
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

#define KW_ALLOCATE(pointer, bytes)                                                                                    \
    do {                                                                                                               \
        if (((pointer) = allocate(sim, (bytes))) == NULL) return KW_ERR_RESOURCE;                                      \
    } while (0)

static kw_status allocate_scratch(kw_sim *sim, const sizes *s)
{
    KW_ALLOCATE(sim->scratch, (double)sim->threads * (double)sizeof(kw_scratch));
    KW_ALLOCATE(sim->scratch_memory, sim->threads * s->thread);
    char *at = sim->scratch_memory;
    for (int t = 0; t < sim->threads; t++) {
        kw_scratch *scratch = &sim->scratch[t];
        scratch->in = (void *)at;
        scratch->out = (void *)(at += (size_t)s->tile);
        scratch->plane = (void *)(at += (size_t)s->tile);
        scratch->row = (void *)(at += (size_t)s->plane);
        at += (size_t)s->row;
    }
    return KW_OK;
}

static kw_status allocate_all(kw_sim *sim, const sizes *s)
{
    const kw_layout *layout = &sim->layout;
    const kw_map *map = sim->problem->map;
    const double real = sizeof(kw_real);
    KW_ALLOCATE(sim->p, s->field);
    for (int a = 0; a < layout->slots.dims; a++) {
        int64_t n = layout->slots.n[layout->slots.slot[a]];
        KW_ALLOCATE(sim->u[a], s->field);
        KW_ALLOCATE(sim->rho[a], s->field);
        KW_ALLOCATE(sim->spec[a], s->spectrum);
        KW_ALLOCATE(sim->gradient[a], 2 * real * (double)(layout->slots.slot[a] == KW_LINES ? n : layout->spec_pitch));
        KW_ALLOCATE(sim->pml[a], real * (double)n);
        KW_ALLOCATE(sim->pml_staggered[a], real * (double)n);
    }
    if (!kw_map_is_constant(&map[KW_QUANTITY_C0])) KW_ALLOCATE(sim->c2_map, s->field);
    if (!kw_map_is_constant(&map[KW_QUANTITY_RHO0])) KW_ALLOCATE(sim->rho0_map, s->field);
    KW_ALLOCATE(sim->kappa, s->kappa);
    KW_TRY(allocate_scratch(sim, s));
    sim->ring_steps = s->ring_steps;
    if (sim->sensors > 0) {
        KW_ALLOCATE(sim->ring, s->ring);
        KW_ALLOCATE(sim->sensor_offset, s->offsets);
    }
    return KW_OK;
}

static void destroy(kw_sim *sim)
{
    if (sim == NULL) return;
    KW(plans_destroy)(&sim->plans);
    for (int a = 0; a < 3; a++) {
        free(sim->u[a]);
        free(sim->rho[a]);
        free(sim->spec[a]);
        free(sim->gradient[a]);
        free(sim->pml[a]);
        free(sim->pml_staggered[a]);
    }
    free(sim->p);
    free(sim->c2_map);
    free(sim->rho0_map);
    free(sim->kappa);
    free(sim->scratch);
    free(sim->scratch_memory);
    free(sim->ring);
    free(sim->sensor_offset);
    free(sim);
}

/* ---- tables ---- */

static void convert_table(kw_real *dst, const double *src, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dst[i] = (kw_real)src[i];
}

/* One axis: PML, and the gradient factors as the tiles read them. `work` holds 2 n[axis] numbers. */
static void fill_axis_tables(kw_sim *sim, int a, double *work)
{
    const kw_layout *layout = &sim->layout;
    const kw_problem *problem = sim->problem;
    int64_t n = layout->slots.n[layout->slots.slot[a]];
    kw_table_pml(problem, layout->slots.axis[a], false, work);
    convert_table(sim->pml[a], work, n);
    kw_table_pml(problem, layout->slots.axis[a], true, work);
    convert_table(sim->pml_staggered[a], work, n);
    kw_table_gradient(&problem->grid, layout->slots.axis[a], n, work);
    if (layout->slots.slot[a] == KW_LINES) {
        convert_table(sim->gradient[a], work, 2 * n);
        return;
    }
    for (int64_t column = 0; column < layout->slots.n[KW_ROWS] * layout->slots.bins; column++) {
        int64_t bin = layout->slots.slot[a] == KW_ROWS ? column / layout->slots.bins : column % layout->slots.bins;
        sim->gradient[a][2 * column] = (kw_real)work[2 * bin];
        sim->gradient[a][2 * column + 1] = (kw_real)work[2 * bin + 1];
    }
}

/* kappa over the lines' folded half and all columns; k2 holds the axes' k^2, one after the other by slot. */
static void fill_kappa(kw_sim *sim, const double *k2[3])
{
    const kw_layout *layout = &sim->layout;
    const kw_problem *problem = sim->problem;
    double scale = 1.0 / (double)kw_grid_points(&problem->grid);
#pragma omp parallel for num_threads(sim->threads) schedule(static)
    for (int64_t x = 0; x < layout->slots.n[KW_LINES] / 2 + 1; x++)
        for (int64_t column = 0; column < layout->slots.n[KW_ROWS] * layout->slots.bins; column++) {
            double sum = k2[KW_LINES][x] + k2[KW_ROWS][column / layout->slots.bins] +
                         k2[KW_COLUMNS][column % layout->slots.bins];
            sim->kappa[x * layout->spec_pitch + column] =
                (kw_real)(scale * kw_kappa(problem->c_ref, problem->time.dt, sum));
        }
}

static kw_status fill_tables(kw_sim *sim)
{
    const kw_layout *layout = &sim->layout;
    int64_t total = 0;
    for (int s = 0; s < 3; s++) total += layout->slots.n[s];
    double *memory = calloc((size_t)total * 3, sizeof(double));
    if (memory == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for tables");
    double *work = memory + total;
    double *k2[3] = {memory, memory + layout->slots.n[0], memory + layout->slots.n[0] + layout->slots.n[1]};
    for (int a = 0; a < layout->slots.dims; a++) {
        kw_slot slot = layout->slots.slot[a];
        kw_table_k2(&sim->problem->grid, layout->slots.axis[a], layout->slots.n[slot], k2[slot]);
        fill_axis_tables(sim, a, work);
    }
    fill_kappa(sim, (const double **)k2);
    free(memory);
    return KW_OK;
}

/* ---- voxels ---- */

/* Copies dense planes of the source into a padded field. */
static kw_status fill_field(kw_sim *sim, const kw_field_source *source, kw_quantity quantity, kw_real *field)
{
    const kw_layout *layout = &sim->layout;
    const kw_grid *grid = &sim->problem->grid;
    int64_t plane = grid->n[1] * grid->n[2];
    int64_t planes = (INT64_C(8) << 20) / plane;
    planes = planes < 1 ? 1 : planes > grid->n[0] ? grid->n[0] : planes;
    kw_real *slab = malloc((size_t)(planes * plane) * sizeof *slab);
    if (slab == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory to read the %s", kw_quantity_name(quantity));
    kw_status status = KW_OK;
    for (int64_t x0 = 0; x0 < grid->n[0] && status == KW_OK; x0 += planes) {
        int64_t nx = x0 + planes < grid->n[0] ? planes : grid->n[0] - x0;
        kw_precision precision = sizeof(kw_real) == 8 ? KW_DOUBLE : KW_SINGLE;
        status = source->read(source->self, quantity, x0, nx, precision, slab);
        for (int64_t i = 0; i < nx * plane && status == KW_OK; i++)
            field[kw_layout_offset(layout, x0 * plane + i)] = slab[i];
    }
    free(slab);
    return status;
}

static kw_status fill_medium(kw_sim *sim, const kw_field_source *source)
{
    const kw_map *c0 = &sim->problem->map[KW_QUANTITY_C0], *rho0 = &sim->problem->map[KW_QUANTITY_RHO0];
    sim->c2 = (kw_real)(c0->min * c0->min);
    sim->rho0 = (kw_real)rho0->min;
    if (sim->rho0_map != NULL) KW_TRY(fill_field(sim, source, KW_QUANTITY_RHO0, sim->rho0_map));
    if (sim->c2_map != NULL) {
        KW_TRY(fill_field(sim, source, KW_QUANTITY_C0, sim->c2_map));
        int64_t count = sim->layout.slots.n[KW_LINES] * sim->layout.real_pitch;
        for (int64_t i = 0; i < count; i++) sim->c2_map[i] *= sim->c2_map[i];
    }
    return KW_OK;
}

static void fill_sensors(kw_sim *sim)
{
    for (int64_t i = 0; i < sim->sensors; i++) {
        kw_sensor_place place = kw_sensor_locate(sim->problem, i);
        sim->sensor_offset[i] = kw_layout_offset(&sim->layout, kw_grid_offset(&sim->problem->grid, place.index));
    }
}

/* ---- the table's functions ---- */

static kw_status build(kw_sim *sim, const kw_field_source *source)
{
    const kw_problem *problem = sim->problem;
    sizes s = find_sizes(problem, &sim->layout, sim->threads);
    KW_TRY(allocate_all(sim, &s));
    KW_TRY(KW(plans_make)(&sim->plans, &sim->layout, sim->scratch[0].plane, sim->spec[0], sim->scratch[0].in,
                          problem->cpu_wisdom));
    memset(sim->spec[0], 0, (size_t)s.spectrum); /* measuring left rubbish, in the padding too */
    sim->dt = (kw_real)problem->time.dt;
    KW_TRY(fill_tables(sim));
    KW_TRY(fill_medium(sim, source));
    fill_sensors(sim);
    if (problem->has_p0) {
        KW_TRY(fill_field(sim, source, KW_QUANTITY_P0, sim->p));
        KW(classical_start)(sim);
    }
    return KW_OK;
}

static kw_status create(const kw_problem *problem, const kw_options *options, const kw_field_source *source,
                        kw_sim **out)
{
    double start = kw_clock_seconds();
    kw_sim *sim = calloc(1, sizeof *sim);
    *out = NULL;
    if (sim == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    sim->problem = problem;
    sim->threads = options->threads;
    sim->fail_allocation = options->fail_allocation;
    sim->sensors = trace_count(problem);
    sim->layout = kw_layout_make(&problem->grid, sizeof(kw_real));
    kw_status status = build(sim, source);
    if (status != KW_OK) {
        destroy(sim);
        return status;
    }
    sim->create_seconds = kw_clock_seconds() - start;
    *out = sim;
    return KW_OK;
}

static void refresh(kw_sim *sim)
{
    if (sim->stale) KW(classical_refresh)(sim);
    sim->stale = false;
}

static void record(kw_sim *sim)
{
    kw_real *sample = sim->ring + sim->waiting * sim->sensors;
#pragma omp parallel for num_threads(sim->threads) schedule(static) if (sim->sensors > 4096)
    for (int64_t i = 0; i < sim->sensors; i++) sample[i] = sim->p[sim->sensor_offset[i]];
    sim->waiting++;
}

/* Samples that the next `steps` steps record. */
static int64_t samples_in(const kw_sim *sim, int64_t steps)
{
    int64_t from = sim->problem->record.from_step, end = sim->steps + steps;
    int64_t first = sim->steps > from ? sim->steps : from;
    return sim->sensors > 0 && end > first ? end - first : 0;
}

static kw_status advance(kw_sim *sim, int64_t steps)
{
    double start = kw_clock_seconds();
    if (sim->waiting + samples_in(sim, steps) > sim->ring_steps)
        return kw_fail(KW_ERR_RUN, "%lld samples wait to be read; the ring of %lld cannot take %lld more",
                       (long long)sim->waiting, (long long)sim->ring_steps, (long long)samples_in(sim, steps));
    refresh(sim);
    for (int64_t i = 0; i < steps; i++) {
        bool is_start = sim->steps == 0 && sim->problem->has_p0; /* the state of step 0 is there already */
        if (!is_start) KW(classical_step)(sim);
        if (samples_in(sim, 1) > 0) record(sim);
        sim->steps++;
    }
    sim->step_seconds += kw_clock_seconds() - start;
    return KW_OK;
}

static kw_status read_traces(kw_sim *sim, bool wait, void *dst, int64_t *samples)
{
    (void)wait; /* nothing runs between calls */
    memcpy(dst, sim->ring, (size_t)(sim->waiting * sim->sensors) * sizeof(kw_real));
    *samples = sim->waiting;
    sim->waiting = 0;
    return KW_OK;
}

/* The padded array of a field; NULL for a component along a flat axis. */
static kw_real *find_field(kw_sim *sim, kw_field field)
{
    if (field == KW_FIELD_P) return sim->p;
    int axis = field >= KW_FIELD_RHOX ? field - KW_FIELD_RHOX : field - KW_FIELD_UX;
    for (int a = 0; a < sim->layout.slots.dims; a++)
        if (sim->layout.slots.axis[a] == axis) return field >= KW_FIELD_RHOX ? sim->rho[a] : sim->u[a];
    return NULL;
}

/* Offset in a padded field of the first element of row (x, y) of a box. */
static int64_t row_offset(const kw_sim *sim, const kw_box *box, int64_t x, int64_t y)
{
    int64_t index[3] = {x, y, box->lo[2]};
    return kw_grid_offset(&sim->problem->grid, index);
}

static kw_status read_field(kw_sim *sim, kw_field field, const kw_box *box, void *dst)
{
    KW_TRY(kw_box_check(&sim->problem->grid, box));
    refresh(sim);
    const kw_real *from = find_field(sim, field);
    kw_real *to = dst;
    for (int64_t x = box->lo[0]; x < box->hi[0]; x++)
        for (int64_t y = box->lo[1]; y < box->hi[1]; y++) {
            int64_t offset = row_offset(sim, box, x, y);
            for (int64_t z = 0; z < box->hi[2] - box->lo[2]; z++)
                *to++ = from != NULL ? from[kw_layout_offset(&sim->layout, offset + z)] : 0;
        }
    return KW_OK;
}

static kw_status write_field(kw_sim *sim, kw_field field, const kw_box *box, const void *src)
{
    KW_TRY(kw_box_check(&sim->problem->grid, box));
    if (field == KW_FIELD_P) return kw_fail(KW_ERR_RUN, "p cannot be written: it follows from the densities");
    if (sim->steps == 0) return kw_fail(KW_ERR_RUN, "fields cannot be written before step 0");
    kw_real *to = find_field(sim, field);
    const kw_real *from = src;
    for (int64_t x = box->lo[0]; x < box->hi[0] && to != NULL; x++)
        for (int64_t y = box->lo[1]; y < box->hi[1]; y++) {
            int64_t offset = row_offset(sim, box, x, y);
            for (int64_t z = 0; z < box->hi[2] - box->lo[2]; z++)
                to[kw_layout_offset(&sim->layout, offset + z)] = *from++;
        }
    sim->stale = sim->stale || field >= KW_FIELD_RHOX;
    return KW_OK;
}

#if KW_CPU_DOUBLE
typedef int64_t kw_bits;
static const kw_bits KW_SIGN_OFF = INT64_MAX;
#else
typedef int32_t kw_bits;
static const kw_bits KW_SIGN_OFF = INT32_MAX;
#endif

/* Offset of the largest |p| of a plane. Without their sign, the bits of IEEE numbers order like the numbers,
 * and those of infinities and NaN lie above all: so a value that is not finite is found first. */
KW_SIMD static int64_t plane_extreme(const kw_real *plane, int64_t count)
{
    kw_bits most = 0, bits;
    for (int64_t q = 0; q < count; q++) {
        memcpy(&bits, &plane[q], sizeof bits);
        bits &= KW_SIGN_OFF;
        most = bits > most ? bits : most;
    }
    for (int64_t q = 0; q < count; q++) {
        memcpy(&bits, &plane[q], sizeof bits);
        if ((bits & KW_SIGN_OFF) == most) return q;
    }
    return 0;
}

static kw_status watch(kw_sim *sim, bool wait, kw_watch *out)
{
    (void)wait;
    const kw_layout *layout = &sim->layout;
    int64_t count = layout->slots.n[KW_ROWS] * layout->slots.n[KW_COLUMNS], where = 0;
    refresh(sim);
    *out = (kw_watch){.step = sim->steps - 1, .finite = true};
    for (int64_t x = 0; x < layout->slots.n[KW_LINES]; x++) {
        const kw_real *plane = sim->p + x * layout->real_pitch;
        int64_t q = plane_extreme(plane, count);
        bool finite = isfinite(plane[q]);
        if (finite && !(fabs((double)plane[q]) > out->max_abs)) continue;
        if (finite) out->max_abs = fabs((double)plane[q]);
        out->finite = finite;
        where = x * count + q;
        if (!finite) break;
    }
    const kw_grid *grid = &sim->problem->grid;
    out->at[2] = where % grid->n[2];
    out->at[1] = where / grid->n[2] % grid->n[1];
    out->at[0] = where / grid->n[2] / grid->n[1];
    return KW_OK;
}

static void stats(const kw_sim *sim, kw_stats *out)
{
    *out = (kw_stats){.create_seconds = sim->create_seconds,
                      .plan_seconds = sim->plans.seconds,
                      .step_seconds = sim->step_seconds,
                      .bytes = sim->bytes,
                      .steps = sim->steps,
                      .stepper = "classical"};
    snprintf(out->plan_id, sizeof out->plan_id, "%s", sim->plans.id);
}

const kw_cpu_implementation KW(implementation) = {estimate,    create, advance, read_traces, read_field,
                                                  write_field, watch,  stats,   destroy};
