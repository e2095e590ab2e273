/* Half spectra of real fields, kept in tiles, and the passes over their lines (lines.h). Nothing here knows of acoustics.
 *
 * A spectrum is X[tile][line][row][16]: the bins of the columns in tiles of 16, the last one as wide as what is left, so
 * that neighbouring lines along lines and rows lie side by side. "Mixed" fields are transformed along every axis but their
 * own; along lines and rows they lie like a spectrum. Along the columns, the halved axis, whole lines are kept for half the
 * wavenumbers of the last other axis in use (rows in 3-D, lines in 2-D), [line/16][column][16]; the rest follows from
 *
 *     Y(k)[f] = X(k, f), f <= n/2;     conj X(-k, n - f), f > n/2
 *
 * A slab holds the first and the last `skin` points of a mixed field's own axis, in the same order. */
#ifndef KW_CUDA_SPECTRA_H
#define KW_CUDA_SPECTRA_H

#include "kwsim/slots.h"
#include "lines.h"

typedef struct kw_spectrum_shape {
    int dims, lines, rows, columns, bins;
} kw_spectrum_shape;

/* One active axis. */
typedef struct kw_axis {
    kw_spectrum_shape shape;
    kw_slot slot;
    kw_lines lines;
    int log_width; /* 2^log_width lines are worked on by a block */
} kw_axis;

/* Elements (float2) of a spectrum, and of a mixed field of one axis of which `own` points are kept. */
int64_t kw_spectrum_elements(const kw_spectrum_shape *shape);
int64_t kw_mixed_elements(const kw_spectrum_shape *shape, kw_slot slot, int64_t own);

/* A function of |k|^2 as a polynomial in a variable from -1 to 1 that is linear in it: the sum over the slots of
 * variable[slot][f]. */
enum { KW_RADIAL_DEGREE = 5 };
typedef struct kw_radial {
    float coefficient[KW_RADIAL_DEGREE + 1];
    const float *variable[3]; /* device, [n of slot] */
} kw_radial;

/* How lines go from a spectrum to a mixed field, or back. */
typedef struct kw_line_move {
    const float2 *from;
    float2 *to;
    bool forward;         /* mixed field to spectrum */
    bool adds;            /* to what is there */
    int skin;             /* > 0: the mixed field is a slab; forward, the rest of the line is 0 */
    float scale;          /* times */
    const float4 *factor; /* inverse: times (x, y) of factor[f], and the radial function, too; NULL: not */
    const int *only;      /* inverse along rows: the lines (first slot) that are done; NULL: all */
    int only_count;
} kw_line_move;

kw_status kw_move_lines(const kw_axis *axis, const kw_radial *radial, const kw_line_move *move, cudaStream_t stream);

/* Between real fields, [line][row][2 bins] floats, and fields transformed along the columns alone, laid out like spectra. */
typedef struct kw_row_move {
    float2 *spectrum;
    float *real;
    bool inverse, forward; /* to real, then to the spectrum; with both `real` is written if `keeps` */
    bool keeps;
    float scale;           /* times, after the inverse */
    const float *multiply; /* then times this real field; NULL: not */
    const float *divide;   /* before the forward transform, by this real field; NULL: not */
    const int *only;       /* rows (line rows + row) that are done; NULL: all */
    int only_count;
} kw_row_move;

kw_status kw_move_rows(const kw_axis *columns, const kw_row_move *move, cudaStream_t stream);

/* Lets the kernels have the shared memory that they need; once for each device. */
kw_status kw_spectra_prepare(int64_t shared_bytes);

#endif
