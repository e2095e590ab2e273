/* CUDA's and cuFFT's failures as kw_status with a sentence. */
#ifndef KW_CUDA_CHECK_H
#define KW_CUDA_CHECK_H

#include <cuda_runtime.h>

#include "kwsim/status.h"

/* Explains a failed call; out of memory is KW_ERR_RESOURCE, the rest KW_ERR_RUN. */
kw_status kw_cuda_fail(cudaError_t error, const char *doing);

#define KW_CUDA(call, doing)                                                                                           \
    do {                                                                                                               \
        cudaError_t kw_cuda_error_ = (call);                                                                           \
        if (kw_cuda_error_ != cudaSuccess) return kw_cuda_fail(kw_cuda_error_, doing);                                 \
    } while (0)

#endif
