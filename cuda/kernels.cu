#include "kernels.h"

#include "check.h"

namespace
{

const int THREADS = 256;

/* ---- where a thread is ---- */

__host__ __device__ constexpr int slot_of(int dims, int a)
{
    return dims == 3 ? a : dims == 2 ? 2 * a : 2; /* KW_LINES, KW_ROWS, KW_COLUMNS */
}

struct place {
    int x, y, z; /* line, row, bin */
    int64_t i;   /* element */
};

__device__ inline bool find_place(const kw_device &d, int x, place *at)
{
    unsigned q = blockIdx.x * THREADS + threadIdx.x;
    if (q >= d.plane) return false;
    unsigned y = d.magic != 0 ? __umulhi(q, d.magic) >> d.shift : q >> d.shift;
    at->x = x;
    at->y = (int)y;
    at->z = (int)(q - y * (unsigned)d.bins);
    at->i = (int64_t)x * d.plane + q;
    return true;
}

/* Every line index of this block's share: the grid's y cannot hold them all. */
#define KW_FOR_LINES(x) for (int x = blockIdx.y; x < d.lines; x += gridDim.y)

__device__ inline float2 operator*(float s, float2 v) { return make_float2(s * v.x, s * v.y); }
__device__ inline float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x, a.y * b.y); }
__device__ inline float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ inline float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

/* (re + i im) v */
__device__ inline float2 turn(float re, float im, float2 v)
{
    return make_float2(re * v.x - im * v.y, re * v.y + im * v.x);
}

/* ---- spectra ---- */

/* A table of |k|, which is even in every component. */
__device__ inline float table_at(const kw_device &d, const float *table, const place &at)
{
    int x = min(at.x, d.lines - at.x), y = min(at.y, d.rows - at.y);
    return __ldg(&table[((int64_t)x * (d.rows / 2 + 1) + y) * d.bins + at.z]);
}

__device__ inline float kappa_at(const kw_device &d, const place &at) { return table_at(d, d.kappa, at); }

template <int DIMS> __device__ inline float2 gradient_at(const kw_device &d, const place &at, int a)
{
    const int slot = slot_of(DIMS, a);
    return __ldg(&d.gradient[a][slot == KW_LINES ? at.x : slot == KW_ROWS ? at.y : at.z]);
}

template <int DIMS> __global__ void __launch_bounds__(THREADS) gradient(const kw_device d, bool begins_step)
{
    if (begins_step && blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) ++*d.step;
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at)) return;
        float2 p = d.spec[at.i];
        float kappa = kappa_at(d, at);
#pragma unroll
        for (int a = 0; a < DIMS; a++) {
            float2 g = gradient_at<DIMS>(d, at, a);
            d.work[a * d.elements + at.i] = turn(kappa * g.x, kappa * g.y, p);
        }
    }
}

template <int DIMS> __global__ void __launch_bounds__(THREADS) divergence(const kw_device d)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at)) return;
        float2 u[DIMS];
#pragma unroll
        for (int a = 0; a < DIMS; a++) u[a] = d.work[a * d.elements + at.i];
        float kappa = kappa_at(d, at);
#pragma unroll
        for (int a = 0; a < DIMS; a++) {
            float2 g = gradient_at<DIMS>(d, at, a);
            d.work[a * d.elements + at.i] = turn(-kappa * g.x, kappa * g.y, u[a]); /* M = -conj P */
        }
    }
}

/* ---- real fields ---- */

/* The factors of two neighbouring columns; tables of columns are padded to a whole number of pairs. */
template <int DIMS> __device__ inline float2 damping_at(const float *const table[3], const place &at, int a)
{
    const int slot = slot_of(DIMS, a);
    if (slot == KW_COLUMNS) return __ldg(reinterpret_cast<const float2 *>(table[a]) + at.z);
    float e = __ldg(&table[a][slot == KW_LINES ? at.x : at.y]);
    return make_float2(e, e);
}

/* dt/rho0_i, rho0_i the mean of a point and its neighbour along axis a; the last point's is its own. */
template <int DIMS> __device__ inline float2 mobility_at(const kw_device &d, const place &at, int a, float2 here)
{
    const int slot = slot_of(DIMS, a);
    float2 next = here;
    if (slot == KW_LINES && at.x + 1 < d.lines) next = __ldg(&d.rho0[at.i + d.plane]);
    if (slot == KW_ROWS && at.y + 1 < d.rows) next = __ldg(&d.rho0[at.i + d.bins]);
    if (slot == KW_COLUMNS) {
        bool second = 2 * at.z + 1 < d.columns, third = 2 * at.z + 2 < d.columns;
        next.x = second ? here.y : here.x;
        next.y = third ? __ldg(&d.rho0[at.i + 1]).x : here.y;
    }
    return make_float2(2 * d.dt / (here.x + next.x), 2 * d.dt / (here.y + next.y));
}

/* No field is kept in a pair of columns that is padding as a whole. */
__device__ inline bool is_padding(const kw_device &d, const place &at) { return 2 * at.z >= d.columns; }

/* dt/rho0_i of a pair of columns. */
template <int DIMS> __device__ inline float2 velocity_factor(const kw_device &d, const place &at, int a, float2 rho0)
{
    if (d.staggered[a] != nullptr) {
        float2 given = __ldg(&d.staggered[a][at.i]);
        return make_float2(d.dt / given.x, d.dt / given.y);
    }
    float c = d.dt / d.rho0_constant;
    return d.rho0 != nullptr ? mobility_at<DIMS>(d, at, a, rho0) : make_float2(c, c);
}

template <int DIMS> __global__ void __launch_bounds__(THREADS) velocity(const kw_device d)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at) || is_padding(d, at)) return;
        float2 g[DIMS], u[DIMS];
#pragma unroll
        for (int a = 0; a < DIMS; a++) {
            g[a] = d.work[a * d.elements + at.i];
            u[a] = d.u[a * d.elements + at.i];
        }
        float2 rho0 = d.rho0 != nullptr ? __ldg(&d.rho0[at.i]) : make_float2(1, 1);
#pragma unroll
        for (int a = 0; a < DIMS; a++) {
            float2 e = damping_at<DIMS>(d.pml_staggered, at, a);
            float2 m = velocity_factor<DIMS>(d, at, a, rho0);
            d.u[a * d.elements + at.i] = e * (e * u[a] - m * g[a]);
        }
    }
}

__device__ inline float2 map_at(const float2 *map, float constant, const place &at)
{
    return map != nullptr ? __ldg(&map[at.i]) : make_float2(constant, constant);
}

__device__ inline float2 c2_at(const kw_device &d, const place &at) { return map_at(d.c2, d.c2_constant, at); }

/* S, plus BonA S^2/(2 rho0) */
__device__ inline float2 nonlinear_at(const kw_device &d, const place &at, float2 s)
{
    if (!d.nonlinear) return s;
    float2 b = map_at(d.bona, d.bona_constant, at), r = map_at(d.rho0, d.rho0_constant, at);
    return make_float2(s.x + b.x * s.x * s.x / (2 * r.x), s.y + b.y * s.y * s.y / (2 * r.y));
}

template <int DIMS> __global__ void __launch_bounds__(THREADS) density(const kw_device d, bool moves)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at) || is_padding(d, at)) return;
        float2 g[DIMS], rho[DIMS], sum = make_float2(0, 0), divergence = sum, before = sum;
#pragma unroll
        for (int a = 0; a < DIMS; a++) {
            g[a] = d.work[a * d.elements + at.i];
            rho[a] = d.rho[a * d.elements + at.i];
            divergence = divergence + g[a];
            before = before + rho[a];
        }
        float2 rho0 = map_at(d.rho0, d.rho0_constant, at);
        float2 f = d.nonlinear ? rho0 + 2.0f * before : rho0;
#pragma unroll
        for (int a = 0; a < DIMS && moves; a++) {
            float2 e = damping_at<DIMS>(d.pml, at, a);
            rho[a] = e * (e * rho[a] - d.dt * (f * g[a]));
            d.rho[a * d.elements + at.i] = rho[a];
            sum = sum + rho[a];
        }
        divergence = rho0 * divergence;
        if (d.split && d.absorbs) d.work[at.i] = divergence;
        if (d.split) continue;
        float2 p = nonlinear_at(d, at, sum);
        if (d.absorbs) p = p + map_at(d.tau, d.tau_constant, at) * divergence;
        d.p[at.i] = c2_at(d, at) * p;
    }
}

template <int DIMS> __device__ inline float2 total_at(const kw_device &d, const place &at)
{
    float2 sum = make_float2(0, 0);
#pragma unroll
    for (int a = 0; a < DIMS; a++) sum = sum + d.rho[a * d.elements + at.i];
    return sum;
}

template <int DIMS> __global__ void __launch_bounds__(THREADS) total(const kw_device d)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at) || is_padding(d, at)) return;
        d.work[d.elements + at.i] = total_at<DIMS>(d, at);
    }
}

template <int DIMS> __global__ void __launch_bounds__(THREADS) pressure(const kw_device d)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at) || is_padding(d, at)) return;
        float2 p = nonlinear_at(d, at, total_at<DIMS>(d, at));
        if (d.absorbs && (d.attenuates || !d.disperses)) p = p + map_at(d.tau, d.tau_constant, at) * d.work[at.i];
        if (d.disperses) p = p - map_at(d.eta, d.eta_constant, at) * d.work[d.elements + at.i];
        d.p[at.i] = c2_at(d, at) * p;
    }
}

__global__ void __launch_bounds__(THREADS) absorption(const kw_device d)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at)) return;
        if (d.attenuates) d.work[at.i] = table_at(d, d.power[0], at) * d.work[at.i];
        if (d.disperses) d.work[d.elements + at.i] = table_at(d, d.power[1], at) * d.work[d.elements + at.i];
    }
}

__global__ void __launch_bounds__(THREADS) correction(const kw_device d, float2 *spectrum)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at)) return;
        spectrum[at.i] = table_at(d, d.kappa_source, at) * spectrum[at.i];
    }
}

/* ---- sources ---- */

__device__ inline bool source_acts(const kw_device_source &s, long long n)
{
    return n < s.act_steps || s.after != KW_AFTER_STOP;
}

__device__ inline float sample_at(const float *signal, long long samples, long long k)
{
    return k >= 0 && k < samples ? __ldg(&signal[k]) : 0.0f;
}

/* Entry j's signal at step n; delayed ones by a cubic through four samples, as kw_source_value() has it. */
__device__ inline float source_value(const kw_device_source &s, long long j, long long n)
{
    const float *signal = s.signal + s.row[j] * s.samples;
    if (s.lag == nullptr) {
        if (n < s.samples) return signal[n];
        return s.after == KW_AFTER_HOLD ? signal[s.samples - 1] : 0.0f;
    }
    long long k = n * s.oversampling - s.lag[j];
    float f = s.lag_fraction[j];
    return -f * (f - 1) * (f - 2) / 6 * sample_at(signal, s.samples, k - 1) +
           (f + 1) * (f - 1) * (f - 2) / 2 * sample_at(signal, s.samples, k) -
           (f + 1) * f * (f - 2) / 2 * sample_at(signal, s.samples, k + 1) +
           (f + 1) * f * (f - 1) / 6 * sample_at(signal, s.samples, k + 2);
}

/* What a place gets: the sum of its points, or as Dirichlet its last. */
__device__ inline float place_value(const kw_device_source &s, long long i, long long n, bool of_one)
{
    float value = 0;
    for (long long j = s.start[i]; j < s.start[i + 1]; j++) {
        float one = s.scale[j] * (of_one ? 1.0f : source_value(s, j, n));
        value = s.mode == KW_DIRICHLET ? one : value + one;
    }
    return value;
}

__device__ inline long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline long long item_stride() { return (long long)gridDim.x * blockDim.x; }

template <int DIMS> __global__ void source_points(const kw_device d, const kw_device_source s)
{
    long long n = *d.step;
    if (!source_acts(s, n)) return;
    for (long long i = first_item(); i < s.places; i += item_stride()) {
        float value = place_value(s, i, n, false);
        for (int a = 0; a < (s.field < 0 ? DIMS : 1); a++) {
            float2 *field = s.field < 0 ? d.rho + a * d.elements : d.u + s.field * d.elements;
            float *at = reinterpret_cast<float *>(field) + s.offset[i];
            *at = s.mode == KW_DIRICHLET ? value : *at + value;
        }
    }
}

template <int DIMS>
__global__ void __launch_bounds__(THREADS) source_spread(const kw_device d, const kw_device_source s)
{
    long long n = *d.step;
    if (!source_acts(s, n)) return;
    float gain = s.varies ? 1.0f : source_value(s, 0, n);
    if (gain == 0.0f) return;
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at) || is_padding(d, at)) return;
        float2 more = gain * __ldg(&s.spread[at.i]);
        if (s.field >= 0) {
            int64_t i = s.field * d.elements + at.i;
            d.u[i] = d.u[i] + more;
            continue;
        }
#pragma unroll
        for (int a = 0; a < DIMS; a++) d.rho[a * d.elements + at.i] = d.rho[a * d.elements + at.i] + more;
    }
}

/* Scatters before gradient() counts the step up, so this step is the next one. */
__global__ void scatter(const kw_device d, const kw_device_source s, bool of_one, float *target)
{
    long long n = *d.step + 1;
    if (!of_one && !source_acts(s, n)) return;
    for (long long i = first_item(); i < s.places; i += item_stride())
        target[s.offset[i]] = place_value(s, i, n, of_one);
}

struct gain_sources {
    kw_device_source source[KW_MOST_GAINS];
};

__global__ void begin(const kw_device d, const gain_sources all, int count, float *gain)
{
    long long n = *d.step + 1;
    for (int i = 0; i < count; i++) gain[i] = source_acts(all.source[i], n) ? source_value(all.source[i], 0, n) : 0.0f;
    *d.step = n;
}

/* ---- start ---- */

template <int DIMS> __global__ void __launch_bounds__(THREADS) start(const kw_device d)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at) || is_padding(d, at)) return;
        float2 p = d.p[at.i], c2 = c2_at(d, at);
        float2 share = make_float2(p.x / (DIMS * c2.x), p.y / (DIMS * c2.y));
        float2 rho0 = d.rho0 != nullptr ? __ldg(&d.rho0[at.i]) : make_float2(1, 1);
#pragma unroll
        for (int a = 0; a < DIMS; a++) {
            float2 m = velocity_factor<DIMS>(d, at, a, rho0);
            d.u[a * d.elements + at.i] = 0.5f * (m * d.work[a * d.elements + at.i]);
            d.rho[a * d.elements + at.i] = share;
        }
    }
}

__global__ void square(const kw_device d, float2 *field)
{
    KW_FOR_LINES(x)
    {
        place at;
        if (!find_place(d, x, &at)) return;
        field[at.i] = field[at.i] * field[at.i];
    }
}

/* ---- looking at p ---- */

/* Without their sign, the bits of IEEE numbers order like the numbers; infinities and NaN lie above all. The first of
 * equals wins, so the answer does not depend on the order of the blocks. */
struct extreme {
    unsigned long long bits, offset;
};

__device__ inline extreme better(extreme a, extreme b)
{
    bool second = b.bits > a.bits || (b.bits == a.bits && b.offset < a.offset);
    return second ? b : a;
}

__device__ inline void reduce_block(extreme mine, unsigned long long *result)
{
    __shared__ extreme all[THREADS];
    all[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) all[threadIdx.x] = better(all[threadIdx.x], all[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        result[0] = all[0].bits;
        result[1] = all[0].offset;
    }
}

__global__ void __launch_bounds__(THREADS) look_blocks(const kw_device d, unsigned long long *partial)
{
    extreme mine = {0, ~0ull};
    const float *p = reinterpret_cast<const float *>(d.p);
    int64_t rows = (int64_t)d.lines * d.rows;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
        for (int z = threadIdx.x; z < d.columns; z += THREADS) {
            unsigned bits = __float_as_uint(p[row * 2 * d.bins + z]) & 0x7fffffffu;
            mine = better(mine, {bits, (unsigned long long)(row * d.columns + z)});
        }
    reduce_block(mine, partial + 2 * blockIdx.x);
}

__global__ void __launch_bounds__(THREADS)
    look_last(const unsigned long long *partial, int blocks, unsigned long long *result)
{
    extreme mine = {0, ~0ull};
    for (int i = threadIdx.x; i < blocks; i += THREADS) mine = better(mine, {partial[2 * i], partial[2 * i + 1]});
    reduce_block(mine, result);
}

/* ---- launching ---- */

dim3 blocks_of(const kw_device *d)
{
    return dim3((d->plane + THREADS - 1) / THREADS, d->lines < 65535 ? d->lines : 65535, 1);
}

/* Blocks for a list of items, over which the kernels stride. */
unsigned blocks_for(long long items)
{
    long long blocks = (items + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < 4096 ? blocks : 4096);
}

kw_status launched(const char *doing)
{
    KW_CUDA(cudaGetLastError(), doing);
    return KW_OK;
}

} // namespace

/* Launches the kernel of the problem's number of dimensions. */
#define KW_LAUNCH(kernel, ...)                                                                                         \
    do {                                                                                                               \
        dim3 blocks = blocks_of(device);                                                                               \
        if (device->dims == 3)                                                                                         \
            kernel<3><<<blocks, THREADS, 0, stream>>>(__VA_ARGS__);                                                    \
        else if (device->dims == 2)                                                                                    \
            kernel<2><<<blocks, THREADS, 0, stream>>>(__VA_ARGS__);                                                    \
        else                                                                                                           \
            kernel<1><<<blocks, THREADS, 0, stream>>>(__VA_ARGS__);                                                    \
        return launched(#kernel);                                                                                      \
    } while (0)

void kw_device_shape(kw_device *device, const kw_slots *slots)
{
    device->dims = slots->dims;
    device->lines = (int)slots->n[KW_LINES];
    device->rows = (int)slots->n[KW_ROWS];
    device->columns = (int)slots->n[KW_COLUMNS];
    device->bins = (int)slots->bins;
    device->plane = (unsigned)(slots->n[KW_ROWS] * slots->bins);
    device->elements = slots->n[KW_LINES] * slots->n[KW_ROWS] * slots->bins;
    /* Division by a constant, exact for q < 2^31 (Granlund & Montgomery 1994): m = floor(2^(32+s)/b) + 1, 2^s < b. */
    unsigned s = 0, b = (unsigned)device->bins;
    while ((2u << s) < b) s++;
    bool power = (b & (b - 1)) == 0;
    device->magic = power ? 0 : (unsigned)(((1ull << (32 + s)) / b) + 1);
    device->shift = power ? (b > 1 ? s + 1 : 0) : s;
}

kw_status kw_launch_gradient(const kw_device *device, bool begins_step, cudaStream_t stream)
{
    KW_LAUNCH(gradient, *device, begins_step);
}

kw_status kw_launch_velocity(const kw_device *device, cudaStream_t stream) { KW_LAUNCH(velocity, *device); }
kw_status kw_launch_divergence(const kw_device *device, cudaStream_t stream) { KW_LAUNCH(divergence, *device); }
kw_status kw_launch_density(const kw_device *device, bool moves, cudaStream_t stream)
{
    KW_LAUNCH(density, *device, moves);
}

kw_status kw_launch_total(const kw_device *device, cudaStream_t stream) { KW_LAUNCH(total, *device); }

kw_status kw_launch_absorption(const kw_device *device, cudaStream_t stream)
{
    absorption<<<blocks_of(device), THREADS, 0, stream>>>(*device);
    return launched("absorption");
}

kw_status kw_launch_correction(const kw_device *device, float2 *spectrum, cudaStream_t stream)
{
    correction<<<blocks_of(device), THREADS, 0, stream>>>(*device, spectrum);
    return launched("correction");
}

kw_status kw_launch_source(const kw_device *device, const kw_device_source *source, cudaStream_t stream)
{
    if (source->mode == KW_ADDITIVE) KW_LAUNCH(source_spread, *device, *source);
    unsigned blocks_of_points = blocks_for(source->places);
    if (device->dims == 3)
        source_points<3><<<blocks_of_points, THREADS, 0, stream>>>(*device, *source);
    else if (device->dims == 2)
        source_points<2><<<blocks_of_points, THREADS, 0, stream>>>(*device, *source);
    else
        source_points<1><<<blocks_of_points, THREADS, 0, stream>>>(*device, *source);
    return launched("a source");
}

kw_status kw_launch_scatter(const kw_device *device, const kw_device_source *source, bool of_one, float2 *target,
                            cudaStream_t stream)
{
    KW_CUDA(cudaMemsetAsync(target, 0, (size_t)device->elements * sizeof *target, stream), "a source");
    scatter<<<blocks_for(source->places), THREADS, 0, stream>>>(*device, *source, of_one,
                                                                reinterpret_cast<float *>(target));
    return launched("a source");
}

kw_status kw_launch_begin(const kw_device *device, const kw_device_source *sources, int count, float *gain,
                          cudaStream_t stream)
{
    gain_sources all = {};
    for (int i = 0; i < count; i++) all.source[i] = sources[i];
    begin<<<1, 1, 0, stream>>>(*device, all, count, gain);
    return launched("begin");
}

kw_status kw_launch_pressure(const kw_device *device, cudaStream_t stream) { KW_LAUNCH(pressure, *device); }
kw_status kw_launch_start(const kw_device *device, cudaStream_t stream) { KW_LAUNCH(start, *device); }

kw_status kw_launch_square(const kw_device *device, float2 *field, cudaStream_t stream)
{
    square<<<blocks_of(device), THREADS, 0, stream>>>(*device, field);
    return launched("square");
}

kw_status kw_launch_look(const kw_device *device, unsigned long long *partial, unsigned long long *result,
                         cudaStream_t stream)
{
    int64_t rows = (int64_t)device->lines * device->rows;
    int blocks = rows < KW_LOOK_BLOCKS ? (int)rows : (int)KW_LOOK_BLOCKS;
    look_blocks<<<blocks, THREADS, 0, stream>>>(*device, partial);
    look_last<<<1, THREADS, 0, stream>>>(partial, blocks, result);
    return launched("look");
}

cudaError_t kw_kernels_usable(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, square);
}
