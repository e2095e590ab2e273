/* cuFFT, opened with dlopen when the GPU is asked for, so that the program starts on machines that have neither driver
 * nor cuFFT. Batches of real transforms of 1 to 3 dimensions on fields with padded rows. */
#ifndef KW_CUDA_FFT_H
#define KW_CUDA_FFT_H

#include <cuda_runtime.h>

#include "kwsim/slots.h"
#include "kwsim/status.h"

typedef enum kw_fft_kind {
    KW_FFT_FORWARD_ONE,
    KW_FFT_FORWARD_ALL,
    KW_FFT_INVERSE_ALL,
    KW_FFT_INVERSE_ONE,
    KW_FFT_KINDS
} kw_fft_kind;

/* Forward reads real rows of 2 bins floats (the first `columns` count) and writes rows of bins complex numbers; the
 * inverse goes back, destroys its input and is not scaled. Both may work in place. Fields of a batch follow each other.
 */
typedef struct kw_fft {
    int plan[KW_FFT_KINDS];
    bool made[KW_FFT_KINDS];
    size_t work_bytes; /* one work area for all plans */
} kw_fft;

/* KW_ERR_RESOURCE with a remedy if the library is not found. */
kw_status kw_fft_open(int *version);

/* Bytes of the work area, without making plans. */
kw_status kw_fft_work_bytes(const kw_slots *slots, size_t *bytes);

/* Makes the plans; `stream` runs them. "All" is a batch of slots->dims fields. */
kw_status kw_fft_make(kw_fft *fft, const kw_slots *slots, cudaStream_t stream);
kw_status kw_fft_set_work(kw_fft *fft, void *work);
kw_status kw_fft_run(const kw_fft *fft, kw_fft_kind kind, void *in, void *out);

/* Accepts a zeroed or half-made one. */
void kw_fft_destroy(kw_fft *fft);

#endif
