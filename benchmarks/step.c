/* ms per step of one backend against ten 3-D real transforms of its library of the same size, in turn in one process.
 *
 *     step BACKEND PRECISION MEDIUM NX [NY NZ]     -> one line of CSV
 *     MEDIUM: homogeneous, c0, c0_rho0 (maps), absorbing (y = 1.5), stokes (y = 2), nonlinear, everything (all maps,
 *     absorbing and nonlinear), p_source (64 additive points with one signal instead of p0); homogeneous-classical and
 *     c0-classical force the classical step where mixed space would be taken; "-sparse" records p on every tenth step
 *     step                                         -> the header of the CSV
 *
 * p is recorded at 64 points on every step. Times are medians of rounds; the first call is reported apart. "effective"
 * bytes are those of the scheme with whole-field transforms: 60 U for ten transforms (three passes, read and write), 29
 * U for the updates, 1 or 4 U for maps, 24 U for four more transforms and 10 U for their updates where the medium
 * absorbs; U is one field. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/backend.h"
#include "kwsim/clock.h"
#include "kwsim/machine.h"
#include "kwsim/recording.h"
#include "yardstick.h"

enum { ROUNDS = 9, SENSORS = 64 };

typedef struct bench {
    const kw_backend *backend;
    const kw_yardstick_table *yardstick;
    kw_options options;
    kw_problem problem;
    const char *medium;
    kw_sim *sim;
    void *samples;
} bench;

static kw_status read_voxels(void *self, kw_quantity quantity, int64_t x0, int64_t nx, kw_precision precision,
                             void *dst)
{
    static const double base[KW_QUANTITY_COUNT] = {1500, 1000, 0.5, 6, 0},
                        wave[KW_QUANTITY_COUNT] = {100, 100, 0.1, 1, 1};
    const kw_grid *grid = self;
    int64_t plane = grid->n[1] * grid->n[2];
    for (int64_t i = 0; i < nx * plane; i++) {
        double value = base[quantity] + wave[quantity] * (double)((x0 * plane + i) * 7919 % 101) / 101.0;
        if (precision == KW_DOUBLE)
            ((double *)dst)[i] = value;
        else
            ((float *)dst)[i] = (float)value;
    }
    return KW_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const double *value)
{
    double sorted[ROUNDS];
    memcpy(sorted, value, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, compare);
    return sorted[ROUNDS / 2];
}

static void add_source(kw_problem *problem)
{
    kw_source *source = problem->sources = calloc(1, sizeof *source);
    problem->source_count = 1;
    source->count = SENSORS;
    source->index = malloc(sizeof(int64_t) * 3 * SENSORS);
    for (int k = 0; k < 3 * SENSORS; k++) source->index[k] = k * 104729L % problem->grid.n[k % 3];
    source->recipe = (kw_signal){.kind = KW_SIGNAL_CONTINUOUS, .amplitude = 1, .frequency = 1e6, .ramp_cycles = 3};
}

static void fill_problem(kw_problem *problem, const int n[3], const char *medium)
{
    static const double low[KW_QUANTITY_COUNT] = {1500, 1000, 0.5, 6, 0},
                        range[KW_QUANTITY_COUNT] = {100, 100, 0.1, 1, 1};
    bool all = strcmp(medium, "everything") == 0, both = all || strcmp(medium, "c0_rho0") == 0;
    bool source = strcmp(medium, "p_source") == 0;
    bool is_map[KW_QUANTITY_COUNT] = {both || strcmp(medium, "c0") == 0 || strncmp(medium, "c0-", 3) == 0, both, all,
                                      all, true};
    *problem = (kw_problem){.has_p0 = !source, .cpu_wisdom = true, .time = {.asked_cfl = 0.3, .asked_steps = 1 << 20}};
    problem->stepper = strstr(medium, "-classical") != NULL ? KW_STEPPER_CLASSICAL : KW_STEPPER_MIXED;
    problem->nonlinear = all || strcmp(medium, "nonlinear") == 0;
    problem->absorption = (kw_absorption){.power = 1.5, .attenuation = true, .dispersion = true};
    problem->absorption.on = all || strcmp(medium, "absorbing") == 0 || strcmp(medium, "stokes") == 0;
    if (strcmp(medium, "stokes") == 0) problem->absorption.power = 2.0;
    for (int i = 0; i < 3; i++) {
        problem->grid.n[i] = n[i];
        problem->grid.h[i] = 1e-4;
        problem->pml.size[i] = n[i] >= 42 ? 20 : 0;
        problem->pml.alpha[i] = 2;
    }
    for (int q = 0; q < KW_QUANTITY_COUNT; q++) {
        kw_map *map = &problem->map[q];
        map->value = map->min = low[q];
        map->max = low[q] + (is_map[q] ? range[q] : 0);
        if (is_map[q]) map->file = strdup("in memory");
    }
    if (source) add_source(problem);
    problem->user = problem->grid;
    problem->inner = kw_grid_box(&problem->grid);
    problem->recordings = calloc(1, sizeof *problem->recordings);
    problem->recording_count = 1;
    problem->recordings[0] =
        (kw_recording){.set_count = 1, .series = 1u << KW_REC_P, .to = INT64_C(1) << 53, .every = 1};
    if (strstr(medium, "-sparse") != NULL) problem->recordings[0].every = 10;
    problem->set_count = 1;
    problem->sets = calloc(1, sizeof *problem->sets);
    double *position = malloc(sizeof(double) * 3 * SENSORS);
    for (int k = 0; k < 3 * SENSORS; k++)
        position[k] = kw_grid_coordinate(&problem->grid, k % 3, (double)(k * 7919L % n[k % 3]));
    problem->sets[0] = (kw_sensor_set){.name = strdup("s"), .rows = SENSORS, .count = SENSORS, .position = position};
}

/* Seconds of one step, over `steps` of them in calls of at most ten, all finished. */
static kw_status time_steps(bench *b, int64_t steps, double *seconds)
{
    double start = kw_clock_seconds();
    int64_t count;
    kw_watch watch;
    for (int64_t left = steps; left > 0; left -= 10) {
        KW_TRY(b->backend->advance(b->sim, left < 10 ? left : 10));
        KW_TRY(b->backend->read_traces(b->sim, 0, false, b->samples, &count));
    }
    KW_TRY(b->backend->read_traces(b->sim, 0, true, b->samples, &count));
    KW_TRY(b->backend->watch(b->sim, true, &watch));
    *seconds = (kw_clock_seconds() - start) / (double)steps;
    if (!watch.finite) return kw_fail(KW_ERR_RUN, "the field is not finite");
    return KW_OK;
}

/* Steps of a round: about a quarter of a second, at most two of the ring's fill a call apart. */
static int64_t round_steps(double step_seconds)
{
    double steps = 0.25 / step_seconds;
    return steps < 1 ? 1 : steps > 400 ? 400 : (int64_t)steps;
}

static kw_status run(bench *b)
{
    double step[ROUNDS], ten[ROUNDS], ratio[ROUNDS], graph[ROUNDS], first, warm;
    const kw_grid *grid = &b->problem.grid;
    const int n[3] = {(int)grid->n[0], (int)grid->n[1], (int)grid->n[2]};
    kw_field_source source = {&b->problem.grid, read_voxels};
    kw_stats stats;
    KW_TRY(kw_problem_resolve(&b->problem));
    KW_TRY(b->backend->create(&b->problem, &b->options, &source, &b->sim));
    KW_TRY(time_steps(b, 1, &first)); /* step 0 is p0 itself */
    KW_TRY(time_steps(b, 1, &first));
    KW_TRY(time_steps(b, 3, &warm));
    kw_yardstick *y = b->yardstick->make(n, b->options.precision == KW_DOUBLE, b->options.threads);
    if (y == NULL) return kw_fail(KW_ERR_RESOURCE, "the yardstick cannot be made");
    int64_t steps = round_steps(warm);
    for (int i = 0; i < ROUNDS; i++) {
        KW_TRY(time_steps(b, steps, &step[i]));
        ten[i] = b->yardstick->ten_seconds(y);
        graph[i] = b->yardstick->ten_graph_seconds(y);
        ratio[i] = step[i] / ten[i];
    }
    b->backend->stats(b->sim, &stats);
    double points = (double)kw_grid_points(grid), ms = 1e3 * median(step), copy = b->yardstick->copy_bandwidth(y);
    double maps = strcmp(b->medium, "c0") == 0 ? 1 : strcmp(b->medium, "c0_rho0") == 0 ? 4 : 0;
    double fields = 89 + maps + (kw_absorption_is_fractional(&b->problem) ? 34 : 0);
    double rate = fields * points * (double)kw_real_size(b->options.precision) / (1e-3 * ms);
    printf("%s,%s,%s,%d,%d,%d,%d,%.4f,%.4f,%.2f,%.1f,%.1f,%.3f,%.4f,%.3f,%.4f,%.3f,%.1f,%.2f,%.3f,%s\n",
           b->backend->name, b->options.precision == KW_DOUBLE ? "double" : "single", b->medium, n[0], n[1], n[2],
           b->options.threads, ms, 1e3 * first, 1e3 / ms, 1e-3 * points / ms, 1e-9 * rate, rate / copy,
           1e3 * median(ten), median(ratio), 1e3 * median(graph), median(graph) > 0 ? ms / (1e3 * median(graph)) : 0.0,
           1e-6 * stats.bytes, stats.bytes / points / (double)kw_real_size(b->options.precision), stats.create_seconds,
           stats.plan_id);
    b->yardstick->destroy(y);
    b->backend->destroy(b->sim);
    kw_problem_free(&b->problem);
    free(b->samples);
    return KW_OK;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        printf("backend,precision,medium,nx,ny,nz,threads,ms_per_step,first_ms,steps_per_s,Mvoxel_steps_per_s,"
               "effective_GB_per_s,"
               "share_of_copy,ten_ms,ratio,ten_graph_ms,ratio_graph,memory_MB,memory_fields,setup_s,plan\n");
        return 0;
    }
    int n[3] = {atoi(argv[4]), argc > 6 ? atoi(argv[5]) : atoi(argv[4]), argc > 6 ? atoi(argv[6]) : atoi(argv[4])};
    bench b = {.backend = kw_backend_find(argv[1]), .medium = argv[3]};
    kw_device_info info;
    b.yardstick = strcmp(argv[1], "cpu") == 0 ? &kw_cpu_yardstick : &kw_cuda_yardstick;
    b.options = (kw_options){.threads = kw_machine_threads(),
                             .precision = strcmp(argv[2], "double") == 0 ? KW_DOUBLE : KW_SINGLE};
    b.samples = malloc(64 * SENSORS * sizeof(double));
    fill_problem(&b.problem, n, argv[3]);
    if (b.backend != NULL && b.backend->probe(&b.options, &info) == KW_OK && run(&b) == KW_OK) return 0;
    fprintf(stderr, "step: %s\n", b.backend == NULL ? "there is no such backend" : kw_error_message());
    return 1;
}
