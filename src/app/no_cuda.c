/* The backend "cuda" of a program that was built without CUDA: it only says so. */
#include "kwsim/backend.h"

static kw_status probe(const kw_options *options, kw_device_info *info)
{
    (void)options;
    (void)info;
    return kw_fail(KW_ERR_RESOURCE,
                   "CUDA is not compiled in: this kwsim was built without nvcc. Use --backend cpu, or build with the "
                   "CUDA toolkit 12.8 or newer (cmake -DKWSIM_CUDA=ON)");
}

/* Nothing but probe() is ever called: no run starts on a backend that is not usable. */
const kw_backend kw_cuda_backend = {
    .name = "cuda",
    .summary = "NVIDIA GPU with cuFFT; single precision",
    .probe = probe,
};
