#include "run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kwsim/clock.h"
#include "kwsim/log.h"
#include "kwsim/prep.h"
#include "kwsim/recorder.h"
#include "kwsim/recording.h"
#include "kwsim/scene.h"
#include "kwsim/sources.h"
#include "estimate.h"
#include "report.h"
#include "results.h"
#include "stability.h"

enum { WATCH_STEPS = 10 };              /* the field is looked at this often, and one call steps at most so far */
static const double RUNAWAY = 1e6;      /* times the largest amplitude that the scene puts in */
static const double CALL_SECONDS = 0.2; /* one advance() should not take longer: signals, progress */

static volatile sig_atomic_t interrupted, keeping;

/* While nothing is recorded there is nothing to save: the process ends at once. */
static void on_signal(int number)
{
    static const char text[] = "kwsim: interrupted before the first step; nothing was written\n";
    (void)number;
    if (!keeping) {
        ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
        (void)ignored;
        _exit(KW_INTERRUPTED);
    }
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}; /* the second one kills */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* What one run works with. */
typedef struct kw_running {
    const kw_command *command;
    kw_problem problem;
    kw_summary summary;
    char why[300];
    char output[4096];
    kw_field_source source;
    kw_recorder *recorder;
    kw_sim *sim;
    void *samples; /* what a ring holds */
    double start;
    double amplitude; /* largest |p| that the scene puts in */
    kw_watch last;    /* the last look at the field, and the one before */
    kw_watch before;
    int64_t looked;   /* steps asked for when it was last looked at */
    int64_t *written; /* samples of each recording handed to the recorder */
} kw_running;

/* ---- before the run ---- */

static bool fits_on_cpu(const kw_running *run, const kw_backend *refused)
{
    const kw_backend *cpu = kw_backend_find("cpu");
    kw_device_info info;
    kw_memory_plan plan;
    return refused != cpu && cpu->probe(&run->command->options, &info) == KW_OK &&
           kw_estimate(&run->problem, &run->command->options, cpu, &plan) == KW_OK && plan.total <= info.memory_free;
}

static kw_status refuse_memory(const kw_running *run, const kw_backend *backend)
{
    char need[40], have[40], parts[600] = "", part[40];
    const kw_memory_plan *plan = &run->summary.memory;
    for (int i = 0, used = 0; i < plan->count && used < (int)sizeof parts; i++)
        used += snprintf(parts + used, sizeof parts - (size_t)used, "%s%s %s", i ? ", " : "", plan->item[i].purpose,
                         kw_bytes_text(plan->item[i].bytes, part, sizeof part));
    return kw_fail(KW_ERR_RESOURCE,
                   "the run needs %s on the backend %s, and %s are free (%s). What shrinks it: a thinner PML on a "
                   "smaller grid; fewer sensors or recorded quantities; a coarser grid or fewer maps%s",
                   kw_bytes_text(plan->total, need, sizeof need), backend->name,
                   kw_bytes_text(run->summary.device.memory_free, have, sizeof have), parts,
                   fits_on_cpu(run, backend) ? ". It fits on the CPU: --backend cpu" : "");
}

static kw_status try_backend(kw_running *run, const kw_backend *backend)
{
    kw_summary *summary = &run->summary;
    KW_TRY(backend->probe(&run->command->options, &summary->device));
    KW_TRY(kw_estimate(&run->problem, &run->command->options, backend, &summary->memory));
    bool runs = run->command->write_kwave == NULL; /* else it need not fit here */
    if (runs && summary->memory.total > summary->device.memory_free) return refuse_memory(run, backend);
    summary->backend = backend;
    return KW_OK;
}

/* `auto` takes the first backend that is usable and has the memory, and says why not the ones before. */
static kw_status choose_backend(kw_running *run)
{
    int count;
    const kw_backend *const *all = kw_backends(&count);
    run->summary.why = run->why;
    if (strcmp(run->command->backend, "auto") != 0) return try_backend(run, kw_backend_find(run->command->backend));
    for (int i = 0; i < count; i++) {
        kw_status status = try_backend(run, all[i]);
        if (status == KW_OK && run->why[0] == '\0') snprintf(run->why, sizeof run->why, "preferred by auto");
        if (status == KW_OK || i == count - 1) return status;
        snprintf(run->why, sizeof run->why, "taken by auto because %s: %.200s", all[i]->name, kw_error_message());
    }
    return KW_OK;
}

/* Lossless stability, README section "Stability". */
static kw_status check_stability(const kw_problem *problem)
{
    double limit = kw_stable_dt(problem), dt = problem->time.dt;
    if (dt > limit && !problem->time.allow_unstable)
        return kw_fail(KW_ERR_SCENE,
                       "%s: time: dt %.6g s is above the stability limit of %.6g s; take cfl <= %.4g, or "
                       "medium.reference_speed >= %g m/s (then every dt is stable), or time.allow_unstable = true",
                       problem->scene_file, dt, limit, problem->time.cfl * limit / dt,
                       problem->map[KW_QUANTITY_C0].max);
    if (dt > limit)
        kw_log(KW_LOG_WARNING, "dt %.6g s is above the stability limit of %.6g s: the run may go unstable", dt, limit);
    return KW_OK;
}

/* A density map can make a lossless run unstable that is stable without it: asked for, or from CFL 0.5 on, the largest
 * eigenvalue is estimated. It comes out up to 3 % too small. */
static kw_status check_density_stability(const kw_running *run)
{
    const double limit = 4.0, close = 0.97 * limit;
    const kw_problem *problem = &run->problem;
    const kw_map *rho0 = &problem->map[KW_QUANTITY_RHO0];
    double largest = 0.0;
    if (problem->absorption.on && problem->time.estimate_stability)
        kw_log(KW_LOG_WARNING,
               "%s: time.estimate_stability is for lossless media: the absorbing criterion is used instead",
               problem->scene_file);
    if (problem->absorption.on || (kw_map_is_constant(rho0) && !problem->time.estimate_stability) ||
        (problem->time.cfl < 0.5 && !problem->time.estimate_stability))
        return KW_OK;
    KW_TRY(kw_lanczos_estimate(problem, run->summary.backend, &run->command->options, &largest));
    kw_log(KW_LOG_INFO, "stability: the largest eigenvalue is about %.4g; up to 4 is stable", largest);
    if (largest <= close || kw_map_is_constant(rho0)) return KW_OK; /* without a map dt's limit is known exactly */
    char text[300];
    snprintf(text, sizeof text,
             "%s: time: the density map (ratio %.3g) %s at CFL %.3g: the largest eigenvalue of a step is estimated as "
             "%.4g, and up to 4 is stable; take cfl %.3g or less",
             problem->scene_file, rho0->max / rho0->min, largest > limit ? "makes the run unstable" : "may be unstable",
             problem->time.cfl, largest, 0.9 * problem->time.cfl * sqrt(limit / largest));
    if (largest > limit && !problem->time.allow_unstable)
        return kw_fail(KW_ERR_SCENE, "%s; time.allow_unstable = true runs it all the same", text);
    kw_log(KW_LOG_WARNING, "%s", text);
    return KW_OK;
}

/* Largest factor in (0, 1] for which the run would be stable, by bisection; 0 if none. */
static double largest_stable(const kw_problem *problem, bool of_dt)
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 40; i++) {
        double middle = 0.5 * (low + high);
        bool stable = kw_absorbing_stability(problem, of_dt ? 1.0 : middle, of_dt ? middle : 1.0).stable;
        if (stable)
            low = middle;
        else
            high = middle;
    }
    return low > 1e-6 ? low : 0.0;
}

/* Exact for a homogeneous medium: refused. With maps on the safe side: a warning. */
static kw_status check_absorbing_stability(const kw_problem *problem)
{
    const kw_map *alpha = &problem->map[KW_QUANTITY_ALPHA];
    if (!problem->absorption.on) return KW_OK;
    kw_stability found = kw_absorbing_stability(problem, 1.0, 1.0);
    if (found.stable) return KW_OK;
    bool homogeneous = alpha->max == alpha->min && problem->map[KW_QUANTITY_C0].max == problem->map[KW_QUANTITY_C0].min;
    double by_alpha = largest_stable(problem, false), by_dt = largest_stable(problem, true);
    char text[700], cfl[60] = "";
    if (by_dt > 0.0) snprintf(cfl, sizeof cfl, ", time.cfl up to %.3g", problem->time.cfl * by_dt);
    snprintf(
        text, sizeof text,
        "the stability criterion of absorbing media is not met: its first term reaches %.4g (allowed: up to 1), its "
        "second %.4g (allowed: 0 or more). What runs: medium.absorption.coefficient up to %.3g dB/(MHz^y cm)%s, or "
        "dispersion = false",
        found.first, found.second, alpha->max * by_alpha, cfl);
    if (homogeneous && !problem->time.allow_unstable)
        return kw_fail(KW_ERR_SCENE, "%s: %s; time.allow_unstable = true runs it all the same", alpha->where, text);
    kw_log(KW_LOG_WARNING, "%s: %s", alpha->where, text);
    return KW_OK;
}

/* A stepper that was asked for by name must be able to take the run. */
static kw_status check_stepper(const kw_running *run)
{
    const kw_problem *problem = &run->problem;
    const char *obstacle = run->summary.backend->mixed_obstacle(problem);
    if (problem->stepper != KW_STEPPER_MIXED) return KW_OK;
    if (obstacle != NULL)
        return kw_fail(KW_ERR_SCENE,
                       "%s: stepper: \"mixed\" cannot take this run, since %s; take \"auto\" or \"classical\"",
                       problem->scene_file, obstacle);
    return KW_OK;
}

static void warn_of_sources(const kw_problem *problem)
{
    for (int64_t s = 0; s < problem->source_count; s++) {
        const kw_source *source = &problem->sources[s];
        bool again = s > 0 && source->where != NULL && strcmp(source->where, problem->sources[s - 1].where) == 0;
        if (again) continue; /* another axis of the same normal velocity */
        int64_t samples = source->samples / source->oversampling;
        if (samples > problem->time.steps)
            kw_log(KW_LOG_WARNING, "%s: the signal has %lld samples and the run %lld steps: the rest is not used",
                   source->where, (long long)samples, (long long)problem->time.steps);
        double per_wavelength = 2.0 * kw_max_frequency(problem) / kw_signal_highest(&source->recipe);
        if (source->recipe.kind != KW_SIGNAL_SAMPLES && per_wavelength < 2.0)
            kw_log(KW_LOG_WARNING,
                   "%s: %.3g points per wavelength at its highest frequency; the grid carries two or more",
                   source->where, per_wavelength);
        else if (source->recipe.kind != KW_SIGNAL_SAMPLES)
            kw_log(KW_LOG_INFO, "%s: %.3g points per wavelength at its highest frequency", source->where,
                   per_wavelength);
        bool starts = false;
        for (int64_t i = 0; i < source->signals; i++) starts |= source->signal[i * source->samples] != 0.0;
        if (problem->has_p0 && starts)
            kw_log(KW_LOG_WARNING,
                   "%s: sample 0 of the signal is not 0 and is not used: step 0 is the initial pressure",
                   source->where);
    }
}

static void warn_of_sensors_in_pml(const kw_problem *problem)
{
    int64_t inside = 0, count = kw_sensor_count(problem);
    for (int64_t row = 0; row < count; row++) {
        kw_sensor_place place = kw_sensor_locate(problem, row);
        bool in_pml = false;
        for (int i = 0; i < 3; i++)
            in_pml |=
                place.index[i] < problem->pml.size[i] || place.index[i] >= problem->grid.n[i] - problem->pml.size[i];
        inside += in_pml;
    }
    if (inside > 0)
        kw_log(KW_LOG_WARNING, "%lld of %lld sensor points lie in the PML, where waves are damped", (long long)inside,
               (long long)count);
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The output must not be a file that the scene is made of, whatever --force says. */
static kw_status keep_inputs(const kw_running *run)
{
    char part[4200];
    const char *output = run->command->write_kwave != NULL ? run->command->write_kwave : run->output;
    snprintf(part, sizeof part, "%s.part", output);
    for (int64_t i = 0; i < run->problem.input_count; i++) {
        const char *input = run->problem.inputs[i];
        if (!same_file(output, input) && !same_file(part, input)) continue;
        return kw_fail(KW_ERR_USAGE, "the output \"%s\" would replace \"%s\", which is read; take another name", output,
                       input);
    }
    return KW_OK;
}

/* A scene, or a k-Wave input. */
static kw_status load_problem(const kw_command *command, kw_problem *problem)
{
    kw_kwave_request request = command->kwave;
    if (!command->is_kwave && !kw_kwave_is(command->scene))
        return kw_scene_load(command->scene, command->overrides, command->override_count, command->steps, problem);
    if (command->override_count > 0)
        return kw_fail(KW_ERR_USAGE, "--set is for scenes; \"%s\" is a k-Wave input", command->scene);
    if (command->steps > 0) request.steps = command->steps;
    return kw_kwave_load(command->scene, &request, problem);
}

static kw_status prepare_problem(kw_running *run)
{
    const kw_command *command = run->command;
    kw_problem *problem = &run->problem;
    KW_TRY(load_problem(command, problem));
    snprintf(run->output, sizeof run->output, "%s", command->output != NULL ? command->output : problem->output_file);
    run->summary.output = run->output;
    bool writes = !command->dry_run && command->write_kwave == NULL;
    if (writes) KW_TRY(kw_recorder_check(run->output, command->force));
    KW_TRY(keep_inputs(run));
    KW_TRY(choose_backend(run));
    KW_TRY(kw_prep_scan(problem, command->options.threads));
    KW_TRY(kw_problem_resolve(problem));
    KW_TRY(check_stability(problem));
    KW_TRY(check_absorbing_stability(problem));
    KW_TRY(check_stepper(run));
    warn_of_sources(problem);
    warn_of_sensors_in_pml(problem);
    run->amplitude = kw_problem_amplitude(problem);
    if (run->amplitude == 0.0)
        kw_log(KW_LOG_WARNING, "%s: every source is 0 everywhere: the field stays 0", problem->scene_file);
    else if (run->amplitude < 1e-30)
        kw_log(KW_LOG_WARNING, "%s: the largest pressure that the scene puts in is %g Pa", problem->scene_file,
               run->amplitude);
    KW_TRY(try_backend(run, run->summary.backend)); /* with the maps' ranges known */
    return check_density_stability(run);
}

/* Bytes of the largest of the recordings' rings. */
static size_t largest_ring(const kw_running *run)
{
    size_t most = 0;
    for (int r = 0; r < run->problem.recording_count; r++) {
        const kw_recording *recording = &run->problem.recordings[r];
        int64_t ring = kw_recording_ring(&run->problem, recording, run->command->options.precision);
        size_t reals = (size_t)(ring * kw_bit_count(recording->series) * kw_recording_rows(&run->problem, recording));
        if (reals > most) most = reals;
    }
    return most * kw_real_size(run->command->options.precision);
}

static kw_status prepare_run(kw_running *run)
{
    const kw_command *command = run->command;
    const kw_summary *summary = &run->summary;
    kw_recorder_info info = {KWSIM_VERSION, summary->backend->name, summary->device.device, command->options.precision,
                             command->options.threads};
    run->samples = malloc(largest_ring(run) + 1);
    run->written = calloc((size_t)run->problem.recording_count + 1, sizeof *run->written);
    if (run->samples == NULL || run->written == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the samples");
    KW_TRY(kw_prep_open(&run->problem, command->options.threads, &run->source));
    kw_status status = summary->backend->create(&run->problem, &command->options, &run->source, &run->sim);
    kw_prep_close(&run->source);
    if (status != KW_OK) return status;
    keeping = 1;
    return kw_recorder_create(run->output, command->force, &run->problem, &info, &run->recorder);
}

/* ---- during the run ---- */

/* In the user's grid; beyond its ends in a PML outside. */
static kw_watch in_user_grid(const kw_running *run, const kw_watch *watch)
{
    kw_watch result = *watch;
    for (int i = 0; i < 3; i++) result.at[i] -= run->problem.inner.lo[i];
    return result;
}

static kw_status report_instability(const kw_running *run, const kw_watch *seen_now)
{
    kw_watch here = in_user_grid(run, seen_now), before = in_user_grid(run, &run->last), *now = &here, *last = &before;
    const kw_watch *to = now->finite ? now : last, *from = now->finite ? last : &run->before;
    char growth[80] = "";
    if (to->step > from->step && from->max_abs > 0.0)
        snprintf(growth, sizeof growth, ", growing by a factor of %.3g per step",
                 pow(to->max_abs / from->max_abs, 1.0 / (double)(to->step - from->step)));
    char what[120];
    if (now->finite)
        snprintf(what, sizeof what, "reached %.4g Pa, %.1g times the largest amplitude of the scene", now->max_abs,
                 now->max_abs / run->amplitude);
    else
        snprintf(what, sizeof what, "is no longer finite");
    char seen[200] = "";
    if (last->step >= 0)
        snprintf(seen, sizeof seen, ". The last finite maximum was %.4g Pa at step %lld at (%lld, %lld, %lld)%s",
                 last->max_abs, (long long)last->step, (long long)last->at[0], (long long)last->at[1],
                 (long long)last->at[2], growth);
    return kw_fail(
        KW_ERR_UNSTABLE,
        "the run went unstable: at step %lld the pressure %s, at grid point (%lld, %lld, %lld)%s. Try, in this "
        "order: a smaller %s; a smoother p0 or medium; a thicker PML. What was recorded is in %s",
        (long long)now->step, what, (long long)now->at[0], (long long)now->at[1], (long long)now->at[2], seen,
        run->problem.kwave.on ? "dt" : "time.cfl", kw_recorder_part(run->recorder));
}

static kw_status drain(kw_running *run, bool wait)
{
    for (int r = 0; r < run->problem.recording_count; r++) {
        int64_t count = 0;
        if (run->problem.recordings[r].series == 0) continue;
        KW_TRY(run->summary.backend->read_traces(run->sim, r, wait, run->samples, &count));
        run->written[r] += count;
        KW_TRY(kw_recorder_samples(run->recorder, r, run->samples, count));
    }
    return KW_OK;
}

static kw_status look(kw_running *run, bool wait)
{
    kw_watch now;
    KW_TRY(run->summary.backend->watch(run->sim, wait, &now));
    bool runaway = run->amplitude > 0.0 && now.max_abs > RUNAWAY * run->amplitude;
    if (!now.finite || runaway) {
        KW_TRY(drain(run, true));
        return report_instability(run, &now);
    }
    if (now.step <= run->last.step) return KW_OK;
    run->before = run->last;
    run->last = now;
    return KW_OK;
}

/* Samples that fit into the ring of a recording with series; else 0. */
static int64_t ring_of(const kw_running *run, int r)
{
    return kw_recording_ring(&run->problem, &run->problem.recordings[r], run->command->options.precision);
}

/* Makes room in the sim's rings for the samples of the steps before `done`. */
static kw_status make_room(kw_running *run, int64_t done)
{
    bool full = false;
    for (int r = 0; r < run->problem.recording_count; r++) {
        int64_t ring = ring_of(run, r);
        full |= ring > 0 && kw_recording_samples(&run->problem.recordings[r], done) - run->written[r] > ring;
    }
    return full ? drain(run, true) : KW_OK;
}

/* Steps of the next advance(): short enough for signals and progress, and for half of every ring, so that a device can
 * fill one half while the other is written. */
static int64_t next_call(const kw_running *run, const kw_stats *stats)
{
    int64_t steps = WATCH_STEPS;
    if (stats->steps > 1) {
        double fit = CALL_SECONDS * (double)stats->steps / (stats->step_seconds + 1e-9);
        if (fit < (double)steps) steps = (int64_t)fit;
    }
    int64_t left = run->problem.time.steps - stats->steps;
    steps = steps < 1 ? 1 : steps > left ? left : steps;
    for (int r = 0; r < run->problem.recording_count; r++) {
        const kw_recording *recording = &run->problem.recordings[r];
        int64_t half = (ring_of(run, r) + 1) / 2, before = kw_recording_samples(recording, stats->steps);
        while (half > 0 && steps > 1 && kw_recording_samples(recording, stats->steps + steps) - before > half) steps--;
    }
    return steps;
}

/* The field of step 0 is p0, where there is one. */
static void start_looking(kw_running *run)
{
    const kw_map *p0 = &run->problem.map[KW_QUANTITY_P0];
    bool high = fabs(p0->max) >= fabs(p0->min);
    run->last = (kw_watch){.step = -1, .finite = true};
    if (run->problem.has_p0) {
        run->last.step = 0;
        run->last.max_abs = high ? fabs(p0->max) : fabs(p0->min);
        for (int i = 0; i < 3; i++) run->last.at[i] = (high ? p0->max_at : p0->min_at)[i] + run->problem.inner.lo[i];
    }
    run->before = run->last;
}

static kw_status step_once(kw_running *run, int64_t call, int64_t done)
{
    KW_TRY(make_room(run, done));
    KW_TRY(run->summary.backend->advance(run->sim, call));
    KW_TRY(drain(run, false));
    if (done - run->looked < WATCH_STEPS) return KW_OK;
    run->looked = done;
    return look(run, false);
}

static kw_status step_all(kw_running *run, kw_progress *progress)
{
    const kw_backend *backend = run->summary.backend;
    kw_stats stats;
    start_looking(run);
    for (backend->stats(run->sim, &stats); stats.steps < run->problem.time.steps; backend->stats(run->sim, &stats)) {
        if (interrupted) {
            KW_TRY(drain(run, true));
            KW_TRY(look(run, true)); /* waits, also where nothing is recorded */
            return kw_fail(KW_INTERRUPTED, "interrupted after %lld of %lld steps; what was recorded is in %s",
                           (long long)stats.steps, (long long)run->problem.time.steps, kw_recorder_part(run->recorder));
        }
        int64_t call = next_call(run, &stats);
        KW_TRY(step_once(run, call, stats.steps + call));
        kw_progress_update(progress, stats.steps + call);
    }
    KW_TRY(drain(run, true));
    return look(run, true);
}

/* ---- after the run ---- */

/* Closes the file with what the run came to. A run that could not write leaves nothing. */
static kw_status finish(kw_running *run, kw_status status)
{
    kw_recorder_result result = {.status = "complete"};
    char message[2048];
    snprintf(message, sizeof message, "%s", kw_error_message());
    if (status != KW_OK && status != KW_INTERRUPTED && status != KW_ERR_UNSTABLE) return status;
    if (status == KW_INTERRUPTED) result.status = "interrupted";
    if (status == KW_ERR_UNSTABLE) result.status = "unstable";
    run->summary.backend->stats(run->sim, &result.stats);
    kw_status written = kw_results_write(&run->problem, run->summary.backend, run->sim, run->command->options.precision,
                                         run->recorder, result.stats.steps, status == KW_OK);
    if (written != KW_OK && status == KW_OK) { /* the traces are kept all the same */
        snprintf(message, sizeof message, "%s. What was recorded is in %s", kw_error_message(),
                 kw_recorder_part(run->recorder));
        result.status = "incomplete";
        status = written;
    }
    result.total_seconds = kw_clock_seconds() - run->start;
    kw_recorder *recorder = run->recorder;
    run->recorder = NULL;
    KW_TRY(kw_recorder_finish(recorder, &result));
    if (status != KW_OK) return kw_fail(status, "%s", message);
    kw_report_closing(run->output, &result.stats, result.total_seconds);
    return KW_OK;
}

static kw_status simulate(kw_running *run)
{
    kw_progress progress;
    KW_TRY(prepare_run(run));
    kw_progress_start(&progress, run->command, run->problem.time.steps);
    kw_status status = step_all(run, &progress);
    kw_progress_end(&progress);
    return finish(run, status);
}

/* --write-kwave: the scene in the field's format, for its own solvers. */
static kw_status write_kwave(kw_running *run)
{
    const kw_command *command = run->command;
    if (run->problem.kwave.on)
        return kw_fail(KW_ERR_USAGE, "--write-kwave is for scenes; \"%s\" is a k-Wave input", command->scene);
    for (int r = 0; r < run->problem.recording_count; r++)
        if (run->problem.recordings[r].from > 0 || run->problem.recordings[r].every > 1)
            kw_log(KW_LOG_WARNING,
                   "what is recorded, and when, is not in a k-Wave input: give -s %lld and the quantities' flags to "
                   "the solver",
                   (long long)run->problem.recordings[r].from + 1);
    KW_TRY(kw_prep_open(&run->problem, command->options.threads, &run->source));
    keeping = 1; /* a signal is heard when the file is whole */
    kw_status status = kw_kwave_write(command->write_kwave, command->force, &run->problem, &run->source);
    kw_prep_close(&run->source);
    return status;
}

kw_status kw_run(const kw_command *command)
{
    kw_running *run = calloc(1, sizeof *run);
    if (run == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    run->command = run->summary.command = command;
    run->summary.problem = &run->problem;
    run->start = kw_clock_seconds();
    catch_signals();
    kw_status status = prepare_problem(run);
    if (status == KW_OK) kw_report_summary(&run->summary);
    if (status == KW_OK && command->write_kwave != NULL)
        status = write_kwave(run);
    else if (status == KW_OK && !command->dry_run)
        status = simulate(run);
    kw_recorder_discard(run->recorder);
    if (run->sim != NULL) run->summary.backend->destroy(run->sim);
    free(run->samples);
    free(run->written);
    kw_problem_free(&run->problem);
    free(run);
    return status;
}
