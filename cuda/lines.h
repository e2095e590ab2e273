/* Plans of the line transforms: complex transforms of many neighbouring lines in shared memory, for lengths 2^a 3^b 5^c 7^d
 * up to KW_LINE_MOST. Nothing here knows of acoustics.
 *
 * A length is n = outer * middle[0] * middle[1] ... * inner. Forward, the passes go from `outer` to `inner`, in place
 * (decimation in frequency: Gentleman & Sande 1966), and frequency f then stands at place[f]; the inverse goes back
 * (decimation in time) and undoes the order. So nothing is ever sorted: what is done to a spectrum is done where it is. */
#ifndef KW_CUDA_LINES_H
#define KW_CUDA_LINES_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "kwsim/status.h"

enum { KW_LINE_MOST = 2048, KW_MOST_MIDDLES = 8, KW_TILE_LINES = 16, KW_LINE_THREADS = 256 };

typedef struct kw_line_pass {
    int radix;
    int size;      /* points of a block before the pass; its sub-blocks have `sub` */
    int sub;       /* size / radix */
    int roots;     /* where its roots begin in the table: [radix][sub] of exp(-2 pi i m offset/size) */
    float inverse; /* 1 / sub */
} kw_line_pass;

typedef struct kw_lines {
    int n, inner; /* inner = 0: there is no plan for this length */
    int workers;  /* n / inner threads work on a line */
    kw_line_pass outer, middle[KW_MOST_MIDDLES];
    int middles;
    int root_count;              /* of all passes */
    const float2 *roots;         /* device, [root_count] */
    const unsigned short *place; /* device, [n] */
} kw_lines;

/* Chooses the radices, or sets inner = 0; no tables yet. */
kw_lines kw_lines_plan(int64_t n);

/* The plan of these radices; middle = 1: none. */
kw_lines kw_lines_of(int outer, int middle, int inner);

/* Fills the host copies of a plan's tables: root[2 root_count] in double, place[n]. */
void kw_lines_tables(const kw_lines *lines, double *root, unsigned short *place);

/* Lines that a block takes at once: 16, 8, 4, 2 or 1, as threads and shared memory allow, of which a point takes `bytes`. */
int kw_lines_width(const kw_lines *lines, int64_t shared_bytes, int bytes);

#endif
