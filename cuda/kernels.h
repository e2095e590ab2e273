/* The pointwise kernels between the transforms, float32 throughout. Each launch takes a stream and checks itself.
 *
 * Arrays are [lines][rows][bins] of float2: in spectra a complex number, in real fields two neighbouring columns
 * (2 bins floats a row, of which the first `columns` count). Index a = 0 ... dims-1 counts active axes, whose fields
 * follow each other `elements` float2 apart. */
#ifndef KW_CUDA_KERNELS_H
#define KW_CUDA_KERNELS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "kwsim/recording.h"
#include "kwsim/slots.h"

/* What every kernel needs, passed by value. Pointers are to device memory. */
typedef struct kw_device {
    int dims;
    int lines, rows, bins, columns;
    unsigned plane;        /* rows * bins */
    unsigned magic, shift; /* q / bins = umulhi(q, magic) >> shift, or q >> shift where magic is 0 */
    int64_t elements;      /* lines * rows * bins */

    float2 *p, *u, *rho;                        /* real fields; u and rho [dims] */
    float2 *spec, *work;                        /* F p; [dims] spectra or, after the inverse in place, real fields */
    const float2 *c2, *rho0, *tau, *eta, *bona; /* maps, or NULL; c2 is c0^2 */
    const float2 *staggered[3];                 /* rho0_i of each active axis, where given */
    float c2_constant, rho0_constant, tau_constant, eta_constant, bona_constant, dt;
    bool nonlinear, absorbs;    /* terms of the equation of state */
    bool attenuates, disperses; /* absorbing terms that need transforms */
    bool split;                 /* p is made after the densities: transforms or pressure sources come between */

    const float *kappa; /* [lines/2+1][rows/2+1][bins], divided by the number of points; so the next two */
    const float *kappa_source, *power[2];
    const float2 *gradient[3]; /* P of each active axis */
    const float *pml[3], *pml_staggered[3];

    long long *step;          /* number of the step that the device is in */
    const float *centring[3]; /* moves u_i to the grid point, [2 n], where a recording needs it */
} kw_device;

/* Weights of one point along lines, rows and columns, then the ones that read a component staggered along that slot. */
typedef struct kw_device_stencil {
    int taps[6], first[6];
    float weight[6][16];
} kw_device_stencil;

/* A recording (recording.h): rows of a box of grid points, or listed ones, of which some are stencils. */
typedef struct kw_device_recording {
    bool box;
    int lo[3], n[3]; /* by slot, of a box */
    int active[3];   /* active axis of x, y, z; -1: flat */
    long long rows, ring_steps, from, to, every;
    unsigned needs, series, max, min, rms, fourier;
    int frequencies, history, series_count;
    bool intensity;
    const long long *offset; /* [rows] of floats in a field; -1: a stencil */
    long long stencil_rows;
    const long long *stencil_row;   /* [stencil_rows] */
    const long long *stencil_first; /* [stencil_rows + 1] its points */
    const kw_device_stencil *stencil;
    const float *phase; /* [samples][frequencies][2] */
    float *slots;       /* [slots][rows] */
    float *ring;        /* [ring_steps][series_count][rows] */
} kw_device_recording;

/* A source: points that share a place follow each other in the listed order. */
typedef struct kw_device_source {
    int field;       /* -1: all parts of the density; else active axis of the velocity */
    int mode, after; /* kw_source_mode, kw_source_after */
    bool varies;     /* the entries' values are not all one signal */
    long long places, samples, oversampling, act_steps;
    const long long *offset; /* [places] of floats in a field */
    const long long *start;  /* [places + 1] into the entries: row, scale, lag */
    const long long *row;    /* of the signal */
    const float *scale;
    const long long *lag;      /* delay in samples, rounded up; NULL without delays */
    const float *lag_fraction; /* what rounding added */
    const float *signal;       /* [signals][samples] */
    float2 *spread;            /* additive: what a signal of 1 adds everywhere, or what this step adds */
} kw_device_source;

/* Fills plane, magic and shift from the sizes; bins and rows * bins must be below 2^31. */
void kw_device_shape(kw_device *device, const kw_slots *slots);

/* work_i = P_i kappa spec, every axis; begins the next step. */
kw_status kw_launch_gradient(const kw_device *device, bool begins_step, cudaStream_t stream);

/* u_i = Ebar_i (Ebar_i u_i - dt/rho0_i work_i) */
kw_status kw_launch_velocity(const kw_device *device, cudaStream_t stream);

/* work_i = M_i kappa work_i */
kw_status kw_launch_divergence(const kw_device *device, cudaStream_t stream);

/* rho_i = E_i (E_i rho_i - dt f work_i), f = rho0, nonlinear rho0 + 2 S; then p, or with `split` what it needs:
 * work_0 = rho0 sum work_i where the medium absorbs. Without `moves` only the latter. */
kw_status kw_launch_density(const kw_device *device, bool moves, cudaStream_t stream);

/* work_1 = S */
kw_status kw_launch_total(const kw_device *device, cudaStream_t stream);

/* work_j = |k|^(y-2+j) work_j, spectra, for the terms that are on */
kw_status kw_launch_absorption(const kw_device *device, cudaStream_t stream);

/* p = c0^2 (S + tau work_0 - eta work_1 + BonA S^2/(2 rho0)), the terms that are on */
kw_status kw_launch_pressure(const kw_device *device, cudaStream_t stream);

/* Puts the source's values of this step into the field, or what its spread field adds. */
kw_status kw_launch_source(const kw_device *device, const kw_device_source *source, cudaStream_t stream);

/* target, zeroed, = the source's values of this step at its points, or of a signal of 1. */
kw_status kw_launch_scatter(const kw_device *device, const kw_device_source *source, bool of_one, float2 *target,
                            cudaStream_t stream);

/* spectrum *= kappa_source */
kw_status kw_launch_correction(const kw_device *device, float2 *spectrum, cudaStream_t stream);

/* State of step 0: u_i = dt/(2 rho0_i) work_i, rho_i = p/(d c0^2). */
kw_status kw_launch_start(const kw_device *device, cudaStream_t stream);

/* Begins a step that gradient() does not: counts it up, and gain[i] = the value of source i, of one signal, in it. */
enum { KW_MOST_GAINS = 4 };
kw_status kw_launch_begin(const kw_device *device, const kw_device_source *sources, int count, float *gain,
                          cudaStream_t stream);

/* Keeps what the recording wants of the step that was just taken, if it is in its window. */
kw_status kw_launch_record(const kw_device *device, const kw_device_recording *recording, cudaStream_t stream);

/* The accumulators before the first sample. */
kw_status kw_launch_record_start(const kw_device_recording *recording, cudaStream_t stream);

/* Squares a real field in place: c0 to c0^2. */
kw_status kw_launch_square(const kw_device *device, float2 *field, cudaStream_t stream);

/* Largest |p|: result[0] holds its bits without the sign (above 0x7f7fffff: not finite), result[1] the offset of the
 * first such value in the dense (lines, rows, columns) array. `partial` holds 2 KW_LOOK_BLOCKS numbers. */
enum { KW_LOOK_BLOCKS = 1024 };
kw_status kw_launch_look(const kw_device *device, unsigned long long *partial, unsigned long long *result,
                         cudaStream_t stream);

/* cudaErrorNoKernelImageForDevice if the program holds no code for the current card. */
cudaError_t kw_kernels_usable(void);

#endif
