/* The passes of the line transforms (lines.h), for kernels to put together. A block holds 2^log_width neighbouring lines in
 * shared memory, element j of line l at j 2^log_width + l, so that the lines of a warp never meet in a bank; swizzled, the
 * lines of element j are rotated by an exclusive or with j, so that elements of one line do not meet either. A line has
 * plan.workers threads. Each pass reads and writes the same elements: one barrier between passes is enough.
 *
 * Radices are looked up once a pass where they are known at run time only; the transforms within a pass are unrolled. */
#ifndef KW_CUDA_LINES_CUH
#define KW_CUDA_LINES_CUH

#include "dft.cuh"
#include "lines.h"

namespace kw
{

/* What the compiler knows of a plan: everything, for the lengths that are most used, or nothing. One middle pass at most, 1:
 * none. */
template <int OUTER, int MIDDLE, int INNER, int LOG_WIDTH, int BLOCKS> struct fixed_radices {
    static constexpr bool fixed = true;
    static constexpr int blocks = BLOCKS; /* on a multiprocessor at once, as far as registers go */
    static constexpr int outer = OUTER, middle = MIDDLE, inner = INNER, length = OUTER * MIDDLE * INNER,
                         log_width = LOG_WIDTH, threads = length / INNER << LOG_WIDTH;
};
struct any_radices {
    static constexpr bool fixed = false;
    static constexpr int outer = 1, middle = 1, inner = 1, length = 1, log_width = 0, threads = KW_LINE_THREADS,
                         blocks = 1;
};

template <bool SWIZZLED, class RADICES = any_radices> struct line_block {
    using radices = RADICES;
    float2 *shared;
    int width_, line, worker; /* width_: log2, where it is not known before */
    const kw_lines *plan;

    __device__ __forceinline__ int log_width() const { return RADICES::fixed ? RADICES::log_width : width_; }

    __device__ __forceinline__ float2 &at(int j) const { return of_line(j, line); }
    __device__ __forceinline__ float2 &of_line(int j, int other) const
    {
        return shared[(j << log_width()) + (SWIZZLED ? other ^ (j & ((1 << log_width()) - 1)) : other)];
    }
    __device__ __forceinline__ int length() const { return RADICES::fixed ? RADICES::length : plan->n; }
    __device__ __forceinline__ int workers() const
    {
        return RADICES::fixed ? RADICES::length / RADICES::inner : plan->workers;
    }
    __device__ __forceinline__ int frequency(int m) const { return worker + m * workers(); }
    /* Where the first frequency of this thread stands; what lines.cu puts into place[worker]. */
    __device__ __forceinline__ int first_place() const
    {
        if (!RADICES::fixed) return __ldg(&plan->place[worker]);
        return worker % RADICES::outer * (RADICES::middle * RADICES::inner) + worker / RADICES::outer * RADICES::inner;
    }
    __device__ __forceinline__ int place(int f) const
    {
        if (!RADICES::fixed || RADICES::middle > 1) return __ldg(&plan->place[f]);
        return f % RADICES::outer * RADICES::inner + f / RADICES::outer;
    }
};

template <bool SWIZZLED, class RADICES = any_radices>
__device__ __forceinline__ line_block<SWIZZLED, RADICES> find_block(float2 *shared, const kw_lines &plan, int log_width)
{
    if (RADICES::fixed) log_width = RADICES::log_width;
    return {shared, log_width, (int)threadIdx.x & ((1 << log_width) - 1), (int)threadIdx.x >> log_width, &plan};
}

/* Calls function<R>(...) for a radix R that is only known at run time. */
#define KW_CASE(R, function, ...)                                                                                      \
    case R: function<R>(__VA_ARGS__); break;

/* ---- middle passes ---- */

template <int R, class Block>
__device__ __forceinline__ void middle_pass(const Block &block, int sub, int roots, float one_over_sub, bool inverse)
{
    for (int e = block.worker; e < block.length() / R; e += block.workers()) {
        int number = (int)(((float)e + 0.5f) * one_over_sub), offset = e - number * sub;
        int first = number * sub * R + offset;
        const float2 *root = block.plan->roots + roots + offset;
        float2 v[R];
#pragma unroll
        for (int m = 0; m < R; m++) v[m] = block.at(first + m * sub);
        if (inverse) {
#pragma unroll
            for (int m = 1; m < R; m++) v[m] = times_conj(v[m], __ldg(&root[m * sub]));
            dft<R, 1>::run(v);
        } else {
            dft<R, -1>::run(v);
#pragma unroll
            for (int m = 1; m < R; m++) v[m] = times(v[m], __ldg(&root[m * sub]));
        }
#pragma unroll
        for (int m = 0; m < R; m++) block.at(first + m * sub) = v[m];
    }
}

template <class Block> __device__ __forceinline__ void any_middle_pass(const Block &block, int index, bool inverse)
{
    const kw_line_pass &pass = block.plan->middle[index];
    const int sub = pass.sub, roots = pass.roots;
    switch (pass.radix) {
        KW_CASE(2, middle_pass, block, sub, roots, pass.inverse, inverse)
        KW_CASE(3, middle_pass, block, sub, roots, pass.inverse, inverse)
        KW_CASE(4, middle_pass, block, sub, roots, pass.inverse, inverse)
        KW_CASE(5, middle_pass, block, sub, roots, pass.inverse, inverse)
        KW_CASE(7, middle_pass, block, sub, roots, pass.inverse, inverse)
        KW_CASE(8, middle_pass, block, sub, roots, pass.inverse, inverse)
    }
}

/* All of them, with a barrier before each and after the last. */
template <class Block> __device__ __forceinline__ void middle_passes(const Block &block, bool inverse)
{
    using R = typename Block::radices;
    __syncthreads();
    if constexpr (R::middle > 1) {
        middle_pass<R::middle>(block, R::inner, R::length, 1.0f / R::inner, inverse);
        __syncthreads();
    } else if constexpr (!R::fixed) {
        for (int i = 0; i < block.plan->middles; i++) {
            any_middle_pass(block, inverse ? block.plan->middles - 1 - i : i, inverse);
            __syncthreads();
        }
    }
}

/* ---- the inner pass, around what happens to the frequencies of a line ----
 *
 * The forward transform's end from the block (`forward`), or nothing; then update(m, loaded, x), loaded what load(m) gave
 * early; then the inverse's beginning into the block (`inverse`). Both are of body.start(first, gap): m stands for frequency
 * first + m gap. They stand next to each other in the block, at first_place() + m. */

template <int C, class Block, class Body>
__device__ __forceinline__ void inner_pass_of(const Block &block, const Body &body, bool forward, bool inverse)
{
    float2 v[C], loaded[C];
    const int first = block.first_place();
    const auto at = body.start(block.worker, block.workers());
#pragma unroll
    for (int m = 0; m < C; m++) loaded[m] = at.load(m);
    if (forward) {
#pragma unroll
        for (int m = 0; m < C; m++) v[m] = block.at(first + m);
        dft<C, -1>::run(v);
    }
#pragma unroll
    for (int m = 0; m < C; m++)
        v[m] = at.update(m, loaded[m], forward ? v[m] : make_float2(0, 0));
    if (!inverse) return;
    dft<C, 1>::run(v);
#pragma unroll
    for (int m = 0; m < C; m++) block.at(first + m) = v[m];
}

template <class Block, class Body>
__device__ __forceinline__ void inner_pass(const Block &block, const Body &body, bool forward, bool inverse)
{
    using R = typename Block::radices;
    if constexpr (R::fixed) {
        inner_pass_of<R::inner>(block, body, forward, inverse);
    } else {
        switch (block.plan->inner) {
            KW_CASE(2, inner_pass_of, block, body, forward, inverse)
            KW_CASE(3, inner_pass_of, block, body, forward, inverse)
            KW_CASE(4, inner_pass_of, block, body, forward, inverse)
            KW_CASE(5, inner_pass_of, block, body, forward, inverse)
            KW_CASE(7, inner_pass_of, block, body, forward, inverse)
            KW_CASE(8, inner_pass_of, block, body, forward, inverse)
            KW_CASE(9, inner_pass_of, block, body, forward, inverse)
            KW_CASE(16, inner_pass_of, block, body, forward, inverse)
        }
    }
}

/* ---- the outer pass, around what happens to the points of a line ----
 *
 * The inverse's end from the block (`inverse`), else from what load(m) gives; then update(m, loaded, x); then the forward
 * transform's beginning into the block (`forward`). Both are of body.start(first, gap): m stands for point first + m gap. */

template <int A, class Block, class Body>
__device__ __forceinline__ void outer_pass_of(const Block &block, const Body &body, bool inverse, bool forward)
{
    const int sub = block.length() / A;
    for (int o = block.worker; o < sub; o += block.workers()) {
        const float2 *root = block.plan->roots + o;
        float2 v[A], loaded[A];
        const auto points = body.start(o, sub);
#pragma unroll
        for (int m = 0; m < A; m++) loaded[m] = points.load(m);
        if (inverse) {
#pragma unroll
            for (int m = 0; m < A; m++) {
                v[m] = block.at(o + m * sub);
                if (m > 0) v[m] = times_conj(v[m], __ldg(&root[m * sub]));
            }
            dft<A, 1>::run(v);
        }
#pragma unroll
        for (int m = 0; m < A; m++) v[m] = points.update(m, loaded[m], inverse ? v[m] : loaded[m]);
        if (!forward) continue;
        dft<A, -1>::run(v);
#pragma unroll
        for (int m = 0; m < A; m++) block.at(o + m * sub) = m > 0 ? times(v[m], __ldg(&root[m * sub])) : v[m];
    }
}

template <class Block, class Body>
__device__ __forceinline__ void outer_pass(const Block &block, const Body &body, bool inverse, bool forward)
{
    using R = typename Block::radices;
    if constexpr (R::fixed) {
        outer_pass_of<R::outer>(block, body, inverse, forward);
    } else {
        switch (block.plan->outer.radix) {
            KW_CASE(1, outer_pass_of, block, body, inverse, forward)
            KW_CASE(2, outer_pass_of, block, body, inverse, forward)
            KW_CASE(3, outer_pass_of, block, body, inverse, forward)
            KW_CASE(4, outer_pass_of, block, body, inverse, forward)
            KW_CASE(5, outer_pass_of, block, body, inverse, forward)
            KW_CASE(6, outer_pass_of, block, body, inverse, forward)
            KW_CASE(7, outer_pass_of, block, body, inverse, forward)
            KW_CASE(8, outer_pass_of, block, body, inverse, forward)
            KW_CASE(9, outer_pass_of, block, body, inverse, forward)
            KW_CASE(10, outer_pass_of, block, body, inverse, forward)
            KW_CASE(12, outer_pass_of, block, body, inverse, forward)
            KW_CASE(15, outer_pass_of, block, body, inverse, forward)
            KW_CASE(16, outer_pass_of, block, body, inverse, forward)
        }
    }
}

} // namespace kw

#endif
