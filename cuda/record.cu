/* What a step leaves behind: samples in rings and accumulators (recording.h). */
#include "check.h"
#include "kernels.h"

#define KW_REAL float
#define KW_HOST_DEVICE __device__
#include "kwsim/accumulate.h"

namespace
{

const int THREADS = 128;

/* ---- values ---- */

/* Strides in floats by slot. */
__device__ inline long long stride_of(const kw_device &d, int slot)
{
    return slot == KW_LINES ? 2LL * d.plane : slot == KW_ROWS ? 2LL * d.bins : 1;
}

__device__ inline int slot_of(const kw_device &d, int a) { return d.dims == 3 ? a : d.dims == 2 ? 2 * a : 2; }

__device__ inline int points_of(const kw_device &d, int slot)
{
    return slot == KW_LINES ? d.lines : slot == KW_ROWS ? d.rows : d.columns;
}

struct grid_point {
    int at[3]; /* by slot */
};

__device__ inline const float *component(const kw_device &d, int a)
{
    return reinterpret_cast<const float *>(d.u + a * d.elements);
}

__device__ inline float centred(const kw_device &d, int a, const grid_point &p)
{
    int slot = slot_of(d, a), n = points_of(d, slot);
    long long stride = stride_of(d, slot);
    const float *u = component(d, a), *shift = d.centring[a] + p.at[slot] + n;
    for (int i = 0; i < 3; i++)
        if (i != slot) u += p.at[i] * stride_of(d, i);
    float sum = 0;
    for (int m = 0; m < n; m++) sum += __ldg(&shift[-m]) * u[m * stride];
    return sum;
}

/* Quantity `what` (kw_recorded) at a grid point. */
__device__ inline float value_at(const kw_device &d, const kw_device_recording &r, int what, const grid_point &p)
{
    int a = what == KW_REC_P ? -1 : r.active[(what - KW_REC_UX) % 3];
    if (what >= KW_REC_UX_CENTRED) return centred(d, a, p);
    const float *field = a < 0 ? reinterpret_cast<const float *>(d.p) : component(d, a);
    return field[p.at[0] * stride_of(d, 0) + p.at[1] * stride_of(d, 1) + p.at[2]];
}

__device__ inline grid_point point_of_row(const kw_device &d, const kw_device_recording &r, long long row)
{
    grid_point p;
    if (r.box) {
        p.at[2] = r.lo[2] + (int)(row % r.n[2]);
        p.at[1] = r.lo[1] + (int)(row / r.n[2] % r.n[1]);
        p.at[0] = r.lo[0] + (int)(row / r.n[2] / r.n[1]);
        return p;
    }
    long long offset = r.offset[row];
    p.at[0] = (int)(offset / stride_of(d, 0));
    p.at[1] = (int)(offset % stride_of(d, 0) / stride_of(d, 1));
    p.at[2] = (int)(offset % stride_of(d, 1));
    return p;
}

/* ---- accumulators ---- */

__device__ inline bool bit(unsigned bits, int i) { return (bits >> i & 1u) != 0; }

/* p three samples ago times u there and then, u from six samples around it. */
__device__ inline void keep_intensity(const kw_device &d, const kw_device_recording &r, long long row, long long sample,
                                      const float value[KW_RECORDED])
{
    float *p = r.slots + r.history * r.rows + row, *sum = p - 2 * d.dims * r.rows, *u = p + KW_INTENSITY_P * r.rows;
    p[sample % KW_INTENSITY_P * r.rows] = value[KW_REC_P];
    float then = p[(sample + 1) % KW_INTENSITY_P * r.rows];
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        if (r.active[axis] < 0) continue;
        u[sample % KW_INTENSITY_U * r.rows] = value[KW_REC_UX_CENTRED + axis];
        float old[KW_INTENSITY_U];
        for (int k = 0; k < KW_INTENSITY_U; k++) old[k] = u[(sample + 1 + k) % KW_INTENSITY_U * r.rows];
        if (sample >= KW_INTENSITY_U - 1)
            kw_sum_add(&sum[0], &sum[r.rows], then * kw_centre_in_time(old[0], old[1], old[2], old[3], old[4], old[5]));
        sum += 2 * r.rows;
        u += KW_INTENSITY_U * r.rows;
    }
}

/* Everything that one row keeps. */
__device__ inline void keep(const kw_device &d, const kw_device_recording &r, long long row, long long sample,
                            const float value[KW_RECORDED])
{
    float *ring = r.ring + sample % r.ring_steps * r.series_count * r.rows + row, *slot = r.slots + row;
#pragma unroll
    for (int q = 0; q < KW_RECORDED; q++)
        if (bit(r.series, q)) {
            *ring = value[q];
            ring += r.rows;
        }
#pragma unroll
    for (int q = 0; q < KW_RECORDED; q++)
        if (bit(r.max, q)) {
            *slot = fmaxf(*slot, value[q]);
            slot += r.rows;
        }
#pragma unroll
    for (int q = 0; q < KW_RECORDED; q++)
        if (bit(r.min, q)) {
            *slot = fminf(*slot, value[q]);
            slot += r.rows;
        }
#pragma unroll
    for (int q = 0; q < KW_RECORDED; q++)
        if (bit(r.rms, q)) {
            kw_sum_add(&slot[0], &slot[r.rows], value[q] * value[q]);
            slot += 2 * r.rows;
        }
#pragma unroll
    for (int q = 0; q < KW_RECORDED; q++)
        for (int f = 0; f < r.frequencies && bit(r.fourier, q); f++) {
            const float *phase = r.phase + 2 * (sample * r.frequencies + f);
            kw_sum_add(&slot[0], &slot[r.rows], value[q] * phase[0]);
            kw_sum_add(&slot[2 * r.rows], &slot[3 * r.rows], value[q] * phase[1]);
            slot += 4 * r.rows;
        }
    if (r.intensity) keep_intensity(d, r, row, sample, value);
}

/* Number of the sample that this step is, or -1. */
__device__ inline long long sample_of(const kw_device &d, const kw_device_recording &r)
{
    long long since = *d.step - r.from;
    return since < 0 || *d.step > r.to || since % r.every != 0 ? -1 : since / r.every;
}

__global__ void __launch_bounds__(THREADS) record_rows(const kw_device d, const kw_device_recording r)
{
    long long sample = sample_of(d, r), stride = (long long)gridDim.x * THREADS;
    if (sample < 0) return;
    for (long long row = (long long)blockIdx.x * THREADS + threadIdx.x; row < r.rows; row += stride) {
        if (!r.box && r.offset[row] < 0) continue;
        grid_point p = point_of_row(d, r, row);
        float value[KW_RECORDED];
#pragma unroll
        for (int q = 0; q < KW_RECORDED; q++) value[q] = bit(r.needs, q) ? value_at(d, r, q, p) : 0.0f;
        keep(d, r, row, sample, value);
    }
}

/* ---- stencils: a block for each row ---- */

/* This thread's share of one point: every THREADS-th of its taps. A stencil of many taps reads a staggered component
 * where it lies; one or two taps read the exactly moved one. */
__device__ inline float stencil_share(const kw_device &d, const kw_device_recording &r, int what,
                                      const kw_device_stencil &s)
{
    int which[3] = {0, 1, 2};
    if (what >= KW_REC_UX_CENTRED) {
        int own = slot_of(d, r.active[what - KW_REC_UX_CENTRED]);
        if (s.taps[3 + own] > 2) {
            which[own] += 3;
            what -= 3;
        }
    }
    int t1 = s.taps[which[1]], t2 = s.taps[which[2]], all = s.taps[which[0]] * t1 * t2;
    float sum = 0;
    for (int t = threadIdx.x; t < all; t += THREADS) {
        int tap[3] = {t / t2 / t1, t / t2 % t1, t % t2};
        grid_point p;
        float weight = 1;
        for (int slot = 0; slot < 3; slot++) {
            p.at[slot] = (s.first[which[slot]] + tap[slot]) % points_of(d, slot);
            weight *= s.weight[which[slot]][tap[slot]];
        }
        sum += weight * value_at(d, r, what, p);
    }
    return sum;
}

__device__ inline float block_sum(float mine)
{
    __shared__ float all[THREADS];
    all[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
        __syncthreads();
    }
    float sum = all[0];
    __syncthreads();
    return sum;
}

__global__ void __launch_bounds__(THREADS) record_stencils(const kw_device d, const kw_device_recording r)
{
    long long sample = sample_of(d, r);
    if (sample < 0) return;
    for (long long i = blockIdx.x; i < r.stencil_rows; i += gridDim.x) {
        float value[KW_RECORDED];
        long long first = r.stencil_first[i], end = r.stencil_first[i + 1];
#pragma unroll
        for (int q = 0; q < KW_RECORDED; q++) {
            float mine = 0;
            for (long long k = first; k < end && bit(r.needs, q); k++) mine += stencil_share(d, r, q, r.stencil[k]);
            value[q] = bit(r.needs, q) ? block_sum(mine) / (float)(end - first) : 0.0f;
        }
        if (threadIdx.x == 0) keep(d, r, r.stencil_row[i], sample, value);
    }
}

__global__ void __launch_bounds__(THREADS) record_start(const kw_device_recording r, long long high, long long low)
{
    long long stride = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < low; i += stride)
        r.slots[i] = __int_as_float(i < high ? 0xff800000 : 0x7f800000);
}

unsigned blocks_for(long long items)
{
    long long blocks = (items + THREADS - 1) / THREADS, most = 1 << 20;
    return (unsigned)(blocks < most ? blocks : most);
}

} // namespace

kw_status kw_launch_record(const kw_device *device, const kw_device_recording *r, cudaStream_t stream)
{
    if (r->rows > r->stencil_rows) record_rows<<<blocks_for(r->rows), THREADS, 0, stream>>>(*device, *r);
    if (r->stencil_rows > 0) {
        unsigned blocks = r->stencil_rows < 65536 ? (unsigned)r->stencil_rows : 65536;
        record_stencils<<<blocks, THREADS, 0, stream>>>(*device, *r);
    }
    KW_CUDA(cudaGetLastError(), "recording");
    return KW_OK;
}

kw_status kw_launch_record_start(const kw_device_recording *r, cudaStream_t stream)
{
    long long high = kw_bit_count(r->max) * r->rows, low = high + kw_bit_count(r->min) * r->rows;
    if (low == 0) return KW_OK;
    record_start<<<blocks_for(low), THREADS, 0, stream>>>(*r, high, low);
    KW_CUDA(cudaGetLastError(), "recording");
    return KW_OK;
}
