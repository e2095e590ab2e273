/* One source, two precisions: the files of this folder that include real.h are compiled with KW_CPU_DOUBLE 0 and
 * 1. KW(name) is the name of this precision's function, FFTW(name) that of FFTW. */
#ifndef KW_CPU_REAL_H
#define KW_CPU_REAL_H

#include <fftw3.h>

#if KW_CPU_DOUBLE
typedef double kw_real;
#define KW(name) kw_##name##_double
#define FFTW(name) fftw_##name
#else
typedef float kw_real;
#define KW(name) kw_##name##_single
#define FFTW(name) fftwf_##name
#endif

typedef FFTW(complex) kw_complex; /* interleaved real and imaginary part */

/* Leaf loops are compiled for several vector widths; the machine's is picked when the program is loaded. The
 * result is the same: nothing is contracted or reordered. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(KW_SANITIZE)
#define KW_SIMD __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KW_SIMD
#endif

#endif
