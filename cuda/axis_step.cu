#include "axis_step.h"

#include "check.h"
#include "spectra.cuh"

namespace
{

using namespace kw;

/* The parts of a kernel: the inner pass before the momentum, between it and the density, and at the end; the outer pass at
 * the momentum, at the density, and out to the points of the sum. */
enum phase { MOMENTUM, DENSITY, OUTPUT, AT_RUN_TIME };

/* Points first + m gap of a line. */
template <class Block, int PHASE> struct points_cursor {
    const kw_axis_step &step;
    const float2 *early, *damping; /* momentum, in shared memory */
    float2 *here, *slab;           /* momentum or output; density */
    const unsigned char *wanted;
    int first, gap, n, stride, log_width;
    bool valid;
    int runtime_phase;

    __device__ __forceinline__ int phase() const { return PHASE == AT_RUN_TIME ? runtime_phase : PHASE; }

    /* Row in the slab of point m, or -1. */
    __device__ __forceinline__ int row(int m) const
    {
        bool some = m * gap < step.skin || (m + 1) * gap > n - step.skin; /* the same for all threads */
        return some ? slab_row(first + m * gap, n, step.skin) : -1;
    }

    __device__ __forceinline__ float2 load(int m) const
    {
        if (phase() == MOMENTUM) return early[m * gap << log_width];
        int r = phase() == DENSITY ? row(m) : -1;
        return r >= 0 ? slab[(unsigned)(r * stride)] : make_float2(0, 0);
    }

    __device__ __forceinline__ float2 update(int m, float2 was, float2 x) const
    {
        if (phase() == MOMENTUM) {
            float2 e = __ldg(&damping[m * gap]);
            float2 now = make_float2(fmaf(e.x, was.x, e.y * x.x), fmaf(e.x, was.y, e.y * x.y));
            if (valid) __stcs(&here[(unsigned)(m * gap * stride)], now);
            return now;
        }
        if (phase() == OUTPUT) {
            if (valid && (wanted == nullptr || wanted[m * gap] != 0)) here[(unsigned)(m * gap * stride)] = x;
            return x;
        }
        int r = row(m);
        if (r < 0) return make_float2(0, 0);
        float4 e = __ldg(&step.slab[r]);
        float2 now = make_float2(fmaf(e.x, was.x, e.y * x.x), fmaf(e.x, was.y, e.y * x.y));
        if (valid) slab[(unsigned)(r * stride)] = now;
        return make_float2(fmaf(e.z, was.x, e.w * x.x), fmaf(e.z, was.y, e.w * x.y));
    }
};

/* Frequencies first + m gap of a line. */
template <bool HALVED, class Block, int PHASE> struct spectrum_cursor {
    const kw_axis_step &step;
    Block block;
    float2 *kept; /* in shared memory: what the sum gets so far */
    const float2 *source;
    const float4 *gradient;
    float2 *sum, *total;
    size_t offset; /* of the first one in a spectrum */
    int first, gap, stride, place;
    float variable;
    bool valid;
    int runtime_phase;

    __device__ __forceinline__ int phase() const { return PHASE == AT_RUN_TIME ? runtime_phase : PHASE; }

    __device__ __forceinline__ float2 load(int m) const
    {
        unsigned at = (unsigned)(m * gap * stride);
        if (phase() == MOMENTUM)
            return HALVED ? staged_value(block.at(place + m), first + m * gap, block.length()) : source[at];
        if (HALVED) return make_float2(0, 0);
        if (phase() == DENSITY) return __ldcs(&sum[at]);
        return step.last ? total[at] : make_float2(0, 0);
    }

    __device__ __forceinline__ float2 scaled(int m, float2 x, bool forward) const
    {
        float4 g = __ldg(&gradient[m * gap]);
        float k = radial_at(step.kappa, variable + g.z);
        if (!forward) k *= step.divergence;
        float2 kg = make_float2(k * g.x, k * g.y);
        return forward ? times(x, kg) : times_conj(x, kg);
    }

    __device__ __forceinline__ float2 with_sources(float2 x, unsigned at) const
    {
#pragma unroll 1
        for (int i = 0; i < step.sources; i++)
            if (*step.gain[i] != 0.0f) x = x + *step.gain[i] * step.to_total[i][offset + at];
        return x;
    }

    __device__ __forceinline__ float2 update(int m, float2 early, float2 x) const
    {
        if (phase() == MOMENTUM) return scaled(m, early, true);
        if (phase() == DENSITY) {
            x = scaled(m, x, false);
            kept[m << block.log_width()] = HALVED ? x : early + x;
            return x;
        }
        x = kept[m << block.log_width()] + x;
        if (HALVED) {
            block.at(place + m) = x;
            return x;
        }
        unsigned at = (unsigned)(m * gap * stride);
        if (step.last) {
            if (step.sources > 0) x = with_sources(x, at);
            x = early + x;
        }
        if (valid) (step.last ? total : sum)[at] = x;
        return x;
    }
};

/* A line's places, and what the passes of a phase have to do with it. */
template <bool HALVED, class Block> struct line_of_block {
    const kw_axis_step *step;
    Block block;
    float2 *second; /* shared memory beside the block */
    size_t whole, slab;
    int stride;
    float variable;
    bool valid;

    template <int PHASE> struct points {
        const line_of_block &line;
        int phase;
        __device__ __forceinline__ points_cursor<Block, PHASE> start(int first, int gap) const
        {
            const kw_axis_step &step = *line.step;
            bool output = PHASE == OUTPUT || (PHASE == AT_RUN_TIME && phase == OUTPUT);
            return {step,
                    line.second + (first << line.block.log_width()) + line.block.line,
                    step.damping + first,
                    (output ? step.lines_out : step.momentum) + line.whole + (unsigned)(first * line.stride),
                    step.density + line.slab,
                    step.wanted != nullptr ? step.wanted + first : nullptr,
                    first,
                    gap,
                    line.block.length(),
                    line.stride,
                    line.block.log_width(),
                    line.valid,
                    phase};
        }
    };

    template <int PHASE> struct spectrum {
        const line_of_block &line;
        int phase;
        __device__ __forceinline__ spectrum_cursor<HALVED, Block, PHASE> start(int first, int gap) const
        {
            const kw_axis_step &step = *line.step;
            const int place = line.block.first_place();
            size_t offset = line.whole + (unsigned)(first * line.stride);
            return {step,
                    line.block,
                    line.second + (place << line.block.log_width()) + line.block.line,
                    step.source + offset,
                    step.gradient + first,
                    step.sum + offset,
                    step.total + offset,
                    offset,
                    first,
                    gap,
                    line.stride,
                    place,
                    line.variable,
                    line.valid,
                    phase};
        }
    };
};

/* The passes of one phase; false if it was the last. */
template <int PHASE, class Line>
__device__ __forceinline__ bool run_phase(const kw_axis_step &step, const Line &line, int runtime_phase, bool *forward)
{
    const int phase = PHASE == AT_RUN_TIME ? runtime_phase : PHASE;
    bool inverse = phase == MOMENTUM || (phase == DENSITY ? step.skin > 0 : step.lines_out != nullptr);
    inner_pass(line.block, typename Line::template spectrum<PHASE>{line, phase}, *forward, inverse);
    *forward = inverse && phase < OUTPUT;
    if (!inverse) return phase < OUTPUT;
    if (phase == MOMENTUM) __pipeline_wait_prior(0);
    middle_passes(line.block, true);
    outer_pass(line.block, typename Line::template points<PHASE>{line, phase}, true, phase < OUTPUT);
    if (phase == OUTPUT) return false;
    middle_passes(line.block, false);
    return true;
}

template <bool HALVED, class RADICES>
__global__ void __launch_bounds__(RADICES::threads, RADICES::blocks)
    axis_step(const __grid_constant__ kw_axis_step step)
{
    extern __shared__ float2 shared[];
    __shared__ block_rows rows;
    const kw_axis &axis = step.axis;
    using block_type = line_block<HALVED, RADICES>;
    block_type block = find_block<HALVED, RADICES>(shared, axis.lines, axis.log_width);
    const int n = block.length();
    line_of_block<HALVED, block_type> line = {&step, block, shared + (n << block.log_width()), 0, 0, TILE, 0, true};
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
    float2 *early = &line.second[(block.worker << block.log_width()) + block.line];
    const float2 *momentum = step.momentum + line.whole + (unsigned)(block.worker * line.stride);
#pragma unroll
    for (int i = 0; i < (RADICES::fixed ? RADICES::inner : axis.lines.inner); i++)
        __pipeline_memcpy_async(&early[i * block.workers() << block.log_width()],
                                &momentum[(unsigned)(i * block.workers() * line.stride)], sizeof(float2));
    __pipeline_commit();
    if constexpr (HALVED) {
        __syncthreads();
        stage_in(axis, block, rows, step.source);
        __pipeline_commit();
        __pipeline_wait_prior(0);
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
    X(8, 1, 8, 4, 4)                                                                                                   \
    X(8, 1, 16, 4, 4)                                                                                                  \
    X(16, 1, 16, 4, 2)                                                                                                 \
    X(8, 3, 16, 3, 2)                                                                                                  \
    X(4, 8, 16, 3, 2)

bool has_radices(const kw_axis &axis, int outer, int middle, int inner, int log_width, int)
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
