#include "spectra.h"

#include "check.h"
#include "spectra.cuh"

namespace
{

using namespace kw;

using staged = line_block<true>;

/* ---- lines ---- */

/* The points of a line on their way to or from a mixed field. */
struct moving {
    const kw_line_move *move;
    size_t base;
    int stride, n;
    bool valid;

    struct cursor {
        const moving &line;
        int first, gap;
        __device__ __forceinline__ float2 load(int m) const
        {
            int row = slab_row(first + m * gap, line.n, line.move->skin);
            return line.move->forward && row >= 0 ? line.move->from[line.base + (unsigned)(row * line.stride)]
                                                  : make_float2(0, 0);
        }
        __device__ __forceinline__ float2 update(int m, float2, float2 x) const
        {
            int row = slab_row(first + m * gap, line.n, line.move->skin);
            if (line.move->forward || row < 0 || !line.valid) return x;
            float2 *at = line.move->to + line.base + (unsigned)(row * line.stride);
            *at = line.move->adds ? *at + line.move->scale * x : line.move->scale * x;
            return x;
        }
    };
    __device__ __forceinline__ cursor start(int first, int gap) const { return {*this, first, gap}; }
};

/* The frequencies of a line: in a spectrum, or in the block, where they were or will be staged. */
template <class Block> struct moving_spectrum {
    const kw_line_move *move;
    const kw_radial *radial;
    Block block;
    int slot, place, stride;
    const float2 *from; /* NULL: staged; so is `to` */
    float2 *to;
    float variable;
    bool valid;

    struct cursor {
        const moving_spectrum &line;
        int first, gap;
        __device__ __forceinline__ float2 load(int m) const
        {
            int f = first + m * gap;
            if (line.move->forward) return make_float2(0, 0);
            return line.from != nullptr ? line.from[(unsigned)(f * line.stride)]
                                        : staged_value(line.block.at(line.place + m), f, line.block.length());
        }
        __device__ __forceinline__ float2 update(int m, float2 in, float2 out) const
        {
            int f = first + m * gap;
            if (!line.move->forward) {
                if (line.move->factor == nullptr) return in;
                float4 g = __ldg(&line.move->factor[f]);
                float k = radial_at(*line.radial, line.variable + g.z);
                return times(in, make_float2(k * g.x, k * g.y));
            }
            out = line.move->scale * out;
            float2 *at = line.to + (unsigned)(f * line.stride);
            if (line.to == nullptr)
                line.block.at(line.place + m) = out;
            else if (line.valid)
                *at = line.move->adds ? *at + out : out;
            return out;
        }
    };
    __device__ __forceinline__ cursor start(int first, int gap) const { return {*this, first, gap}; }
};

/* What `plain` and `halved` lines do alike. */
template <class Block>
__device__ __forceinline__ void move_line(const Block &block, const moving_spectrum<Block> &spectrum,
                                 const moving &points, bool forward)
{
    if (!forward) {
        inner_pass(block, spectrum, false, true);
        middle_passes(block, true);
    }
    outer_pass(block, points, !forward, forward);
    if (!forward) return;
    middle_passes(block, false);
    inner_pass(block, spectrum, true, false);
}

__global__ void __launch_bounds__(KW_LINE_THREADS, 1)
    move_plain(const __grid_constant__ kw_axis axis, const __grid_constant__ kw_radial radial,
               const __grid_constant__ kw_line_move move)
{
    extern __shared__ float2 shared[];
    line_block<false> block = find_block<false>(shared, axis.lines, axis.log_width);
    plain_line line = find_plain(axis, block.line, move.only, move.only_count);
    size_t whole = line.base(axis, axis.lines.n), kept = line.base(axis, slab_points(axis.lines.n, move.skin));
    kw_slot other = axis.slot == KW_LINES ? KW_ROWS : KW_LINES;
    float variable = 0;
    if (move.factor != nullptr) variable = radial.variable[other][line.other] + radial.variable[KW_COLUMNS][line.bin];
    int stride = line.stride(axis);
    moving points = {&move, kept, stride, axis.lines.n, line.valid};
    moving_spectrum<line_block<false>> spectrum = {
        &move,  &radial,  block, axis.slot, block.first_place(), stride, move.from + whole,
        move.to + whole, variable, line.valid};
    move_line(block, spectrum, points, move.forward);
}

__global__ void __launch_bounds__(KW_LINE_THREADS, 1)
    move_halved(const __grid_constant__ kw_axis axis, const __grid_constant__ kw_radial radial,
                const __grid_constant__ kw_line_move move)
{
    extern __shared__ float2 shared[];
    __shared__ block_rows rows;
    staged block = find_block<true>(shared, axis.lines, axis.log_width);
    halved_line line = find_halved(axis, block.line);
    if (block.worker == 0) rows.set(block.line, line);
    float variable = 0;
    if (move.factor != nullptr) variable = radial.variable[KW_LINES][line.line] + radial.variable[KW_ROWS][line.row];
    moving points = {&move, line.base(slab_points(axis.lines.n, move.skin)), TILE, axis.lines.n, line.valid};
    moving_spectrum<staged> spectrum = {
        &move, &radial, block, axis.slot, block.first_place(), 0, nullptr, nullptr, variable, line.valid};
    __syncthreads();
    if (!move.forward) {
        stage_in(axis, block, rows, move.from);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
    }
    move_line(block, spectrum, points, move.forward);
    if (!move.forward) return;
    __syncthreads();
    stage_out(axis, block, rows, move.adds, move.to);
}

/* ---- rows: two real ones as one complex line ---- */

struct in_place {
    staged block;
    bool inverse;

    struct cursor {
        const in_place &line;
        int first, gap;
        __device__ __forceinline__ float2 load(int m) const
        {
            return line.inverse ? make_float2(0, 0) : line.block.at(first + m * gap);
        }
        __device__ __forceinline__ float2 update(int m, float2, float2 x) const
        {
            if (line.inverse) line.block.at(first + m * gap) = x;
            return x;
        }
    };
    __device__ __forceinline__ cursor start(int first, int gap) const { return {*this, first, gap}; }
};

/* X1 + i X2 of two rows, from their half spectra. */
__device__ __forceinline__ void stage_pairs_in(const kw_axis &axis, const staged &block, const block_rows &rows,
                                      const float2 *__restrict__ spectrum)
{
    const kw_spectrum_shape &s = axis.shape;
    const row_places places(s);
    for_bins(block, s.bins, [&](int f, int line) {
        float2 a = make_float2(0, 0), b = a;
        if (rows.here[line] >= 0) a = spectrum[places.at(rows.here[line], f)];
        if (rows.mirror[line] >= 0) b = spectrum[places.at(rows.mirror[line], f)];
        if (f == 0 || 2 * f == s.columns) a.y = b.y = 0; /* real, but for rounding */
        block.of_line(block.place(f), line) = make_float2(a.x - b.y, a.y + b.x);
        if (f > 0 && 2 * f < s.columns)
            block.of_line(block.place(s.columns - f), line) = make_float2(a.x + b.y, b.x - a.y);
    });
}

__device__ __forceinline__ void stage_pairs_out(const kw_axis &axis, const staged &block, const block_rows &rows,
                                       float2 *__restrict__ spectrum)
{
    const kw_spectrum_shape &s = axis.shape;
    const row_places places(s);
    for_bins(block, s.bins, [&](int f, int line) {
        float2 y = block.of_line(block.place(f), line),
               z = block.of_line(block.place(f > 0 ? s.columns - f : 0), line);
        if (rows.here[line] < 0) return;
        spectrum[places.at(rows.here[line], f)] = make_float2(0.5f * (y.x + z.x), 0.5f * (y.y - z.y));
        if (rows.mirror[line] < 0) return;
        spectrum[places.at(rows.mirror[line], f)] = make_float2(0.5f * (y.y + z.y), 0.5f * (z.x - y.x));
    });
}

__device__ __forceinline__ float divided(const float *by, size_t at, float x) { return by != nullptr ? x / __ldg(&by[at]) : x; }

struct staged_spectrum {
    staged block;
    int place;
    bool inverse;

    __device__ __forceinline__ float2 load(int m) const
    {
        return inverse ? block.at(place + m) : make_float2(0, 0);
    }
    __device__ __forceinline__ float2 update(int m, float2 in, float2 out) const
    {
        if (!inverse) block.at(place + m) = out;
        return inverse ? in : out;
    }
    __device__ __forceinline__ staged_spectrum start(int, int) const { return *this; }
};

/* Real values of a pair of rows: after the inverse to the field, before the forward transform from it. */
__device__ __forceinline__ void real_values(const kw_axis &axis, const staged &block, const block_rows &rows,
                                   const kw_row_move &move)
{
    const kw_spectrum_shape &s = axis.shape;
    for_bins(block, s.columns, [&](int j, int line) {
        float2 &at = block.of_line(j, line), x = at;
        size_t a = (size_t)rows.here[line] * 2 * s.bins + j, b = (size_t)rows.mirror[line] * 2 * s.bins + j;
        bool has_a = rows.here[line] >= 0, has_b = rows.mirror[line] >= 0;
        if (move.inverse) {
            x = move.scale * x;
            if (move.multiply != nullptr) {
                x.x *= has_a ? __ldg(&move.multiply[a]) : 0.0f;
                x.y *= has_b ? __ldg(&move.multiply[b]) : 0.0f;
            }
            if (has_a && move.keeps) move.real[a] = x.x;
            if (has_b && move.keeps) move.real[b] = x.y;
        } else {
            x.x = has_a ? divided(move.divide, a, move.real[a]) : 0.0f;
            x.y = has_b ? divided(move.divide, b, move.real[b]) : 0.0f;
        }
        if (move.forward) at = x;
    });
}

__global__ void __launch_bounds__(KW_LINE_THREADS, 1)
    move_rows(const __grid_constant__ kw_axis axis, const __grid_constant__ kw_row_move move)
{
    extern __shared__ float2 shared[];
    __shared__ block_rows rows;
    staged block = find_block<true>(shared, axis.lines, axis.log_width);
    const int count = move.only != nullptr ? move.only_count : axis.shape.lines * axis.shape.rows;
    if (block.worker == 0) { /* neighbouring lines of the block hold neighbouring pairs of rows */
        int first = 2 * ((blockIdx.x << axis.log_width) + block.line), second = first + 1;
        rows.here[block.line] = first >= count ? -1 : move.only != nullptr ? move.only[first] : first;
        rows.mirror[block.line] = second >= count ? -1 : move.only != nullptr ? move.only[second] : second;
    }
    __syncthreads();
    /* twice at most, so that every pass stands here once: the inverse, then the forward transform */
    for (bool inverse = move.inverse;; inverse = false) {
        staged_spectrum spectrum = {block, block.first_place(), inverse};
        in_place points = {block, inverse};
        if (inverse) {
            stage_pairs_in(axis, block, rows, move.spectrum);
            __syncthreads();
            inner_pass(block, spectrum, false, true);
            middle_passes(block, true);
        } else if (!move.inverse) {
            real_values(axis, block, rows, move);
            __syncthreads();
        }
        outer_pass(block, points, inverse, !inverse);
        if (!inverse) {
            middle_passes(block, false);
            inner_pass(block, spectrum, true, false);
            break;
        }
        __syncthreads();
        real_values(axis, block, rows, move);
        if (!move.forward) return;
        __syncthreads();
    }
    __syncthreads();
    stage_pairs_out(axis, block, rows, move.spectrum);
}

/* ---- launching ---- */

dim3 threads_of(const kw_axis *axis) { return dim3((unsigned)(axis->lines.workers << axis->log_width)); }

size_t shared_of(const kw_axis *axis) { return ((size_t)axis->lines.n << axis->log_width) * sizeof(float2); }

unsigned blocks_of(int64_t lines, const kw_axis *axis)
{
    return (unsigned)((lines + (1 << axis->log_width) - 1) >> axis->log_width);
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

int64_t kw_spectrum_elements(const kw_spectrum_shape *s) { return (int64_t)s->lines * s->rows * s->bins; }

int64_t kw_mixed_elements(const kw_spectrum_shape *s, kw_slot slot, int64_t own)
{
    if (slot == KW_LINES) return own * s->rows * s->bins;
    if (slot == KW_ROWS) return own * s->lines * s->bins;
    int64_t lines = s->dims == 2 ? s->lines / 2 + 1 : (int64_t)s->lines * (s->rows / 2 + 1);
    return (lines + KW_TILE_LINES - 1) / KW_TILE_LINES * KW_TILE_LINES * own;
}

kw_status kw_move_lines(const kw_axis *axis, const kw_radial *radial, const kw_line_move *move, cudaStream_t stream)
{
    const kw_spectrum_shape &s = axis->shape;
    kw_radial none = {};
    const kw_radial &r = radial != nullptr ? *radial : none;
    if (axis->slot == KW_COLUMNS) {
        unsigned blocks = blocks_of(s.dims == 2 ? s.lines / 2 + 1 : (int64_t)s.lines * (s.rows / 2 + 1), axis);
        move_halved<<<blocks, threads_of(axis), shared_of(axis), stream>>>(*axis, r, *move);
    } else {
        int64_t cross = axis->slot == KW_LINES ? s.rows : move->only != nullptr ? move->only_count : s.lines;
        int tiles = (s.bins + KW_TILE_LINES - 1) / KW_TILE_LINES;
        if (cross == 0) return KW_OK;
        dim3 blocks(blocks_of(cross * (s.bins < KW_TILE_LINES ? s.bins : KW_TILE_LINES), axis), (unsigned)tiles);
        move_plain<<<blocks, threads_of(axis), shared_of(axis), stream>>>(*axis, r, *move);
    }
    KW_CUDA(cudaGetLastError(), "a line transform");
    return KW_OK;
}

kw_status kw_move_rows(const kw_axis *axis, const kw_row_move *move, cudaStream_t stream)
{
    int64_t rows = move->only != nullptr ? move->only_count : (int64_t)axis->shape.lines * axis->shape.rows;
    if (rows == 0) return KW_OK;
    move_rows<<<blocks_of((rows + 1) / 2, axis), threads_of(axis), shared_of(axis), stream>>>(*axis, *move);
    KW_CUDA(cudaGetLastError(), "a transform of rows");
    return KW_OK;
}

kw_status kw_spectra_prepare(int64_t shared_bytes)
{
    KW_CUDA(allow(move_plain, shared_bytes), "the line transforms");
    KW_CUDA(allow(move_halved, shared_bytes), "the line transforms");
    KW_CUDA(allow(move_rows, shared_bytes), "the line transforms");
    return KW_OK;
}
