/* The problem: what is asked, in SI units, independent of backends and files already opened.
 *
 * A problem holds recipes (a number, shapes, a dataset) and sizes, never voxels, so that its memory can be
 * estimated before anything is allocated; only the points and the signals of sources, and listed sensors, are held. kw_prep_scan() (prep.h) goes over the voxels once and fills the
 * ranges of the maps; kw_problem_resolve() then fixes c_ref, dt and the number of steps. After that the problem
 * does not change.
 */
#ifndef KWSIM_PROBLEM_H
#define KWSIM_PROBLEM_H

#include <stddef.h>
#include "kwsim/grid.h"
#include "kwsim/shape.h"
#include "kwsim/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kw_paint {
    kw_shape shape;
    double value;
    char *where; /* "scene.cfg:12: p0.shapes[0]", for messages; owned */
} kw_paint;

/* Recipe of a field on the user's grid: a number or a dataset, of values or of labels, then shapes painted over it in
 * order, then smoothing. A shape of weight w turns the value f into f + (value - f) w. */
typedef struct kw_map {
    double value;        /* everywhere, when file is NULL */
    char *file;          /* HDF5 file with a dataset (nx, ny, nz), or NULL; owned */
    char *dataset;       /* owned */
    int64_t label_count; /* > 0: the dataset holds labels */
    double *label;       /* [label_count] rising; owned */
    double *label_value; /* [label_count]; owned */
    bool smooth;         /* filtered by a Blackman window in the spectrum */
    bool restore_max;    /* after that scaled to the largest |value| before */
    kw_paint *paints;    /* owned */
    int64_t paint_count;
    char *where;     /* "scene.cfg:7: medium.sound_speed", for messages; owned */
    double min, max; /* filled by kw_prep_scan() */
    int64_t min_at[3], max_at[3];
} kw_map;

/* True if the map is the same everywhere: a plain number, or found to be so by the scan. */
bool kw_map_is_constant(const kw_map *map);

typedef enum kw_quantity {
    KW_QUANTITY_C0,     /* sound speed, m/s */
    KW_QUANTITY_RHO0,   /* density, kg/m^3 */
    KW_QUANTITY_ALPHA,  /* absorption coefficient, dB/(MHz^y cm) */
    KW_QUANTITY_BONA,   /* nonlinearity parameter B/A */
    KW_QUANTITY_P0,     /* initial pressure, Pa */
    KW_QUANTITY_RHO0_X, /* density at the points staggered along x, kg/m^3, where it is given and not made from rho0 */
    KW_QUANTITY_RHO0_Y,
    KW_QUANTITY_RHO0_Z,
    KW_QUANTITY_COUNT
} kw_quantity;

/* "sound speed", "density", "absorption coefficient", "nonlinearity", "initial pressure". */
const char *kw_quantity_name(kw_quantity quantity);

typedef struct kw_pml {
    bool outside;    /* the PML lies around the user's grid, not in it */
    int64_t size[3]; /* points on each side; 0 makes the axis periodic */
    double alpha[3]; /* nepers per grid point */
} kw_pml;

/* What the scene says of time, and what it comes to. Exactly one of cfl and dt, and one of steps and duration,
 * is asked for (> 0); none of both pairs means cfl 0.3 and the time to cross the grid. */
typedef struct kw_time {
    double asked_cfl, asked_dt, asked_duration;
    int64_t asked_steps;
    bool allow_unstable;
    bool estimate_stability; /* the largest eigenvalue is estimated also below CFL 0.5 */
    /* resolved: */
    double dt;     /* s */
    double cfl;    /* dt max(c0) / min(h) */
    int64_t steps; /* Nt: steps n = 0 ... Nt-1 */
} kw_time;

/* Power-law absorption alpha omega^y and the dispersion that causality asks for (Treeby & Cox, J. Acoust. Soc. Am. 127
 * (2010)). y = 2 is Stokes absorption, which has no dispersion and needs no transforms. */
typedef struct kw_absorption {
    bool on;
    double power;     /* y in (0, 3); not 1 with dispersion */
    bool attenuation; /* the absorbing term is on */
    bool dispersion;  /* the dispersive term is on */
} kw_absorption;

typedef enum kw_source_quantity {
    KW_SOURCE_P,
    KW_SOURCE_UX,
    KW_SOURCE_UY,
    KW_SOURCE_UZ,
    KW_SOURCE_VOLUME /* volume velocity in m^3/s, into the pressure; in 2-D and 1-D per m and m^2 of the flat axes */
} kw_source_quantity;

typedef enum kw_source_mode {
    KW_ADDITIVE,               /* added, spread by the k-space correction kappa_src */
    KW_ADDITIVE_NO_CORRECTION, /* added at the points */
    KW_DIRICHLET               /* the field is set at the points */
} kw_source_mode;

/* What a Dirichlet source does after its signal: no longer set, keep the last value, set 0. */
typedef enum kw_source_after { KW_AFTER_STOP, KW_AFTER_HOLD, KW_AFTER_ZERO } kw_source_after;

typedef enum kw_signal_kind {
    KW_SIGNAL_SAMPLES, /* given one by one */
    KW_SIGNAL_TONE_BURST,
    KW_SIGNAL_CONTINUOUS,
    KW_SIGNAL_GAUSSIAN_PULSE,
    KW_SIGNAL_CHIRP
} kw_signal_kind;

typedef enum kw_window { KW_WINDOW_NONE, KW_WINDOW_HANN, KW_WINDOW_GAUSSIAN } kw_window;

/* Recipe of a signal s(t), 0 outside the interval given, with t counted from `delay`, A the amplitude in Pa or m/s:
 *
 *   tone burst      A w(t/T) sin(2 pi f t + phase),            0 <= t <= T = cycles/f
 *   continuous      A r(t) sin(2 pi f t + phase),              0 <= t; r = (1 - cos)/2 over ramp_cycles periods, then 1
 *   Gaussian pulse  A exp(-(t - 4 s)^2/(2 s^2)) cos(2 pi f (t - 4 s)),   0 <= t <= 8 s,
 *                   s = sqrt(2 ln 2)/(pi bandwidth f): the spectrum is 6 dB down at f (1 -+ bandwidth/2)
 *   chirp           A w(t/T) sin(2 pi (f t + (f_end - f) t^2/(2 T)) + phase),   0 <= t <= T = duration
 *
 * The window w(x) is 1, sin^2(pi x) or exp(-18 (x - 1/2)^2). */
typedef struct kw_signal {
    kw_signal_kind kind;
    kw_window window;
    double amplitude, frequency, phase, delay; /* Pa or m/s, Hz, rad, s */
    double cycles, ramp_cycles, bandwidth;     /* periods, periods, fraction of f */
    double end_frequency, duration;            /* Hz, s */
} kw_signal;

/* s at time t in s; 0 for KW_SIGNAL_SAMPLES. */
double kw_signal_value(const kw_signal *signal, double t);

/* A time-varying source at grid points, a list of entries: entry i puts weight[i] times its signal, delayed by delay[i],
 * into its point. A point listed twice adds twice; as Dirichlet the last counts. Surfaces off the grid become entries of
 * the points around them (stencil.h). */
typedef struct kw_source {
    kw_source_quantity quantity;
    kw_source_mode mode;
    kw_source_after after;
    bool prescaled; /* the signal is what goes into the field */
    int64_t count;
    int64_t *index;   /* [count][3] grid points; owned */
    double *weight;   /* [count]; NULL: 1; owned */
    double *delay;    /* [count] s, >= 0; NULL: 0; owned */
    int64_t elements; /* > 0: the entries are those of so many surfaces; else listed points */
    int64_t *row;     /* [count] of the signal, where there are several; NULL: the entry's number; owned */
    kw_signal recipe; /* of the signal; kw_problem_resolve() makes the samples from it */
    int64_t signals;  /* 1: the same for all entries */
    int64_t samples;
    double *signal; /* [signals][samples], Pa, m/s or m^3/s, sample n at step n/oversampling; owned */
    /* resolved: */
    int oversampling;  /* samples a step: KW_DELAY_OVERSAMPLING where there are delays, else 1 */
    double *lag;       /* [count] delay in samples; NULL without delays; owned */
    int64_t act_steps; /* steps in which the signal acts, the longest delay included */
    char *where;       /* for messages; owned */
} kw_source;

enum { KW_DELAY_OVERSAMPLING = 8 };

/* Frees what a source owns and zeroes it. */
void kw_source_free(kw_source *source);

/* How a step is taken: mixed where it can be (kw_mixed_obstacle()), or always the one named. The numbers are the same. */
typedef enum kw_stepper { KW_STEPPER_AUTO, KW_STEPPER_CLASSICAL, KW_STEPPER_MIXED } kw_stepper;

typedef enum kw_sensor_kind { KW_SENSOR_POINTS, KW_SENSOR_BOX } kw_sensor_kind;

/* How a position between grid points is read: at the nearest grid point, trilinearly, or by a windowed sinc of
 * KW_STENCIL_TAPS points per axis (stencil.h). */
typedef enum kw_interpolation { KW_NEAREST, KW_LINEAR, KW_BANDLIMITED } kw_interpolation;

/* A named set of sensor points, in the order in which they are recorded. */
typedef struct kw_sensor_set {
    char *name;    /* owned, unique among the sets */
    int64_t first; /* row of its first point among all sets' rows */
    int64_t rows;  /* recorded rows: count, or 1 if averaged */
    kw_sensor_kind kind;
    kw_box box; /* KW_SENSOR_BOX: all its grid points, z fastest */
    int64_t count;
    double *position; /* KW_SENSOR_POINTS: [count][3], m, as asked for; owned */
    kw_interpolation interpolation;
    bool average; /* one row: the mean over the points, as one element of an array hears it */
} kw_sensor_set;

/* One recorded row. */
typedef struct kw_sensor_place {
    int64_t set;
    double asked[3];  /* m; of an average: the mean position */
    double used[3];   /* m: the grid point, or what was asked for where it is interpolated */
    int64_t index[3]; /* of the nearest grid point */
} kw_sensor_place;

/* What can be recorded of the field at a step. Sample n of u_i is u_i at (n - 1/2) dt, at the staggered point; the
 * centred u_i is moved to the grid point by the spectral shift exp(-i k_i h_i/2), its Nyquist entry 0. */
typedef enum kw_recorded {
    KW_REC_P,
    KW_REC_UX,
    KW_REC_UY,
    KW_REC_UZ,
    KW_REC_UX_CENTRED,
    KW_REC_UY_CENTRED,
    KW_REC_UZ_CENTRED,
    KW_RECORDED
} kw_recorded;

typedef enum kw_recording_kind {
    KW_RECORD_SENSORS,   /* rows of sensor sets */
    KW_RECORD_GRID,      /* results over a box: "_all" */
    KW_RECORD_HEAT,      /* heat deposition over a box, from the intensity over a larger one */
    KW_RECORD_SNAPSHOTS, /* a box, every now and then */
} kw_recording_kind;

/* What is kept of a group of rows over a window of steps. Bits are 1 << kw_recorded. */
typedef struct kw_recording {
    char *name; /* its group in the output, "" for the root; owned */
    kw_recording_kind kind;
    int64_t first_set, set_count; /* KW_RECORD_SENSORS; 0 for others */
    kw_box box;                   /* else: what is reported */
    kw_box cover;                 /* else: what is recorded; larger than box for the heat */
    unsigned series;              /* each sample is kept */
    unsigned max, min, rms;       /* over the window */
    unsigned fourier;             /* running Fourier sums at the frequencies */
    bool intensity;               /* mean of p u over the window; needs every = 1 */
    double *frequency;            /* Hz; owned */
    int frequencies;              /* at most KW_MOST_FREQUENCIES */
    int64_t from, to, every;      /* steps from, from + every, ... <= to; to is resolved */
    char *where;                  /* for messages; owned */
} kw_recording;

enum { KW_MOST_FREQUENCIES = 32 };

/* What a k-Wave file says that its output repeats. Numbers of samples are 0 where there is no such source, modes -1. */
typedef struct kw_kwave {
    bool on; /* the problem is a k-Wave file's; its axes are taken in reverse, so that arrays need no transposing */
    bool copy_mask;  /* the output repeats the sensor mask */
    int64_t flag[6]; /* samples of ux, uy, uz, p; 1 of p0; steps of the transducer */
    int64_t u_mode, u_many, p_mode, p_many;
    int64_t absorbing; /* 0 lossless, 1 power law, 2 Stokes */
    int mask_type;     /* 0 indices, 1 corners; -1: no mask */
    char *description; /* owned */
} kw_kwave;

typedef struct kw_problem {
    kw_grid grid; /* that is stepped: the user's, with the PML around it where the PML is outside */
    kw_grid user; /* of the scene: its maps, indices and whole-grid results */
    kw_box inner; /* the user's grid in `grid`; coordinates in m are the same in both */
    kw_map map[KW_QUANTITY_COUNT];
    bool has_p0;
    kw_absorption absorption;
    bool nonlinear;     /* the terms in B/A and 2 S of the equations; off: linear acoustics */
    double asked_c_ref; /* m/s; 0: max c0 */
    double c_ref;       /* resolved */
    kw_pml pml;
    kw_time time;
    kw_source *sources; /* owned */
    int64_t source_count;
    kw_sensor_set *sets; /* owned */
    int64_t set_count;
    kw_recording *recordings; /* owned */
    int recording_count;
    unsigned final;  /* fields written after the last step, bits 1 << kw_recorded */
    int compression; /* 0 to 9, of the output's datasets */
    bool xdmf;       /* NAME.xdmf beside an output with fields */
    kw_stepper stepper;
    bool cpu_wisdom;   /* keep FFTW's measured plans in the user's cache folder */
    char *output_file; /* owned */
    char *scene_file;  /* owned; as given */
    char **inputs;     /* owned; files that the scene is made of: itself, includes, HDF5 files */
    int64_t input_count;
    char *scene_text; /* owned; the scene with overrides and defaults written out */
    bool staggered;   /* the three densities at staggered points are given */
    kw_kwave kwave;
} kw_problem;

/* Frees what the problem owns and zeroes it; accepts a zeroed or half-filled problem. */
void kw_problem_free(kw_problem *problem);

/* True if the problem has that quantity at all: its map is meaningful. */
bool kw_problem_has(const kw_problem *problem, kw_quantity quantity);

/* True if the absorption needs transforms of its own: a power law that is not Stokes'. */
bool kw_absorption_is_fractional(const kw_problem *problem);

enum { KW_MIXED_SOURCES = 4 };  /* at most, in mixed space: each takes up to four fields */
enum { KW_MIXED_STEPS = 2000 }; /* at most, unless it is asked for: in single precision rounding adds up (README) */

/* Is the run to be taken in mixed space, where a backend has it? */
bool kw_mixed_taken(const kw_problem *problem);

/* Why the mixed-space step cannot take this problem, in words for a person; NULL if it can: linear and lossless, constant
 * density, at least two axes, additive sources of one signal, no velocities recorded. Before the scan maps count as maps. */
const char *kw_mixed_obstacle(const kw_problem *problem);

/* Number of recorded rows over all sets. */
int64_t kw_sensor_count(const kw_problem *problem);

/* Place of recorded row `row`, 0 <= row < kw_sensor_count(). The nearest grid point of a position half-way between two
 * is the one of larger index. */
kw_sensor_place kw_sensor_locate(const kw_problem *problem, int64_t row);

/* Number of the set that row belongs to. */
int64_t kw_sensor_locate_set(const kw_problem *problem, int64_t row);

/* Index, fractional unless the set takes the nearest points, of a position along an axis of the stepped grid. A position
 * half a cell beyond the user's last point belongs to that point. */
double kw_sensor_index(const kw_problem *problem, kw_interpolation interpolation, int axis, double position);

/* Position in m of point `i` of a set. */
void kw_sensor_position(const kw_problem *problem, const kw_sensor_set *set, int64_t i, double position[3]);

/* KW_ERR_SCENE if the PML does not fit into the grid. The message has no place: the scene reader adds it. */
kw_status kw_pml_check(const kw_grid *grid, const kw_pml *pml);

/* Highest frequency of a source whose signal is a recipe, in Hz: a Gaussian pulse's upper 6 dB edge, a chirp's faster
 * end, else the carrier; 0 for samples. */
double kw_signal_highest(const kw_signal *signal);

/* Host memory in bytes that the sources' points and signals take, or will take once the steps are known. */
double kw_source_bytes(const kw_problem *problem);

/* Fixes c_ref, dt and the steps from the ranges of the maps (numbers count as scanned), and makes the samples of signals
 * given as recipes: KW_ERR_RESOURCE if there is no memory for them. KW_ERR_SCENE if there
 * would be no step, or more than 2^53. */
kw_status kw_problem_resolve(kw_problem *problem);

/* dt above which a lossless run of constant density is unstable, in s; INFINITY if every dt is stable:
 *     c_ref >= max c0: always;   else dt <= 2/(c_ref kmax) asin(c_ref/max c0)
 * Tabei, Mast & Waag, J. Acoust. Soc. Am. 111 (2002). With a density map it is a guide only. */
double kw_stable_dt(const kw_problem *problem);

/* How an absorbing run stands against the stability criterion (README, "Stability"): for all |k| on the grid but 0
 *
 *     (max c0/c_ref)^2 sin^2(c_ref |k| dt/2) [1 - eta |k|^(y-1) - 2 tau |k|^(y-2)/dt] <= 1
 *     1 - eta |k|^(y-1) >= 0
 *
 * exact for a homogeneous medium up to the sampling of |k|, from the smallest to the largest of the grid; with maps the
 * extremes of tau and eta are taken: on the safe side. */
typedef struct kw_stability {
    bool stable;
    double first;  /* largest value of the first, to be <= 1 */
    double second; /* smallest value of the second, to be >= 0 */
} kw_stability;

/* alpha_factor and dt_factor scale the problem's coefficient and time step: to find what would run. */
kw_stability kw_absorbing_stability(const kw_problem *problem, double alpha_factor, double dt_factor);

/* Highest frequency that the grid carries everywhere, in Hz: min c0 / (2 max h). */
double kw_max_frequency(const kw_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
