#include "yardstick.h"

#include <fftw3.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/clock.h"

struct kw_yardstick {
    fftw_plan forward, backward;
    fftwf_plan forward_single, backward_single;
    void *real, *spectrum;
    size_t reals;
    bool is_double;
    int threads;
};

static kw_yardstick *make(const int n[3], bool is_double, int threads)
{
    kw_yardstick *y = calloc(1, sizeof *y);
    size_t plane = (size_t)n[0] * (size_t)n[1], bins = plane * (size_t)(n[2] / 2 + 1), size = is_double ? 8 : 4;
    y->reals = plane * (size_t)n[2];
    y->is_double = is_double;
    y->threads = threads;
    y->real = fftw_malloc(y->reals * size);
    y->spectrum = fftw_malloc(bins * 2 * size);
    if (is_double) {
        fftw_init_threads();
        fftw_plan_with_nthreads(threads);
        y->forward = fftw_plan_dft_r2c(3, n, y->real, y->spectrum, FFTW_MEASURE);
        y->backward = fftw_plan_dft_c2r(3, n, y->spectrum, y->real, FFTW_MEASURE);
    } else {
        fftwf_init_threads();
        fftwf_plan_with_nthreads(threads);
        y->forward_single = fftwf_plan_dft_r2c(3, n, y->real, y->spectrum, FFTW_MEASURE);
        y->backward_single = fftwf_plan_dft_c2r(3, n, y->spectrum, y->real, FFTW_MEASURE);
    }
    return y;
}

/* Values grow by the number of points there and back: start small. */
static void fill(kw_yardstick *y)
{
    for (size_t i = 0; i < y->reals; i++) {
        if (y->is_double)
            ((double *)y->real)[i] = 1e-30 * (double)(i % 7);
        else
            ((float *)y->real)[i] = 1e-30f * (float)(i % 7);
    }
}

static double ten_seconds(kw_yardstick *y)
{
    fill(y);
    double start = kw_clock_seconds();
    for (int i = 0; i < 5; i++) {
        if (y->is_double) {
            fftw_execute(y->forward);
            fftw_execute(y->backward);
        } else {
            fftwf_execute(y->forward_single);
            fftwf_execute(y->backward_single);
        }
    }
    return kw_clock_seconds() - start;
}

static double ten_graph_seconds(kw_yardstick *y)
{
    (void)y;
    return 0.0;
}

static double copy_bandwidth(kw_yardstick *y)
{
    enum { FLOATS = 64 << 20 };
    float *from = malloc(sizeof(float) * FLOATS), *to = malloc(sizeof(float) * FLOATS);
    double best = 0;
    for (int round = 0; round < 6; round++) {
        double start = kw_clock_seconds();
#pragma omp parallel num_threads(y->threads)
        {
            size_t part = FLOATS / (size_t)omp_get_num_threads(), first = part * (size_t)omp_get_thread_num();
            if (round == 0) memset(from + first, 0, part * sizeof(float));
            memcpy(to + first, from + first, part * sizeof(float));
        }
        double rate = 2.0 * sizeof(float) * FLOATS / (kw_clock_seconds() - start);
        if (round > 0 && rate > best) best = rate;
    }
    free(from);
    free(to);
    return best;
}

static void destroy(kw_yardstick *y)
{
    if (y->forward != NULL) fftw_destroy_plan(y->forward);
    if (y->backward != NULL) fftw_destroy_plan(y->backward);
    if (y->forward_single != NULL) fftwf_destroy_plan(y->forward_single);
    if (y->backward_single != NULL) fftwf_destroy_plan(y->backward_single);
    fftw_free(y->real);
    fftw_free(y->spectrum);
    free(y);
}

const kw_yardstick_table kw_cpu_yardstick = {make, ten_seconds, ten_graph_seconds, copy_bandwidth, destroy};
