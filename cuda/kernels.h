/* The pointwise kernels between the transforms, float32 throughout. Each launch takes a stream and checks itself.
 *
 * Arrays are [lines][rows][bins] of float2: in spectra a complex number, in real fields two neighbouring columns
 * (2 bins floats a row, of which the first `columns` count). Index a = 0 ... dims-1 counts active axes, whose fields
 * follow each other `elements` float2 apart. */
#ifndef KW_CUDA_KERNELS_H
#define KW_CUDA_KERNELS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "kwsim/backend.h"
#include "kwsim/slots.h"

/* What every kernel needs, passed by value. Pointers are to device memory. */
typedef struct kw_device {
    int dims;
    int lines, rows, bins, columns;
    unsigned plane;        /* rows * bins */
    unsigned magic, shift; /* q / bins = umulhi(q, magic) >> shift, or q >> shift where magic is 0 */
    int64_t elements;      /* lines * rows * bins */

    float2 *p, *u, *rho;     /* real fields; u and rho [dims] */
    float2 *spec, *work;     /* F p; [dims] spectra or, after the inverse in place, real fields */
    const float2 *c2, *rho0; /* maps of c0^2 and rho0, or NULL */
    float c2_constant, rho0_constant, dt;

    const float *kappa;        /* [lines/2+1][rows/2+1][bins], divided by the number of points */
    const float2 *gradient[3]; /* P of each active axis */
    const float *pml[3], *pml_staggered[3];

    long long *step; /* number of the step that the device is in */
    long long from_step, ring_steps, sensors;
    const long long *sensor; /* offsets of floats in p */
    float *ring;             /* [ring_steps][sensors] */
} kw_device;

/* Fills plane, magic and shift from the sizes; bins and rows * bins must be below 2^31. */
void kw_device_shape(kw_device *device, const kw_slots *slots);

/* work_i = P_i kappa spec, every axis; begins the next step. */
kw_status kw_launch_gradient(const kw_device *device, bool begins_step, cudaStream_t stream);

/* u_i = Ebar_i (Ebar_i u_i - dt/rho0_i work_i) */
kw_status kw_launch_velocity(const kw_device *device, cudaStream_t stream);

/* work_i = M_i kappa work_i */
kw_status kw_launch_divergence(const kw_device *device, cudaStream_t stream);

/* rho_i = E_i (E_i rho_i - dt rho0 work_i),  p = c0^2 sum rho_i */
kw_status kw_launch_density(const kw_device *device, cudaStream_t stream);

/* p = c0^2 sum rho_i alone */
kw_status kw_launch_pressure(const kw_device *device, cudaStream_t stream);

/* State of step 0: u_i = dt/(2 rho0_i) work_i, rho_i = p/(d c0^2). */
kw_status kw_launch_start(const kw_device *device, cudaStream_t stream);

/* Puts p at the sensors into the ring, if the step is recorded. */
kw_status kw_launch_record(const kw_device *device, cudaStream_t stream);

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
