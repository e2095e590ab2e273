/* The table's functions (backend.h) on a prepared run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/clock.h"
#include "sim.h"

static kw_status build(kw_sim *sim, const kw_field_source *source)
{
    KW_TRY(KW(allocate)(sim));
    KW_TRY(KW(plans_make)(&sim->plans, &sim->layout, sim->scratch[0].plane, sim->spec[0], sim->scratch[0].in,
                          sim->problem->cpu_wisdom));
    if (sim->mixed.on)
        KW_TRY(KW(plans_make_axes)(&sim->plans, &sim->layout, sim->mixed.width, sim->scratch[0].in,
                                   sim->problem->cpu_wisdom));
    /* measuring left rubbish, in the padding too */
    size_t spectrum = (size_t)(sim->layout.slots.n[KW_LINES] * sim->layout.spec_pitch) * sizeof(kw_complex);
    memset(sim->spec[0], 0, spectrum);
    KW_TRY(KW(fill)(sim, source));
    KW(sources_start)(sim);
    if (sim->mixed.on) KW(mixed_sources)(sim);
    if (sim->problem->has_p0) sim->mixed.on ? KW(mixed_start)(sim) : KW(classical_start)(sim);
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
    kw_status status = build(sim, source);
    if (status != KW_OK) {
        KW(release)(sim);
        return status;
    }
    sim->create_seconds = kw_clock_seconds() - start;
    *out = sim;
    return KW_OK;
}

static void refresh(kw_sim *sim)
{
    if (sim->stale) sim->mixed.on ? KW(mixed_refresh)(sim) : KW(classical_refresh)(sim);
    sim->stale = false;
}

/* Samples of a recording's series in the next `steps` steps. */
static int64_t samples_in(const kw_sim *sim, const kw_cpu_recording *recording, int64_t steps)
{
    if (recording->ring == NULL) return 0;
    return kw_recording_samples(recording->asked, sim->steps + steps) -
           kw_recording_samples(recording->asked, sim->steps);
}

static kw_status check_rings(const kw_sim *sim, int64_t steps)
{
    const kw_precision own = sizeof(kw_real) == 8 ? KW_DOUBLE : KW_SINGLE;
    for (int r = 0; r < sim->problem->recording_count; r++) {
        const kw_cpu_recording *recording = &sim->recordings[r];
        int64_t ring = kw_recording_ring(sim->problem, recording->asked, own), more = samples_in(sim, recording, steps);
        if (recording->waiting + more > ring)
            return kw_fail(KW_ERR_RUN, "%lld samples wait to be read; the ring of %lld cannot take %lld more",
                           (long long)recording->waiting, (long long)ring, (long long)more);
    }
    return KW_OK;
}

static kw_status advance(kw_sim *sim, int64_t steps)
{
    double start = kw_clock_seconds();
    KW_TRY(check_rings(sim, steps));
    refresh(sim);
    for (int64_t i = 0; i < steps; i++) {
        bool is_start = sim->steps == 0 && sim->problem->has_p0; /* the state of step 0 is there already */
        if (!is_start) sim->mixed.on ? KW(mixed_step)(sim) : KW(classical_step)(sim);
        KW(record)(sim);
        sim->steps++;
    }
    sim->step_seconds += kw_clock_seconds() - start;
    return KW_OK;
}

static kw_status read_traces(kw_sim *sim, int r, bool wait, void *dst, int64_t *samples)
{
    kw_cpu_recording *recording = &sim->recordings[r];
    size_t sample = (size_t)(recording->rows * kw_bit_count(recording->asked->series)) * sizeof(kw_real);
    (void)wait; /* nothing runs between calls */
    if (recording->waiting > 0) memcpy(dst, recording->ring, (size_t)recording->waiting * sample);
    *samples = recording->waiting;
    recording->waiting = 0;
    return KW_OK;
}

static kw_status read_accumulator(kw_sim *sim, int r, int slot, int64_t first, int64_t rows, void *dst)
{
    const kw_cpu_recording *recording = &sim->recordings[r];
    memcpy(dst, recording->slots + slot * recording->rows + first, (size_t)rows * sizeof(kw_real));
    return KW_OK;
}

/* Offset in a padded field of the first element of row (x, y) of a box. */
static int64_t row_offset(const kw_sim *sim, const kw_box *box, int64_t x, int64_t y)
{
    int64_t index[3] = {x, y, box->lo[2]};
    return kw_grid_offset(&sim->problem->grid, index);
}

/* Active axis of a component; -1 for p, -2 along a flat axis. */
static int field_axis(const kw_sim *sim, kw_field field)
{
    if (field == KW_FIELD_P) return -1;
    int axis = field >= KW_FIELD_RHOX ? field - KW_FIELD_RHOX : field - KW_FIELD_UX;
    for (int a = 0; a < sim->layout.slots.dims; a++)
        if (sim->layout.slots.axis[a] == axis) return a;
    return -2;
}

/* The field in real space: the array of a component, or in mixed space p's, into which it is brought; NULL if flat. */
static kw_real *real_field(kw_sim *sim, kw_field field)
{
    int a = field_axis(sim, field);
    bool density = field >= KW_FIELD_RHOX;
    if (a == -2) return NULL;
    if (!sim->mixed.on) return a < 0 ? sim->p : density ? sim->rho[a] : sim->u[a];
    if (a < 0)
        KW(mixed_pressure)(sim);
    else
        KW(mixed_read)(sim, a, density);
    return sim->p;
}

static kw_status read_field(kw_sim *sim, kw_field field, const kw_box *box, void *dst)
{
    KW_TRY(kw_box_check(&sim->problem->grid, box));
    refresh(sim);
    const kw_real *from = real_field(sim, field);
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
    kw_real *to = real_field(sim, field);
    const kw_real *from = src;
    for (int64_t x = box->lo[0]; x < box->hi[0] && to != NULL; x++)
        for (int64_t y = box->lo[1]; y < box->hi[1]; y++) {
            int64_t offset = row_offset(sim, box, x, y);
            for (int64_t z = 0; z < box->hi[2] - box->lo[2]; z++)
                to[kw_layout_offset(&sim->layout, offset + z)] = *from++;
        }
    if (to != NULL && sim->mixed.on) KW(mixed_write)(sim, field_axis(sim, field), field >= KW_FIELD_RHOX);
    sim->stale = true;
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
    if (sim->mixed.on) KW(mixed_pressure)(sim);
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
    if (sim->mixed.on) snprintf(out->stepper, sizeof out->stepper, "mixed");
    snprintf(out->plan_id, sizeof out->plan_id, "%s", sim->plans.id);
}

const kw_cpu_implementation KW(implementation) = {KW(estimate), create,      advance, read_traces, read_accumulator,
                                                  read_field,   write_field, watch,   stats,       KW(release)};
