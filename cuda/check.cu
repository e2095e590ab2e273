#include "check.h"

kw_status kw_cuda_fail(cudaError_t error, const char *doing)
{
    cudaGetLastError(); /* forget it where it is forgivable */
    switch (error) {
    case cudaErrorMemoryAllocation:
        return kw_fail(KW_ERR_RESOURCE,
                       "the GPU gives no memory for %s: others use it too, or took it meanwhile "
                       "(nvidia-smi shows who); try again, --device N, or --backend cpu",
                       doing);
    case cudaErrorDevicesUnavailable:
        return kw_fail(KW_ERR_RESOURCE,
                       "the GPU is busy: another program holds it exclusively (nvidia-smi shows who); try "
                       "again, --device N, or --backend cpu");
    case cudaErrorECCUncorrectable:
        return kw_fail(KW_ERR_RUN,
                       "the GPU reports an uncorrectable memory error (ECC) in %s: its results cannot be "
                       "trusted; have the card looked at",
                       doing);
    default:
        return kw_fail(KW_ERR_RUN, "the GPU failed in %s: %s (%s)", doing, cudaGetErrorString(error),
                       cudaGetErrorName(error));
    }
}
