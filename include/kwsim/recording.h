/* What recordings come to: rows, samples, accumulators, and the results made of them. Shared by all backends.
 *
 * A backend keeps, for each recording, a ring of samples [ring][series][rows] and accumulators [slots][rows], in this
 * order: max of each quantity, min of each, the compensated sums (sum, carry) of squares of each, of each quantity and
 * frequency the compensated sums of q cos(w t) and q sin(w t), of each active axis that of p u_i, then the last 4
 * samples of p and the last 6 of each u_i, which the intensity needs. Quantities go by rising kw_recorded. */
#ifndef KWSIM_RECORDING_H
#define KWSIM_RECORDING_H

#include "kwsim/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KW_INTENSITY_P = 4, KW_INTENSITY_U = 6 }; /* samples of history */

/* Points on each side of a box from which the heat's divergence is made: central differences of order 16. */
enum { KW_HEAT_REACH = 8 };

static inline bool kw_bit(unsigned bits, int i) { return (bits >> i & 1u) != 0; }

/* Number of set bits. */
int kw_bit_count(unsigned bits);

/* Quantities whose value is needed at a recorded step. */
unsigned kw_recording_needs(const kw_problem *problem, const kw_recording *recording);

/* Bits of the active axes' components: of u_i if `first` is KW_REC_UX, of the centred ones if KW_REC_UX_CENTRED. */
unsigned kw_recording_components(const kw_grid *grid, kw_recorded first);

/* Rows: of the sets, or of the points of `cover`, z fastest. */
int64_t kw_recording_rows(const kw_problem *problem, const kw_recording *recording);

/* Samples that steps 0 ... steps-1 record. */
int64_t kw_recording_samples(const kw_recording *recording, int64_t steps);

/* Samples that the ring holds: as many as fit into 64 MiB, at most 64, at least 1; 0 if there is no series. */
int64_t kw_recording_ring(const kw_problem *problem, const kw_recording *recording, kw_precision precision);

/* Accumulators of a row. */
int kw_recording_slots(const kw_problem *problem, const kw_recording *recording);

/* First slot of the history of p; u_i follow. */
int kw_recording_history(const kw_problem *problem, const kw_recording *recording);

/* cos and sin of w t at the recorded samples, [samples][frequencies][2], t = n dt. */
void kw_recording_phases(const kw_problem *problem, const kw_recording *recording, double *phase);

/* ---- results ---- */

typedef enum kw_result_kind {
    KW_RESULT_MAX,
    KW_RESULT_MIN,
    KW_RESULT_RMS,
    KW_RESULT_AMPLITUDE,
    KW_RESULT_PHASE,
    KW_RESULT_INTENSITY
} kw_result_kind;

typedef struct kw_result {
    char name[40];     /* of the dataset: "p_max", "ux_amplitude", "Ix" */
    const char *units; /* static text */
    kw_result_kind kind;
    kw_recorded what;
    int slot;    /* its first accumulator */
    int columns; /* numbers of each row: the frequencies, else 1 */
    int slots;   /* accumulators of each column */
} kw_result;

enum { KW_MOST_RESULTS = 40 };

/* The results of a recording in the order of the file; returns their number, at most KW_MOST_RESULTS. */
int kw_recording_results(const kw_problem *problem, const kw_recording *recording, kw_result *results);

/* Values of a result from its accumulators, slot[result->slots][count], after `samples` samples. NaN where there are
 * too few samples. */
void kw_result_values(const kw_problem *problem, const kw_recording *recording, const kw_result *result, int column,
                      int64_t samples, int64_t count, const double *slot, double *value);

/* "p", "ux", ..., "ux_non_staggered"; units "Pa" or "m/s". */
const char *kw_recorded_name(kw_recorded what);
const char *kw_recorded_units(kw_recorded what);

/* ---- the shift to the grid point ---- */

/* u at grid point j of an axis of n points = sum over m of shift[j - m + n] u_m, 0 <= m < n, u_m at m + 1/2; the kernel
 * is periodic and stands twice: shift[2 n]. It is the inverse transform of exp(-i k h/2), its Nyquist entry 0. */
void kw_shift_kernel(int64_t n, double *shift);

#ifdef __cplusplus
}
#endif
#endif
