#include "kwsim/recording.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int kw_bit_count(unsigned bits)
{
    int count = 0;
    for (; bits != 0; bits &= bits - 1) count++;
    return count;
}

unsigned kw_recording_components(const kw_grid *grid, kw_recorded first)
{
    unsigned bits = 0;
    for (int i = 0; i < 3; i++)
        if (kw_axis_active(grid, i)) bits |= 1u << (first + i);
    return bits;
}

unsigned kw_recording_needs(const kw_problem *problem, const kw_recording *r)
{
    unsigned bits = r->series | r->max | r->min | r->rms | r->fourier;
    if (r->intensity) bits |= 1u << KW_REC_P | kw_recording_components(&problem->grid, KW_REC_UX_CENTRED);
    return bits;
}

int64_t kw_recording_rows(const kw_problem *problem, const kw_recording *r)
{
    int64_t rows = 0;
    if (r->kind != KW_RECORD_SENSORS) return kw_box_points(&r->cover);
    for (int64_t s = r->first_set; s < r->first_set + r->set_count; s++) rows += problem->sets[s].rows;
    return rows;
}

int64_t kw_recording_samples(const kw_recording *r, int64_t steps)
{
    int64_t end = steps < r->to + 1 ? steps : r->to + 1;
    return end > r->from ? (end - r->from + r->every - 1) / r->every : 0;
}

int64_t kw_recording_ring(const kw_problem *problem, const kw_recording *r, kw_precision precision)
{
    const int64_t limit = INT64_C(64) << 20, most = 64;
    int64_t rows = kw_recording_rows(problem, r), series = kw_bit_count(r->series);
    if (series == 0 || rows == 0) return 0;
    int64_t reals = limit / (int64_t)kw_real_size(precision), fit = reals / series / rows;
    int64_t steps = problem->time.steps > 0 ? problem->time.steps : problem->time.asked_steps;
    int64_t all = steps > 0 ? kw_recording_samples(r, steps) : most;
    fit = fit > most ? most : fit;
    fit = fit > all ? all : fit;
    return fit < 1 ? 1 : fit;
}

int kw_recording_history(const kw_problem *problem, const kw_recording *r)
{
    return kw_bit_count(r->max) + kw_bit_count(r->min) + 2 * kw_bit_count(r->rms) +
           4 * r->frequencies * kw_bit_count(r->fourier) + (r->intensity ? 2 * kw_grid_dims(&problem->grid) : 0);
}

int kw_recording_slots(const kw_problem *problem, const kw_recording *r)
{
    int history = r->intensity ? KW_INTENSITY_P + KW_INTENSITY_U * kw_grid_dims(&problem->grid) : 0;
    return kw_recording_history(problem, r) + history;
}

void kw_recording_phases(const kw_problem *problem, const kw_recording *r, double *phase)
{
    int64_t samples = r->frequencies > 0 ? kw_recording_samples(r, problem->time.steps) : 0;
    for (int64_t i = 0; i < samples; i++)
        for (int f = 0; f < r->frequencies; f++) {
            double turns = fmod(r->frequency[f] * (double)(r->from + i * r->every) * problem->time.dt, 1.0);
            *phase++ = cos(2.0 * M_PI * turns);
            *phase++ = sin(2.0 * M_PI * turns);
        }
}

/* ---- results ---- */

const char *kw_recorded_name(kw_recorded what)
{
    static const char *const name[KW_RECORDED] = {
        "p", "ux", "uy", "uz", "ux_non_staggered", "uy_non_staggered", "uz_non_staggered"};
    return name[what];
}

const char *kw_recorded_units(kw_recorded what) { return what == KW_REC_P ? "Pa" : "m/s"; }

/* One result; returns the slot after it. */
static int add(kw_result *results, int *count, kw_result_kind kind, int what, int slot, int columns, bool all)
{
    static const char *const suffix[] = {"_max", "_min", "_rms", "_amplitude", "_phase", ""};
    static const int slots[] = {1, 1, 2, 4, 4, 2};
    kw_result *result = &results[(*count)++];
    *result = (kw_result){.units = kw_recorded_units((kw_recorded)what),
                          .kind = kind,
                          .what = (kw_recorded)what,
                          .slot = slot,
                          .columns = columns,
                          .slots = slots[kind]};
    char base[20];
    snprintf(base, sizeof base, "%.2s", what == KW_REC_P ? "p" : kw_recorded_name((kw_recorded)what));
    if (kind == KW_RESULT_INTENSITY) {
        base[0] = 'I';
        result->units = "W/m^2";
    }
    if (kind == KW_RESULT_PHASE) result->units = "rad";
    snprintf(result->name, sizeof result->name, "%s%s%s", base, suffix[kind], all ? "_all" : "");
    return slot + slots[kind] * columns;
}

int kw_recording_results(const kw_problem *problem, const kw_recording *r, kw_result *results)
{
    int count = 0, slot = 0;
    bool all = r->kind == KW_RECORD_GRID;
    const unsigned bits[] = {r->max, r->min, r->rms};
    for (int kind = KW_RESULT_MAX; kind <= KW_RESULT_RMS; kind++)
        for (int q = 0; q < KW_RECORDED; q++)
            if (kw_bit(bits[kind], q)) slot = add(results, &count, (kw_result_kind)kind, q, slot, 1, all);
    for (int q = 0; q < KW_RECORDED; q++) {
        if (!kw_bit(r->fourier, q)) continue;
        add(results, &count, KW_RESULT_AMPLITUDE, q, slot, r->frequencies, all);
        slot = add(results, &count, KW_RESULT_PHASE, q, slot, r->frequencies, all);
    }
    for (int i = 0; i < 3 && r->intensity; i++)
        if (kw_axis_active(&problem->grid, i))
            slot = add(results, &count, KW_RESULT_INTENSITY, KW_REC_UX_CENTRED + i, slot, 1, all);
    return count;
}

static double fourier_value(const kw_problem *problem, const kw_recording *r, const kw_result *result, int column,
                            double samples, double cosine, double sine)
{
    double shift = result->what == KW_REC_P ? 0.0 : M_PI * r->frequency[column] * problem->time.dt;
    if (result->kind == KW_RESULT_AMPLITUDE) return 2.0 / samples * hypot(cosine, sine);
    /* sum q exp(-i w t) = cosine - i sine; u is half a step earlier than t */
    double phase = atan2(-sine, cosine) + shift;
    return phase > M_PI ? phase - 2.0 * M_PI : phase;
}

void kw_result_values(const kw_problem *problem, const kw_recording *r, const kw_result *result, int column,
                      int64_t samples, int64_t count, const double *slot, double *value)
{
    double n = (double)(result->kind == KW_RESULT_INTENSITY ? samples - (KW_INTENSITY_U - 1) : samples);
    const double *first = slot, *second = slot + count, *third = slot + 2 * count, *fourth = slot + 3 * count;
    for (int64_t i = 0; i < count; i++) {
        if (n < 1.0)
            value[i] = NAN;
        else if (result->kind == KW_RESULT_MAX || result->kind == KW_RESULT_MIN)
            value[i] = first[i];
        else if (result->kind == KW_RESULT_RMS)
            value[i] = sqrt(fmax(0.0, (first[i] - second[i]) / n));
        else if (result->kind == KW_RESULT_INTENSITY)
            value[i] = (first[i] - second[i]) / n;
        else
            value[i] = fourier_value(problem, r, result, column, n, first[i] - second[i], third[i] - fourth[i]);
    }
}

/* ---- the shift to the grid point ---- */

/* (1/n) sum over |m| <= K of exp(i 2 pi m (j - 1/2)/n), K = (n-1)/2 for odd, n/2 - 1 for even n */
void kw_shift_kernel(int64_t n, double *shift)
{
    double waves = (double)(n % 2 == 1 ? n : n - 1);
    for (int64_t j = 0; j < 2 * n; j++) {
        double x = M_PI * ((double)(j < n ? j : j - n) - 0.5) / (double)n;
        shift[j] = sin(waves * x) / ((double)n * sin(x));
    }
}
