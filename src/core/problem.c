#include "kwsim/machine.h"
#include "kwsim/recording.h"
#include "kwsim/stencil.h"
#include "kwsim/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool kw_map_is_constant(const kw_map *map)
{
    return (map->file == NULL && map->paint_count == 0) || (map->min == map->max);
}

const char *kw_quantity_name(kw_quantity quantity)
{
    static const char *const name[KW_QUANTITY_COUNT] = {"sound speed",
                                                        "density",
                                                        "absorption coefficient",
                                                        "nonlinearity",
                                                        "initial pressure",
                                                        "density staggered in x",
                                                        "density staggered in y",
                                                        "density staggered in z"};
    return name[quantity];
}

bool kw_problem_has(const kw_problem *problem, kw_quantity quantity)
{
    switch (quantity) {
    case KW_QUANTITY_ALPHA:
        return problem->absorption.on;
    case KW_QUANTITY_BONA:
        return problem->nonlinear;
    case KW_QUANTITY_P0:
        return problem->has_p0;
    case KW_QUANTITY_RHO0_X:
    case KW_QUANTITY_RHO0_Y:
    case KW_QUANTITY_RHO0_Z:
        return problem->staggered && kw_axis_active(&problem->grid, (int)quantity - KW_QUANTITY_RHO0_X);
    default:
        return true;
    }
}

bool kw_absorption_is_fractional(const kw_problem *problem)
{
    return problem->absorption.on && problem->absorption.power != 2.0;
}

static void free_map(kw_map *map)
{
    for (int64_t i = 0; i < map->paint_count; i++) free(map->paints[i].where);
    free(map->paints);
    free(map->label);
    free(map->label_value);
    free(map->file);
    free(map->dataset);
    free(map->where);
}

void kw_source_free(kw_source *source)
{
    free(source->index);
    free(source->weight);
    free(source->delay);
    free(source->row);
    free(source->lag);
    free(source->signal);
    free(source->where);
    *source = (kw_source){0};
}

void kw_problem_free(kw_problem *problem)
{
    for (int q = 0; q < KW_QUANTITY_COUNT; q++) free_map(&problem->map[q]);
    for (int64_t i = 0; i < problem->set_count; i++) {
        free(problem->sets[i].name);
        free(problem->sets[i].position);
    }
    free(problem->sets);
    for (int i = 0; i < problem->recording_count; i++) {
        free(problem->recordings[i].name);
        free(problem->recordings[i].frequency);
        free(problem->recordings[i].where);
    }
    free(problem->recordings);
    for (int64_t i = 0; i < problem->source_count; i++) kw_source_free(&problem->sources[i]);
    free(problem->sources);
    for (int64_t i = 0; i < problem->input_count; i++) free(problem->inputs[i]);
    free(problem->inputs);
    free(problem->output_file);
    free(problem->scene_file);
    free(problem->scene_text);
    free(problem->kwave.description);
    memset(problem, 0, sizeof *problem);
}

bool kw_mixed_taken(const kw_problem *problem)
{
    int64_t steps = problem->time.steps > 0 ? problem->time.steps : problem->time.asked_steps;
    bool few = steps > 0 && steps <= KW_MIXED_STEPS;
    bool wanted = problem->stepper == KW_STEPPER_MIXED || (problem->stepper == KW_STEPPER_AUTO && few);
    return wanted && kw_mixed_obstacle(problem) == NULL;
}

const char *kw_mixed_obstacle(const kw_problem *problem)
{
    unsigned velocities = problem->final;
    if (problem->absorption.on) return "the medium absorbs";
    if (problem->nonlinear) return "the medium is nonlinear";
    if (!kw_map_is_constant(&problem->map[KW_QUANTITY_RHO0]) || problem->staggered) return "the density is a map";
    if (kw_grid_dims(&problem->grid) < 2) return "the grid has one axis";
    if (problem->source_count > KW_MIXED_SOURCES)
        return "there are more than four sources, each of which takes fields of its own";
    for (int64_t s = 0; s < problem->source_count; s++) {
        if (problem->sources[s].mode == KW_DIRICHLET) return "a source is dirichlet";
        if (problem->sources[s].signals > 1 || problem->sources[s].delay != NULL)
            return "a source has several signals or delays";
    }
    for (int r = 0; r < problem->recording_count; r++)
        velocities |= kw_recording_needs(problem, &problem->recordings[r]);
    return (velocities & ~(1u << KW_REC_P)) != 0 ? "velocities are recorded" : NULL;
}

int64_t kw_sensor_count(const kw_problem *problem)
{
    int64_t count = 0;
    const int64_t most = INT64_C(1) << 60; /* more than any memory: sums stay within 64 bits */
    for (int64_t i = 0; i < problem->set_count && count < most; i++) count += problem->sets[i].rows;
    return count < most ? count : most;
}

void kw_sensor_position(const kw_problem *problem, const kw_sensor_set *set, int64_t i, double position[3])
{
    if (set->kind == KW_SENSOR_POINTS) {
        memcpy(position, set->position + 3 * i, 3 * sizeof *position);
        return;
    }
    for (int axis = 2; axis >= 0; axis--) {
        int64_t n = set->box.hi[axis] - set->box.lo[axis];
        position[axis] = kw_grid_coordinate(&problem->grid, axis, (double)(set->box.lo[axis] + i % n));
        i /= n;
    }
}

int64_t kw_sensor_locate_set(const kw_problem *problem, int64_t row)
{
    int64_t low = 0, high = problem->set_count - 1;
    while (low < high) { /* the last set whose first row is not beyond this one */
        int64_t middle = (low + high + 1) / 2;
        if (problem->sets[middle].first <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

double kw_sensor_index(const kw_problem *problem, kw_interpolation interpolation, int axis, double position)
{
    double index = kw_grid_index(&problem->grid, axis, position);
    bool margins = problem->inner.hi[axis] > 0;
    double low = margins ? (double)problem->inner.lo[axis] : 0.0;
    double high = (double)((margins ? problem->inner.hi[axis] : problem->grid.n[axis]) - 1);
    return interpolation == KW_NEAREST ? fmin(fmax(floor(index + 0.5), low), high) : index;
}

kw_sensor_place kw_sensor_locate(const kw_problem *problem, int64_t row)
{
    const kw_grid *grid = &problem->grid;
    kw_sensor_place place = {0};
    place.set = kw_sensor_locate_set(problem, row);
    const kw_sensor_set *set = &problem->sets[place.set];
    if (set->average) {
        for (int64_t k = 0; k < set->count; k++) {
            double one[3];
            kw_sensor_position(problem, set, k, one);
            for (int i = 0; i < 3; i++) place.asked[i] += one[i] / (double)set->count;
        }
    } else {
        kw_sensor_position(problem, set, row - set->first, place.asked);
    }
    bool exact = set->average || set->interpolation != KW_NEAREST;
    for (int i = 0; i < 3; i++) {
        place.index[i] = (int64_t)kw_sensor_index(problem, KW_NEAREST, i, place.asked[i]);
        place.used[i] =
            exact && kw_axis_active(grid, i) ? place.asked[i] : kw_grid_coordinate(grid, i, (double)place.index[i]);
    }
    return place;
}

kw_status kw_pml_check(const kw_grid *grid, const kw_pml *pml)
{
    for (int i = 0; i < 3; i++) {
        if (kw_axis_active(grid, i) && 2 * pml->size[i] + 1 > grid->n[i])
            return kw_fail(KW_ERR_SCENE,
                           "2 x %lld + 1 points do not fit into the %lld points of the %c axis; "
                           "allowed: 0 (periodic) to %lld",
                           (long long)pml->size[i], (long long)grid->n[i], 'x' + i, (long long)((grid->n[i] - 1) / 2));
    }
    return KW_OK;
}

/* Time in s to cross the grid along its diagonal at the slowest sound speed. */
static double crossing_time(const kw_problem *problem)
{
    const kw_grid *grid = &problem->grid;
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        double length = kw_axis_active(grid, i) ? (double)grid->n[i] * grid->h[i] : 0.0;
        sum += length * length;
    }
    return sqrt(sum) / problem->map[KW_QUANTITY_C0].min;
}

double kw_source_bytes(const kw_problem *problem)
{
    double bytes = 0.0;
    for (int64_t s = 0; s < problem->source_count; s++) {
        const kw_source *source = &problem->sources[s];
        bool recipe = source->recipe.kind != KW_SIGNAL_SAMPLES;
        int64_t steps = problem->time.steps > 0 ? problem->time.steps : problem->time.asked_steps;
        double samples = recipe ? (double)steps : (double)source->signals * (double)source->samples;
        bool made = source->oversampling > 0;
        double most = source->delay == NULL || (made && !recipe) ? 1.0 : KW_DELAY_OVERSAMPLING;
        double entry = 32.0 + (source->weight != NULL ? 8.0 : 0.0) + (source->delay != NULL ? 16.0 : 0.0);
        bytes +=
            8.0 * samples * most + entry * (double)source->count; /* points, and their factors while they are made */
    }
    return bytes;
}

/* Samples of a signal that is a recipe. */
static kw_status make_signal(const kw_problem *problem, kw_source *source)
{
    int64_t over = source->oversampling;
    free(source->signal);
    source->signals = 1;
    source->samples = problem->time.steps * over;
    source->signal = malloc((size_t)source->samples * sizeof *source->signal);
    if (source->signal == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sources' signals");
    for (int64_t n = 0; n < source->samples; n++)
        source->signal[n] = kw_signal_value(&source->recipe, (double)n * problem->time.dt / (double)over);
    return KW_OK;
}

/* Given samples at `over` times their rate, by the band-limited stencil; they are 0 before and after. */
static kw_status oversample(kw_source *source)
{
    const int64_t margin = 2 * KW_STENCIL_TAPS, over = source->oversampling, n = source->samples, more = n * over;
    double *fine = malloc((size_t)(source->signals * more) * sizeof *fine);
    if (fine == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sources' signals");
    for (int64_t j = 0; j < more; j++) {
        kw_stencil stencil = kw_stencil_make(KW_BANDLIMITED, n + 2 * margin, (double)margin + (double)j / (double)over);
        for (int64_t row = 0; row < source->signals; row++) {
            double sum = 0.0;
            for (int t = 0; t < stencil.taps; t++) {
                int64_t k = stencil.first + t - margin;
                if (k >= 0 && k < n) sum += stencil.weight[t] * source->signal[row * n + k];
            }
            fine[row * more + j] = sum;
        }
    }
    free(source->signal);
    source->signal = fine;
    source->samples = more;
    return KW_OK;
}

static kw_status resolve_source(const kw_problem *problem, kw_source *source)
{
    double longest = 0.0;
    source->oversampling = source->delay != NULL ? KW_DELAY_OVERSAMPLING : 1;
    if (source->recipe.kind != KW_SIGNAL_SAMPLES)
        KW_TRY(make_signal(problem, source));
    else if (source->delay != NULL)
        KW_TRY(oversample(source));
    source->act_steps = source->samples / source->oversampling;
    if (source->delay == NULL) return KW_OK;
    free(source->lag);
    source->lag = malloc((size_t)source->count * sizeof *source->lag + 1);
    if (source->lag == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the sources");
    for (int64_t i = 0; i < source->count; i++) {
        if (!(source->delay[i] <= 1e9 * problem->time.dt))
            return kw_fail(KW_ERR_SCENE, "%s: a delay of %g s is more than 1e9 steps of %g s", source->where,
                           source->delay[i], problem->time.dt);
        source->lag[i] = source->delay[i] / problem->time.dt * source->oversampling;
        longest = fmax(longest, source->delay[i] / problem->time.dt);
    }
    source->act_steps += (int64_t)fmin(ceil(longest), 0x1p52) + 1;
    return KW_OK;
}

static kw_status resolve_sources(kw_problem *problem)
{
    if (problem->source_count > 0) KW_TRY(kw_machine_need(kw_source_bytes(problem), "the sources' signals"));
    for (int64_t s = 0; s < problem->source_count; s++) KW_TRY(resolve_source(problem, &problem->sources[s]));
    return KW_OK;
}

/* Fixes the window; checks that what was asked for can come of it. */
static kw_status resolve_recording(const kw_problem *problem, kw_recording *recording)
{
    const char *where = recording->where != NULL ? recording->where : problem->scene_file;
    int64_t last = problem->time.steps - 1;
    if (recording->from > last)
        return kw_fail(KW_ERR_SCENE, "%s: from_step must be below the number of steps, %lld, got %lld", where,
                       (long long)problem->time.steps, (long long)recording->from);
    if (recording->to > last) recording->to = last;
    int64_t samples = kw_recording_samples(recording, problem->time.steps);
    if (recording->intensity && samples < KW_INTENSITY_U)
        return kw_fail(KW_ERR_SCENE, "%s: the intensity needs at least %d recorded steps, got %lld", where,
                       KW_INTENSITY_U, (long long)samples);
    double nyquist = 0.5 / (problem->time.dt * (double)recording->every);
    for (int f = 0; f < recording->frequencies; f++)
        if (recording->frequency[f] >= nyquist)
            return kw_fail(KW_ERR_SCENE, "%s: frequencies must be below half the sampling rate, %.6g Hz, got %.6g Hz",
                           where, nyquist, recording->frequency[f]);
    return KW_OK;
}

kw_status kw_problem_resolve(kw_problem *problem)
{
    kw_time *time = &problem->time;
    const kw_map *c0 = &problem->map[KW_QUANTITY_C0];
    double h = kw_grid_min_spacing(&problem->grid);
    problem->c_ref = problem->asked_c_ref > 0.0 ? problem->asked_c_ref : c0->max;

    double cfl = time->asked_cfl > 0.0 ? time->asked_cfl : 0.3;
    time->dt = time->asked_dt > 0.0 ? time->asked_dt : cfl * h / c0->max;
    time->cfl = time->dt * c0->max / h;

    double steps = (double)time->asked_steps;
    if (time->asked_steps == 0) {
        double end = time->asked_duration > 0.0 ? time->asked_duration : crossing_time(problem);
        steps = floor(end / time->dt + 1e-6) + 1.0;
    }
    if (!(time->dt >= 1e-20 && time->dt <= 1e6))
        return kw_fail(KW_ERR_SCENE, "%s: time: the time step comes to %.4g s; allowed: 1e-20 to 1e6 s",
                       problem->scene_file, time->dt);
    if (!(steps >= 1.0 && steps <= 0x1p53))
        return kw_fail(KW_ERR_SCENE, "%s: time: the run would have %.4g steps of %.4g s; allowed: 1 to 2^53",
                       problem->scene_file, steps, time->dt);
    time->steps = (int64_t)steps;
    for (int i = 0; i < problem->recording_count; i++) KW_TRY(resolve_recording(problem, &problem->recordings[i]));
    return resolve_sources(problem);
}

double kw_stable_dt(const kw_problem *problem)
{
    double ratio = problem->c_ref / problem->map[KW_QUANTITY_C0].max;
    if (ratio >= 1.0) return INFINITY;
    double kmax = kw_grid_kmax(&problem->grid);
    return kmax > 0.0 ? 2.0 / (problem->c_ref * kmax) * asin(ratio) : INFINITY;
}

/* Smallest |k| > 0 on the grid. */
static double smallest_k(const kw_grid *grid)
{
    double least = INFINITY;
    for (int i = 0; i < 3; i++)
        if (kw_axis_active(grid, i)) least = fmin(least, fabs(kw_wavenumber(grid->n[i], grid->h[i], 1)));
    return least;
}

kw_stability kw_absorbing_stability(const kw_problem *problem, double alpha_factor, double dt_factor)
{
    enum { SAMPLES = 4096 };
    const kw_map *c0 = &problem->map[KW_QUANTITY_C0], *alpha = &problem->map[KW_QUANTITY_ALPHA];
    double dt = dt_factor * problem->time.dt, y = problem->absorption.power, c_ref = problem->c_ref;
    double speed[2] = {c0->min, c0->max}, coefficient[2] = {alpha->min, alpha->max};
    double tau_min = 0.0, eta_min = INFINITY, eta_max = -INFINITY;
    for (int i = 0; i < 4; i++) { /* tau and eta are monotonic in c0 and alpha: the extremes lie at the corners */
        double tau, eta;
        kw_absorption_factors(problem, speed[i % 2], alpha_factor * coefficient[i / 2], &tau, &eta);
        tau_min = fmin(tau_min, tau);
        eta_min = fmin(eta_min, eta);
        eta_max = fmax(eta_max, eta);
    }
    kw_stability result = {.stable = true, .first = 0.0, .second = 1.0};
    double kmax = kw_grid_kmax(&problem->grid), kmin = smallest_k(&problem->grid), ratio = c0->max / c_ref;
    for (int i = 0; i <= SAMPLES; i++) {
        double k = kmin + (kmax - kmin) * i / SAMPLES, wave = ratio * sin(0.5 * c_ref * k * dt);
        double inside = 1.0 - eta_min * pow(k, y - 1.0) - 2.0 * tau_min * pow(k, y - 2.0) / dt;
        result.first = fmax(result.first, wave * wave * inside);
        result.second = fmin(result.second, 1.0 - eta_max * pow(k, y - 1.0));
    }
    result.stable = result.first <= 1.0 + 1e-12 && result.second >= 0.0;
    return result;
}

double kw_max_frequency(const kw_problem *problem)
{
    return problem->map[KW_QUANTITY_C0].min / (2.0 * kw_grid_max_spacing(&problem->grid));
}
