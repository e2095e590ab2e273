#include "report.h"

#include "estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kwsim/clock.h"
#include "kwsim/log.h"
#include "kwsim/recording.h"

static int verbosity;

static void print_log(kw_log_level level, const char *text)
{
    if (level == KW_LOG_WARNING) fprintf(stderr, "kwsim: warning: %s\n", text);
    if (level == KW_LOG_INFO && verbosity >= 0) fprintf(stderr, "kwsim: %s\n", text);
    if (level == KW_LOG_DETAIL && verbosity >= 1) fprintf(stderr, "kwsim: %s\n", text);
}

void kw_report_open(int level)
{
    verbosity = level;
    kw_log_set_sink(print_log);
}

void kw_report_error(void) { fprintf(stderr, "kwsim: error: %s\n", kw_error_message()); }

const char *kw_bytes_text(double bytes, char *text, size_t size)
{
    if (bytes >= 1e12)
        snprintf(text, size, "%.2f TB", bytes / 1e12);
    else if (bytes >= 1e9)
        snprintf(text, size, "%.2f GB", bytes / 1e9);
    else
        snprintf(text, size, "%.1f MB", bytes / 1e6);
    return text;
}

/* ---- summary ---- */

static void print_medium(FILE *out, const kw_problem *problem)
{
    static const char *const unit[4] = {"m/s", "kg/m^3", "dB/(MHz^y cm)", ""};
    static const char *const name[4] = {"c0", "rho0", "alpha", "B/A"};
    fprintf(out, "medium     ");
    for (int q = KW_QUANTITY_C0; q <= KW_QUANTITY_BONA; q++) {
        const kw_map *map = &problem->map[q];
        if (!kw_problem_has(problem, (kw_quantity)q)) continue;
        fprintf(out, "%s %g", name[q], map->min);
        if (map->max > map->min) fprintf(out, " to %g", map->max);
        fprintf(out, "%s%s, ", unit[q][0] ? " " : "", unit[q]);
        if (q == KW_QUANTITY_ALPHA)
            fprintf(out, "y %g%s%s, ", problem->absorption.power,
                    problem->absorption.attenuation ? "" : " without attenuation",
                    problem->absorption.dispersion ? "" : " without dispersion");
    }
    fprintf(out, "c_ref %g m/s\n", problem->c_ref);
    const kw_map *c0 = &problem->map[KW_QUANTITY_C0];
    fprintf(out, "frequency  up to %.4g MHz (two points per wavelength", kw_max_frequency(problem) * 1e-6);
    if (c0->min < c0->max)
        fprintf(out, " at the slowest grid point (%lld, %lld, %lld)", (long long)c0->min_at[0],
                (long long)c0->min_at[1], (long long)c0->min_at[2]);
    fprintf(out, ")\n");
}

static void print_time(FILE *out, const kw_problem *problem)
{
    const kw_time *time = &problem->time;
    double limit = kw_stable_dt(problem);
    fprintf(out, "time       %lld step%s of %.6g ns (CFL %.4g), %.6g us in all\n", (long long)time->steps,
            time->steps == 1 ? "" : "s", time->dt * 1e9, time->cfl, time->dt * (double)time->steps * 1e6);
    if (isinf(limit))
        fprintf(out, "stability  c_ref >= max c0: no limit on dt%s\n",
                kw_map_is_constant(&problem->map[KW_QUANTITY_RHO0]) ? "" : " but for large density steps");
    else
        fprintf(out, "stability  dt up to %.6g ns\n", limit * 1e9);
}

static void print_grid(FILE *out, const kw_problem *problem)
{
    const kw_grid *grid = &problem->user;
    const int64_t *n = grid->n, *size = problem->pml.size;
    const double *h = grid->h, *alpha = problem->pml.alpha;
    fprintf(out, "grid       %lld x %lld x %lld points, spacing %g x %g x %g mm, %g x %g x %g mm\n", (long long)n[0],
            (long long)n[1], (long long)n[2], h[0] * 1e3, h[1] * 1e3, h[2] * 1e3, h[0] * (double)n[0] * 1e3,
            h[1] * (double)n[1] * 1e3, h[2] * (double)n[2] * 1e3);
    fprintf(out, "pml        %lld x %lld x %lld points, alpha %g x %g x %g Np/point", (long long)size[0],
            (long long)size[1], (long long)size[2], alpha[0], alpha[1], alpha[2]);
    for (int i = 0; i < 3; i++)
        if (kw_axis_active(grid, i) && size[i] == 0) fprintf(out, "; %c is periodic", 'x' + i);
    if (problem->pml.outside)
        fprintf(out, "; outside: %lld x %lld x %lld points are stepped", (long long)problem->grid.n[0],
                (long long)problem->grid.n[1], (long long)problem->grid.n[2]);
    fprintf(out, "\n");
}

static void print_slow_sizes(const kw_grid *grid)
{
    for (int i = 0; i < 3; i++) {
        int64_t factor = kw_largest_prime_factor(grid->n[i]);
        if (factor > 7)
            kw_log(KW_LOG_INFO,
                   "%lld points along %c have the prime factor %lld: the transforms are slower than at %lld",
                   (long long)grid->n[i], 'x' + i, (long long)factor, (long long)kw_nearest_fast_size(grid->n[i]));
    }
}

static void print_machine(FILE *out, const kw_summary *summary)
{
    char text[40];
    fprintf(out, "backend    %s%s%s: %s, %s precision\n", summary->backend->name, summary->why[0] ? ", " : "",
            summary->why, summary->device.device,
            summary->command->options.precision == KW_DOUBLE ? "double" : "single");
    fprintf(out, "memory     %s", kw_bytes_text(summary->memory.total, text, sizeof text));
    fprintf(out, " of %s free:", kw_bytes_text(summary->device.memory_free, text, sizeof text));
    for (int i = 0; i < summary->memory.count; i++)
        fprintf(out, "%s %s %s", i ? "," : "", summary->memory.item[i].purpose,
                kw_bytes_text(summary->memory.item[i].bytes, text, sizeof text));
    fprintf(out, "\n");
}

/* What the run would take on every backend. */
static void print_every_memory(FILE *out, const kw_summary *summary)
{
    int count;
    char need[40], have[40];
    const kw_backend *const *all = kw_backends(&count);
    for (int i = count - 1; i >= 0; i--) {
        kw_device_info info;
        kw_memory_plan plan;
        fprintf(out, "memory on %-6s ", all[i]->name);
        if (all[i]->probe(&summary->command->options, &info) != KW_OK ||
            kw_estimate(summary->problem, &summary->command->options, all[i], &plan) != KW_OK)
            fprintf(out, "not usable: %s\n", kw_error_message());
        else
            fprintf(out, "%s of %s free\n", kw_bytes_text(plan.total, need, sizeof need),
                    kw_bytes_text(info.memory_free, have, sizeof have));
    }
}

static void print_recordings(FILE *out, const kw_problem *problem)
{
    int64_t points = 0;
    for (int64_t s = 0; s < problem->set_count; s++) points += problem->sets[s].count;
    if (problem->set_count > 0)
        fprintf(out, "sensors    %lld points in %lld sets\n", (long long)points, (long long)problem->set_count);
    for (int r = 0; r < problem->recording_count; r++) {
        const kw_recording *recording = &problem->recordings[r];
        bool root = recording->name[0] == '\0', heat = recording->kind == KW_RECORD_HEAT;
        fprintf(out, "record     %s: %lld rows, %lld samples, steps %lld to %lld",
                !root                                  ? recording->name
                : recording->kind == KW_RECORD_SENSORS ? "sensors"
                                                       : "whole grid",
                (long long)kw_recording_rows(problem, recording),
                (long long)kw_recording_samples(recording, problem->time.steps), (long long)recording->from,
                (long long)recording->to);
        if (recording->every > 1) fprintf(out, " every %lld", (long long)recording->every);
        fprintf(out, "%s\n", heat ? ", heat" : "");
    }
}

void kw_report_summary(const kw_summary *summary)
{
    FILE *out = summary->command->dry_run ? stdout : stderr;
    const kw_problem *problem = summary->problem;
    print_slow_sizes(&problem->grid);
    if (summary->command->verbosity < 0 && !summary->command->dry_run) return;
    fprintf(out, "scene      %s -> %s\n", problem->scene_file, summary->output);
    print_grid(out, problem);
    print_medium(out, problem);
    print_time(out, problem);
    if (problem->source_count > 0) {
        int64_t points = 0;
        for (int64_t i = 0; i < problem->source_count; i++) points += problem->sources[i].count;
        fprintf(out, "sources    %lld points in %lld sources%s\n", (long long)points, (long long)problem->source_count,
                problem->has_p0 ? ", and an initial pressure" : "");
    }
    print_recordings(out, problem);
    print_machine(out, summary);
    if (summary->command->dry_run) print_every_memory(out, summary);
}

/* ---- progress ---- */

void kw_progress_start(kw_progress *progress, const kw_command *command, int64_t steps)
{
    *progress = (kw_progress){.shown = !command->no_progress && command->verbosity >= 0,
                              .terminal = isatty(STDERR_FILENO),
                              .steps = steps,
                              .start = kw_clock_seconds()};
}

void kw_progress_update(kw_progress *progress, int64_t done)
{
    double now = kw_clock_seconds(), elapsed = now - progress->start;
    if (!progress->shown || done == 0) return;
    int tenth = (int)(10.0 * (double)done / (double)progress->steps);
    bool last = done == progress->steps;
    if (progress->terminal ? now - progress->last_line < 0.1 && !last : tenth == progress->tenth) return;
    progress->tenth = tenth;
    progress->last_line = now;
    double rate = elapsed > 0 ? (double)done / elapsed : 0.0;
    double left = rate > 0 ? (double)(progress->steps - done) / rate : 0.0;
    fprintf(stderr, "%s%3.0f %%  step %lld of %lld  %.3g steps/s  %.0f s left%s", progress->terminal ? "\r" : "",
            100.0 * (double)done / (double)progress->steps, (long long)done, (long long)progress->steps, rate,
            ceil(left), progress->terminal ? "   " : "\n");
    fflush(stderr);
}

void kw_progress_end(kw_progress *progress)
{
    if (progress->shown && progress->terminal && progress->last_line > 0) fprintf(stderr, "\n");
}

void kw_report_closing(const char *file, const kw_stats *stats, double total_seconds)
{
    struct rusage usage;
    char text[40];
    double steps = (double)stats->steps, seconds = stats->step_seconds;
    getrusage(RUSAGE_SELF, &usage);
    printf("%s: %lld steps in %.3g s, %.4g ms/step, %.4g steps/s, peak memory %s, %.3g s in all\n", file,
           (long long)stats->steps, seconds, 1e3 * seconds / steps, seconds > 0 ? steps / seconds : 0.0,
           kw_bytes_text(1024.0 * (double)usage.ru_maxrss, text, sizeof text), total_seconds);
}

void kw_report_backends(const kw_options *options)
{
    int count;
    char text[40];
    const kw_backend *const *all = kw_backends(&count);
    for (int i = 0; i < count; i++) {
        kw_device_info info = {0};
        printf("%-6s %s\n", all[i]->name, all[i]->summary);
        if (all[i]->probe(options, &info) != KW_OK)
            printf("       not usable: %s\n", kw_error_message());
        else
            printf("       usable: %s; %s; %s free\n", info.device, info.detail,
                   kw_bytes_text(info.memory_free, text, sizeof text));
    }
}
