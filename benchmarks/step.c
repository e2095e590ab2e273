/* ms per step of kwsim on the CPU against ten FFTW 3-D real transforms of the same size, in turn in one process.
 *
 *     step N [THREADS [single|double [homogeneous|maps]]]   -> one line of CSV, see the header it prints with no
 * argument
 */
#include <fftw3.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/backend.h"
#include "kwsim/clock.h"
#include "kwsim/machine.h"

enum { ROUNDS = 7 };

static kw_status read_voxels(void *self, kw_quantity quantity, int64_t x0, int64_t nx, kw_precision precision,
                             void *dst)
{
    const kw_grid *grid = self;
    static const double base[KW_QUANTITY_COUNT] = {1500, 1000, 0}, wave[KW_QUANTITY_COUNT] = {100, 100, 1};
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

static double median(double *value)
{
    qsort(value, ROUNDS, sizeof *value, compare);
    return value[ROUNDS / 2];
}

static kw_problem make_problem(int64_t n, bool maps)
{
    kw_problem problem = {.grid = {{n, n, n}, {1e-4, 1e-4, 1e-4}}, .has_p0 = true, .cpu_wisdom = true};
    for (int q = 0; q < KW_QUANTITY_COUNT; q++) {
        problem.map[q].min = q == 0 ? 1500 : q == 1 ? 1000 : 0;
        problem.map[q].max = problem.map[q].min;
        if (q < KW_QUANTITY_P0 && !maps) continue;
        problem.map[q].max += 100;
        problem.map[q].file = strdup("in memory");
    }
    problem.time.asked_cfl = 0.3;
    problem.time.asked_steps = 1 << 20;
    for (int i = 0; i < 3; i++) {
        problem.pml.size[i] = n >= 42 ? 20 : 0;
        problem.pml.alpha[i] = 2;
    }
    problem.record.p = true;
    problem.sets = calloc(1, sizeof *problem.sets);
    problem.set_count = 1;
    problem.sets[0] =
        (kw_sensor_set){strdup("s"), KW_SENSOR_BOX, {{n / 2, n / 2, 0}, {n / 2 + 1, n / 2 + 1, n}}, n, NULL};
    return problem;
}

/* Ten transforms, five each way, in single or double precision. */
typedef struct fft_yardstick {
    fftw_plan forward, backward;
    fftwf_plan forward_single, backward_single;
    void *real, *spectrum;
    size_t reals;
} fft_yardstick;

static void fill(const fft_yardstick *y)
{
    for (size_t i = 0; i < y->reals; i++) {
        if (y->forward != NULL)
            ((double *)y->real)[i] = 1e-9 * (double)(i % 7);
        else
            ((float *)y->real)[i] = 1e-30f * (float)(i % 7);
    }
}

static fft_yardstick make_yardstick(int n, bool is_double, int threads)
{
    fft_yardstick y = {0};
    size_t reals = (size_t)n * n * n, bins = (size_t)n * n * (n / 2 + 1), size = is_double ? 8 : 4;
    y.real = fftw_malloc(reals * size);
    y.spectrum = fftw_malloc(bins * 2 * size);
    y.reals = reals;
    if (is_double) {
        fftw_init_threads();
        fftw_plan_with_nthreads(threads);
        y.forward = fftw_plan_dft_r2c_3d(n, n, n, y.real, y.spectrum, FFTW_MEASURE);
        y.backward = fftw_plan_dft_c2r_3d(n, n, n, y.spectrum, y.real, FFTW_MEASURE);
    } else {
        fftwf_init_threads();
        fftwf_plan_with_nthreads(threads);
        y.forward_single = fftwf_plan_dft_r2c_3d(n, n, n, y.real, y.spectrum, FFTW_MEASURE);
        y.backward_single = fftwf_plan_dft_c2r_3d(n, n, n, y.spectrum, y.real, FFTW_MEASURE);
    }
    return y;
}

static double time_ten(const fft_yardstick *y)
{
    fill(y); /* values grow by N^3 each way there and back */
    double start = kw_clock_seconds();
    for (int i = 0; i < 5; i++) {
        if (y->forward != NULL) {
            fftw_execute(y->forward);
            fftw_execute(y->backward);
        } else {
            fftwf_execute(y->forward_single);
            fftwf_execute(y->backward_single);
        }
    }
    double seconds = kw_clock_seconds() - start;
    return seconds;
}

static kw_status run(int n, kw_options options, bool maps)
{
    const kw_backend *backend = kw_backend_find("cpu");
    kw_problem problem = make_problem(n, maps);
    kw_field_source source = {&problem.grid, read_voxels};
    kw_sim *sim;
    kw_stats stats;
    double step[ROUNDS], ten[ROUNDS], ratio[ROUNDS];
    size_t row = (size_t)n * kw_real_size(options.precision);
    void *samples = malloc(64 * row);
    int64_t count;
    KW_TRY(kw_problem_resolve(&problem));
    KW_TRY(backend->create(&problem, &options, &source, &sim));
    fft_yardstick y = make_yardstick(n, options.precision == KW_DOUBLE, options.threads);
    int steps = n <= 64 ? 40 : n <= 128 ? 10 : 3;
    for (int i = -1; i < ROUNDS; i++) { /* the first round warms up */
        double start = kw_clock_seconds();
        KW_TRY(backend->advance(sim, steps));
        KW_TRY(backend->read_traces(sim, true, samples, &count));
        double seconds = (kw_clock_seconds() - start) / steps, fft = time_ten(&y);
        if (i < 0) continue;
        step[i] = 1e3 * seconds;
        ten[i] = 1e3 * fft;
        ratio[i] = seconds / fft;
    }
    backend->stats(sim, &stats);
    double ms = median(step), fields = stats.bytes / ((double)n * n * n * (double)kw_real_size(options.precision));
    printf("%d,%s,%s,%d,%.3f,%.3f,%.3f,%.1f,%.2f,%.3f\n", n, options.precision == KW_DOUBLE ? "double" : "single",
           maps ? "maps" : "homogeneous", options.threads, ms, median(ten), median(ratio), 1e-3 * n * n * n / ms,
           fields, stats.create_seconds);
    backend->destroy(sim);
    kw_problem_free(&problem);
    free(samples);
    return KW_OK;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        printf("n,precision,medium,threads,ms_per_step,ms_ten_transforms,ratio,Mvoxel_steps_per_s,memory_fields,setup_"
               "s\n");
        return 0;
    }
    kw_options options = {.threads = argc > 2 ? atoi(argv[2]) : kw_machine_threads(),
                          .precision = argc > 3 && strcmp(argv[3], "double") == 0 ? KW_DOUBLE : KW_SINGLE};
    if (run(atoi(argv[1]), options, argc > 4 && strcmp(argv[4], "maps") == 0) == KW_OK) return 0;
    fprintf(stderr, "step: %s\n", kw_error_message());
    return 1;
}
