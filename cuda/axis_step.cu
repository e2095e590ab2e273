#include "axis_step.h"

#include <cuda_pipeline_primitives.h>

#include "check.h"
#include "spectra.cuh"

namespace
{

using namespace kw;

/* The parts of a kernel: the inner pass before the momentum, between it and the density, and at the end; the outer pass at
 * the momentum, at the density, and out to the points of the sum. */
enum phase { MOMENTUM, DENSITY, OUTPUT, AT_RUN_TIME };

/* The points of a line. */
template <class Block, int PHASE> struct points_body {
    const kw_axis_step *step;
    Block block;
    const float2 *early; /* the momentum, in shared memory */
    float2 *momentum, *density, *lines_out; /* of the line */
    int stride, runtime_phase;
    bool valid;

    __device__ __forceinline__ int phase() const { return PHASE == AT_RUN_TIME ? runtime_phase : PHASE; }

    __device__ __forceinline__ float2 load(int j) const
    {
        if (phase() == MOMENTUM) return early[(j << block.log_width()) + block.line];
        int row = phase() == DENSITY ? slab_row(j, block.length(), step->skin) : -1;
        return row >= 0 ? density[(size_t)row * stride] : make_float2(0, 0);
    }

    __device__ __forceinline__ float2 update(int j, float2 was, float2 x) const
    {
        if (phase() == MOMENTUM) {
            float2 e = __ldg(&step->damping[j]);
            float2 m = make_float2(fmaf(e.x, was.x, e.y * x.x), fmaf(e.x, was.y, e.y * x.y));
            if (valid) __stcs(&momentum[(size_t)j * stride], m);
            return m;
        }
        if (phase() == OUTPUT) {
            bool wanted = step->wanted == nullptr || step->wanted[j] != 0;
            if (valid && wanted) lines_out[(size_t)j * stride] = x;
            return x;
        }
        int row = slab_row(j, block.length(), step->skin);
        if (row < 0) return make_float2(0, 0);
        float4 e = __ldg(&step->slab[row]);
        float2 now = make_float2(fmaf(e.x, was.x, e.y * x.x), fmaf(e.x, was.y, e.y * x.y));
        if (valid) density[(size_t)row * stride] = now;
        return make_float2(fmaf(e.z, was.x, e.w * x.x), fmaf(e.z, was.y, e.w * x.y));
    }
};

/* The frequencies of a line. */
template <bool HALVED, class Block, int PHASE> struct spectrum_body {
    const kw_axis_step *step;
    Block block;
    float2 *kept; /* in shared memory: what the sum gets so far */
    const float2 *source;
    float2 *sum, *total; /* of the line */
    size_t whole;
    int stride, first, runtime_phase;
    float variable;
    bool valid;

    __device__ __forceinline__ int phase() const { return PHASE == AT_RUN_TIME ? runtime_phase : PHASE; }

    __device__ __forceinline__ float2 &kept_at(int m) const
    {
        return kept[((first + m) << block.log_width()) + block.line];
    }

    __device__ __forceinline__ float2 load(int m, int f) const
    {
        if (phase() == MOMENTUM) return HALVED ? block.at(first + m) : source[(size_t)f * stride];
        if (HALVED) return make_float2(0, 0);
        if (phase() == DENSITY) return __ldcs(&sum[(size_t)f * stride]);
        return step->last ? total[(size_t)f * stride] : make_float2(0, 0);
    }

    __device__ __forceinline__ float2 scaled(int f, float2 x, bool forward) const
    {
        float4 g = __ldg(&step->gradient[f]);
        float k = radial_at(step->kappa, variable + g.z);
        if (!forward) k *= step->divergence;
        float2 kg = make_float2(k * g.x, k * g.y);
        return forward ? times(x, kg) : times_conj(x, kg);
    }

    __device__ __forceinline__ float2 update(int m, int f, float2 early, float2 x) const
    {
        if (phase() == MOMENTUM) return scaled(f, early, true);
        if (phase() == DENSITY) {
            x = scaled(f, x, false);
            kept_at(m) = HALVED ? x : early + x;
            return x;
        }
        x = kept_at(m) + x;
        if (HALVED) {
            block.at(first + m) = x;
            return x;
        }
        if (step->last) {
            for (int i = 0; i < step->sources; i++)
                if (*step->gain[i] != 0.0f) x = x + *step->gain[i] * step->to_total[i][whole + (size_t)f * stride];
            x = early + x;
        }
        if (valid) (step->last ? total : sum)[(size_t)f * stride] = x;
        return x;
    }
};

/* A line's places, which the bodies of all phases are made of. */
template <bool HALVED, class Block> struct line_of_block {
    const kw_axis_step *step;
    Block block;
    float2 *second; /* shared memory beside the block */
    size_t whole, slab;
    int stride, first;
    float variable;
    bool valid;

    template <int PHASE> __device__ __forceinline__ points_body<Block, PHASE> points(int phase) const
    {
        return {step, block, second, step->momentum + whole, step->density + slab, step->lines_out + whole,
                stride, phase, valid};
    }
    template <int PHASE> __device__ __forceinline__ spectrum_body<HALVED, Block, PHASE> spectrum(int phase) const
    {
        return {step,  block,  second, step->source + whole, step->sum + whole, step->total + whole, whole, stride,
                first, phase, variable, valid};
    }
};

/* The passes of one phase; false if it was the last. */
template <int PHASE, class Line>
__device__ __forceinline__ bool run_phase(const kw_axis_step &step, const Line &line, int runtime_phase, bool *forward)
{
    const int phase = PHASE == AT_RUN_TIME ? runtime_phase : PHASE;
    bool inverse = phase == MOMENTUM || (phase == DENSITY ? step.skin > 0 : step.lines_out != nullptr);
    inner_pass(line.block, line.template spectrum<PHASE>(phase), *forward, inverse);
    *forward = inverse && phase < OUTPUT;
    if (!inverse) return phase < OUTPUT;
    if (phase == MOMENTUM) __pipeline_wait_prior(0);
    middle_passes(line.block, true);
    outer_pass(line.block, line.template points<PHASE>(phase), true, phase < OUTPUT);
    if (phase == OUTPUT) return false;
    middle_passes(line.block, false);
    return true;
}

template <bool HALVED, class RADICES>
__global__ void __launch_bounds__(RADICES::threads, RADICES::fixed ? 512 / RADICES::threads : 1)
    axis_step(const __grid_constant__ kw_axis_step step)
{
    extern __shared__ float2 shared[];
    __shared__ block_rows rows;
    const kw_axis &axis = step.axis;
    using block_type = line_block<HALVED, RADICES>;
    block_type block = find_block<HALVED, RADICES>(shared, axis.lines, axis.log_width);
    const int n = block.length();
    line_of_block<HALVED, block_type> line = {&step, block, shared + (n << block.log_width()), 0, 0, TILE,
                                              block.first_place(), 0, true};
    if constexpr (HALVED) {
        halved_line at = find_halved(axis, block.line);
        line.whole = at.base(n);
        line.slab = at.base(2 * step.skin);
        line.valid = at.valid;
        line.variable = __ldg(&step.kappa.variable[KW_LINES][at.line]) + __ldg(&step.kappa.variable[KW_ROWS][at.row]);
        if (block.worker == 0) rows.set(block.line, at);
    } else {
        plain_line at = find_plain(axis, block.line, nullptr, 0);
        line.whole = at.base(axis, n);
        line.slab = at.base(axis, 2 * step.skin);
        line.stride = at.stride(axis);
        line.valid = at.valid;
        line.variable = __ldg(&step.kappa.variable[axis.slot == KW_LINES ? KW_ROWS : KW_LINES][at.other]) +
                        __ldg(&step.kappa.variable[KW_COLUMNS][at.bin]);
    }
#pragma unroll
    for (int i = 0; i < (RADICES::fixed ? RADICES::inner : axis.lines.inner); i++)
        __pipeline_memcpy_async(&line.second[(block.frequency(i) << block.log_width()) + block.line],
                                &step.momentum[line.whole + (size_t)block.frequency(i) * line.stride], sizeof(float2));
    __pipeline_commit();
    if constexpr (HALVED) {
        __syncthreads();
        stage_in(axis, block, rows, step.source);
        __syncthreads();
    }
    bool forward = false;
    if constexpr (RADICES::fixed) {
        run_phase<MOMENTUM>(step, line, MOMENTUM, &forward);
        run_phase<DENSITY>(step, line, DENSITY, &forward);
        run_phase<OUTPUT>(step, line, OUTPUT, &forward);
    } else {
        int phase = MOMENTUM;
#pragma unroll 1
        while (run_phase<AT_RUN_TIME>(step, line, phase, &forward)) phase++;
    }
    if constexpr (HALVED) {
        __syncthreads();
        stage_out(axis, block, rows, false, step.sum);
    }
}

/* The lengths that have kernels of their own; the plans of lines.cu for them have these radices: outer, middle, inner. */
#define KW_FIXED_LENGTHS(X)                                                                                            \
    X(8, 1, 8, 4)                                                                                                      \
    X(8, 1, 16, 4)                                                                                                     \
    X(16, 1, 16, 4)                                                                                                    \
    X(8, 3, 16, 3)                                                                                                     \
    X(4, 8, 16, 3)

bool has_radices(const kw_axis &axis, int outer, int middle, int inner, int log_width)
{
    const kw_lines &plan = axis.lines;
    return plan.outer.radix == outer && plan.inner == inner && plan.middles == (middle > 1) &&
           (middle == 1 || plan.middle[0].radix == middle) && axis.log_width == log_width;
}

template <class Kernel> cudaError_t allow(Kernel kernel, int64_t bytes)
{
    cudaFuncAttributes found;
    cudaError_t error = cudaFuncGetAttributes(&found, kernel);
    if (error != cudaSuccess) return error;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)(bytes - (int64_t)found.sharedSizeBytes));
}

} // namespace

kw_status kw_axis_step_prepare(int64_t shared_bytes)
{
    KW_CUDA(allow(axis_step<false, any_radices>, shared_bytes), "the step's kernels");
    KW_CUDA(allow(axis_step<true, any_radices>, shared_bytes), "the step's kernels");
#define KW_ALLOW(...)                                                                                                  \
    KW_CUDA(allow(axis_step<false, fixed_radices<__VA_ARGS__>>, shared_bytes), "the step's kernels");                  \
    KW_CUDA(allow(axis_step<true, fixed_radices<__VA_ARGS__>>, shared_bytes), "the step's kernels");
    KW_FIXED_LENGTHS(KW_ALLOW)
    return KW_OK;
}

kw_status kw_launch_axis_step(const kw_axis_step *step, cudaStream_t stream)
{
    const kw_axis &axis = step->axis;
    const kw_spectrum_shape &s = axis.shape;
    unsigned threads = (unsigned)(axis.lines.workers << axis.log_width);
    size_t shared = ((size_t)axis.lines.n << axis.log_width) * KW_AXIS_STEP_BYTES;
    int64_t width = 1 << axis.log_width, bins = s.bins < KW_TILE_LINES ? s.bins : KW_TILE_LINES, lines;
    bool halved = axis.slot == KW_COLUMNS;
    if (halved)
        lines = s.dims == 2 ? s.lines / 2 + 1 : (int64_t)s.lines * (s.rows / 2 + 1);
    else
        lines = (axis.slot == KW_LINES ? s.rows : s.lines) * bins;
    dim3 blocks((unsigned)((lines + width - 1) / width),
                halved ? 1u : (unsigned)((s.bins + KW_TILE_LINES - 1) / KW_TILE_LINES));
    void (*kernel)(const kw_axis_step) = halved ? axis_step<true, any_radices> : axis_step<false, any_radices>;
#define KW_CHOOSE(...)                                                                                                 \
    if (has_radices(axis, __VA_ARGS__))                                                                          \
        kernel = halved ? axis_step<true, fixed_radices<__VA_ARGS__>> : axis_step<false, fixed_radices<__VA_ARGS__>>;
    KW_FIXED_LENGTHS(KW_CHOOSE)
    kernel<<<blocks, threads, shared, stream>>>(*step);
    KW_CUDA(cudaGetLastError(), "a step along an axis");
    return KW_OK;
}
