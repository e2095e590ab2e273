/* Where lines lie (spectra.h), and how whole blocks of them come in and go out. */
#ifndef KW_CUDA_SPECTRA_CUH
#define KW_CUDA_SPECTRA_CUH

#include <cuda_pipeline_primitives.h>

#include "lines.cuh"
#include "spectra.h"

namespace kw
{

enum { TILE = KW_TILE_LINES };

/* A line along lines or rows: its elements are base + j stride; of a field that keeps `own` points of the axis. */
struct plain_line {
    int tile, width, number; /* of the line in its tile */
    int other, bin;          /* wavenumbers: of the other of lines and rows, of the columns */
    bool valid;

    __device__ __forceinline__ int stride(const kw_axis &axis) const
    {
        return axis.slot == KW_LINES ? axis.shape.rows * width : width;
    }
    __device__ __forceinline__ size_t base(const kw_axis &axis, int own) const
    {
        size_t cross = axis.slot == KW_LINES ? axis.shape.rows : axis.shape.lines;
        size_t inside = axis.slot == KW_LINES ? number : (size_t)other * own * width + number % width;
        return (size_t)tile * TILE * cross * own + inside;
    }
};

/* Line `line` of this block; the grid is (blocks of a tile, tiles). Lines beyond the last repeat it and are not valid. */
__device__ __forceinline__ plain_line find_plain(const kw_axis &axis, int line, const int *only, int only_count)
{
    const kw_spectrum_shape &s = axis.shape;
    plain_line p;
    p.tile = blockIdx.y;
    p.width = min((int)TILE, s.bins - p.tile * TILE);
    int cross = axis.slot == KW_LINES ? s.rows : only != nullptr ? only_count : s.lines;
    int l = (blockIdx.x << axis.log_width) + line;
    p.valid = l < cross * p.width;
    p.number = min(l, cross * p.width - 1);
    p.other = p.number / p.width;
    p.bin = p.tile * TILE + p.number % p.width;
    if (only != nullptr) p.other = only[p.other];
    return p;
}

/* A whole line along the columns: the rows of the spectrum that it is and mirrors. */
struct halved_line {
    int number, line, row, here, mirror;
    bool valid, writes_mirror; /* no line of its own stands for the mirrored row */

    __device__ __forceinline__ size_t base(int own) const { return (size_t)(number / TILE) * own * TILE + number % TILE; }
};

__device__ __forceinline__ int halved_lines(const kw_spectrum_shape &s)
{
    return s.dims == 2 ? s.lines / 2 + 1 : s.lines * (s.rows / 2 + 1);
}

__device__ __forceinline__ halved_line find_halved(const kw_axis &axis, int line)
{
    const kw_spectrum_shape &s = axis.shape;
    halved_line h;
    int all = halved_lines(s), half = s.dims == 2 ? 1 : s.rows / 2 + 1, l = (blockIdx.x << axis.log_width) + line;
    h.valid = l < all;
    h.number = min(l, all - 1);
    h.line = h.number / half;
    h.row = h.number % half;
    int mirror_line = h.line > 0 ? s.lines - h.line : 0, mirror_row = h.row > 0 ? s.rows - h.row : 0;
    h.here = h.line * s.rows + h.row;
    h.mirror = mirror_line * s.rows + mirror_row;
    h.writes_mirror = s.dims == 2 ? mirror_line > s.lines / 2 : mirror_row > s.rows / 2;
    return h;
}

/* Rows of the lines of a block, for threads that work on others' lines; -1: there is none. */
struct block_rows {
    int here[TILE], mirror[TILE];
    bool valid[TILE], writes_mirror[TILE];

    __device__ __forceinline__ void set(int line, const halved_line &h)
    {
        here[line] = h.here;
        mirror[line] = h.mirror;
        valid[line] = h.valid;
        writes_mirror[line] = h.writes_mirror;
    }
};

/* Threads go along the bins of one row after the other: runs of 16 elements in memory. Calls body(bin, line). */
template <class Block, class Body>
__device__ __forceinline__ void for_bins(const Block &block, int bins, const Body &body)
{
    const int rest = threadIdx.x % TILE, step = blockDim.x / TILE, mask = (1 << block.log_width()) - 1;
    const int all = (bins + TILE - 1) / TILE << block.log_width();
#pragma unroll 4
    for (int q = threadIdx.x / TILE; q < all; q += step) {
        int bin = (q >> block.log_width()) * TILE + rest;
        if (bin < bins) body(bin, q & mask);
    }
}

/* Where the elements of a spectrum are: of row (line rows + row) and bin. */
struct row_places {
    size_t plane; /* elements of a tile of one bin */
    int bins;

    __device__ __forceinline__ explicit row_places(const kw_spectrum_shape &s)
        : plane((size_t)s.lines * s.rows), bins(s.bins)
    {
    }
    __device__ __forceinline__ size_t at(int row, int bin) const
    {
        int first = bin & -TILE, width = min((int)TILE, bins - first);
        return first * plane + (unsigned)(row * width + bin % TILE);
    }
};

/* Whole lines of a spectrum into the block, each frequency at its place, those above the middle still to be conjugated;
 * asynchronous: __pipeline_wait_prior() and a barrier complete it. */
template <class Block>
__device__ __forceinline__ void stage_in(const kw_axis &axis, const Block &block, const block_rows &rows,
                                         const float2 *__restrict__ spectrum)
{
    const row_places places(axis.shape);
    const int n = block.length();
    for_bins(block, n / 2 + 1, [&](int f, int line) {
        __pipeline_memcpy_async(&block.of_line(block.place(f), line), &spectrum[places.at(rows.here[line], f)],
                                sizeof(float2));
        if (f > 0 && 2 * f < n)
            __pipeline_memcpy_async(&block.of_line(block.place(n - f), line),
                                    &spectrum[places.at(rows.mirror[line], f)], sizeof(float2));
    });
}

/* Back, each entry of the spectrum once; `adds`: to what is there. Needs a barrier before. */
template <class Block>
__device__ __forceinline__ void stage_out(const kw_axis &axis, const Block &block, const block_rows &rows, bool adds,
                                          float2 *__restrict__ spectrum)
{
    const row_places places(axis.shape);
    const int n = block.length();
    for_bins(block, n / 2 + 1, [&](int f, int line) {
        if (!rows.valid[line]) return;
        size_t at = places.at(rows.here[line], f);
        float2 x = block.of_line(block.place(f), line);
        spectrum[at] = adds ? spectrum[at] + x : x;
        if (!rows.writes_mirror[line]) return;
        at = places.at(rows.mirror[line], f);
        x = block.of_line(block.place(f > 0 ? n - f : 0), line);
        x.y = -x.y;
        spectrum[at] = adds ? spectrum[at] + x : x;
    });
}

/* What stage_in() brought for frequency f of n. */
__device__ __forceinline__ float2 staged_value(float2 x, int f, int n)
{
    if (2 * f > n) x.y = -x.y;
    return x;
}

/* Row of point j in a slab; -1: it is not in it. skin = 0: all points are kept. */
__device__ __forceinline__ int slab_row(int j, int n, int skin)
{
    return skin == 0 || j < skin ? j : j >= n - skin ? j - (n - 2 * skin) : -1;
}

__device__ __forceinline__ int slab_points(int n, int skin) { return skin == 0 ? n : 2 * skin; }

__device__ __forceinline__ float radial_at(const kw_radial &r, float x)
{
    float k = r.coefficient[KW_RADIAL_DEGREE];
#pragma unroll
    for (int i = KW_RADIAL_DEGREE - 1; i >= 0; i--) k = fmaf(k, x, r.coefficient[i]);
    return k;
}

} // namespace kw

#endif
