#include "fft.h"

#include <cufft.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define KW_TEXT_(x) #x
#define KW_TEXT(x) KW_TEXT_(x)
#define KW_CUFFT_NAME "libcufft.so." KW_TEXT(CUFFT_VER_MAJOR)

namespace
{

/* The functions of the opened library. */
struct library {
    void *handle;
    decltype(&cufftCreate) create;
    decltype(&cufftDestroy) destroy;
    decltype(&cufftSetStream) set_stream;
    decltype(&cufftSetAutoAllocation) set_auto;
    decltype(&cufftSetWorkArea) set_work;
    decltype(&cufftGetSizeMany64) size;
    decltype(&cufftMakePlanMany64) make;
    decltype(&cufftExecR2C) forward;
    decltype(&cufftExecC2R) inverse;
    decltype(&cufftGetVersion) version;
};
library cufft;

void *open_library()
{
    const char *home = getenv("CUDA_HOME"), *path = getenv("CUDA_PATH");
    char name[4096];
    void *handle = dlopen(KW_CUFFT_NAME, RTLD_NOW | RTLD_LOCAL);
    const char *folders[] = {home, path, "/usr/local/cuda", KWSIM_CUDA_FOLDER};
    for (const char *folder : folders) {
        if (handle != nullptr || folder == nullptr) continue;
        snprintf(name, sizeof name, "%s/lib64/" KW_CUFFT_NAME, folder);
        handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    return handle;
}

template <typename F> bool find(F *function, const char *name)
{
    *function = reinterpret_cast<F>(dlsym(cufft.handle, name));
    return *function != nullptr;
}

kw_status fft_fail(cufftResult result, const char *doing)
{
    if (result == CUFFT_ALLOC_FAILED)
        return kw_fail(KW_ERR_RESOURCE,
                       "the GPU gives no memory for %s (nvidia-smi shows who uses it); try again, "
                       "--device N, or --backend cpu",
                       doing);
    return kw_fail(KW_ERR_RUN, "cuFFT failed in %s with code %d", doing, (int)result);
}

#define KW_CUFFT(call, doing)                                                                                          \
    do {                                                                                                               \
        cufftResult kw_result_ = (call);                                                                               \
        if (kw_result_ != CUFFT_SUCCESS) return fft_fail(kw_result_, doing);                                           \
    } while (0)

/* The arguments of cuFFT's advanced layout for one kind of transform. */
struct shape {
    int rank;
    long long n[3], real[3], complex[3], real_distance, complex_distance, batch;
    cufftType type;
};

shape find_shape(const kw_slots *slots, kw_fft_kind kind)
{
    shape s = {};
    long long points[3] = {slots->n[KW_LINES], slots->n[KW_ROWS], slots->n[KW_COLUMNS]};
    s.rank = slots->dims;
    for (int a = 0; a < slots->dims; a++) {
        bool columns = slots->slot[a] == KW_COLUMNS;
        s.n[a] = points[slots->slot[a]];
        s.real[a] = columns ? 2 * slots->bins : s.n[a];
        s.complex[a] = columns ? slots->bins : s.n[a];
    }
    s.complex_distance = slots->n[KW_LINES] * slots->n[KW_ROWS] * slots->bins;
    s.real_distance = 2 * s.complex_distance;
    s.batch = kind == KW_FFT_FORWARD_ONE || kind == KW_FFT_INVERSE_ONE ? 1 : slots->dims;
    s.type = kind == KW_FFT_INVERSE_ALL || kind == KW_FFT_INVERSE_ONE ? CUFFT_C2R : CUFFT_R2C;
    return s;
}

/* Calls cufftGetSizeMany64 or cufftMakePlanMany64, which take the same. */
template <typename F> cufftResult with_shape(F call, int plan, shape s, size_t *bytes)
{
    if (s.type == CUFFT_C2R)
        return call(plan, s.rank, s.n, s.complex, 1, s.complex_distance, s.real, 1, s.real_distance, s.type, s.batch,
                    bytes);
    return call(plan, s.rank, s.n, s.real, 1, s.real_distance, s.complex, 1, s.complex_distance, s.type, s.batch,
                bytes);
}

} // namespace

kw_status kw_fft_open(int *version)
{
    if (cufft.handle == nullptr) {
        cufft.handle = open_library();
        if (cufft.handle == nullptr)
            return kw_fail(KW_ERR_RESOURCE,
                           "the library %s is not found: install cuFFT %d (it comes with the CUDA toolkit), or "
                           "name its folder in LD_LIBRARY_PATH or CUDA_HOME; --backend cpu needs none of it",
                           KW_CUFFT_NAME, CUFFT_VER_MAJOR);
        bool all = find(&cufft.create, "cufftCreate") && find(&cufft.destroy, "cufftDestroy") &&
                   find(&cufft.set_stream, "cufftSetStream") && find(&cufft.set_auto, "cufftSetAutoAllocation") &&
                   find(&cufft.set_work, "cufftSetWorkArea") && find(&cufft.size, "cufftGetSizeMany64") &&
                   find(&cufft.make, "cufftMakePlanMany64") && find(&cufft.forward, "cufftExecR2C") &&
                   find(&cufft.inverse, "cufftExecC2R") && find(&cufft.version, "cufftGetVersion");
        if (!all) {
            dlclose(cufft.handle);
            cufft.handle = nullptr;
            return kw_fail(KW_ERR_RESOURCE,
                           "%s lacks a function that kwsim needs: another version of cuFFT is installed",
                           KW_CUFFT_NAME);
        }
    }
    KW_CUFFT(cufft.version(version), "asking for the version");
    return KW_OK;
}

kw_status kw_fft_work_bytes(const kw_slots *slots, size_t *bytes)
{
    *bytes = 0;
    for (int kind = 0; kind < KW_FFT_KINDS; kind++) {
        cufftHandle plan;
        size_t own = 0;
        KW_CUFFT(cufft.create(&plan), "estimating the transforms");
        cufftResult result = with_shape(cufft.size, plan, find_shape(slots, (kw_fft_kind)kind), &own);
        cufft.destroy(plan);
        KW_CUFFT(result, "estimating the transforms");
        if (own > *bytes) *bytes = own;
    }
    return KW_OK;
}

kw_status kw_fft_make(kw_fft *fft, const kw_slots *slots, cudaStream_t stream)
{
    for (int kind = 0; kind < KW_FFT_KINDS; kind++) {
        size_t own = 0;
        cufftHandle plan;
        KW_CUFFT(cufft.create(&plan), "planning the transforms");
        fft->plan[kind] = plan;
        fft->made[kind] = true;
        KW_CUFFT(cufft.set_auto(plan, 0), "planning the transforms");
        KW_CUFFT(with_shape(cufft.make, plan, find_shape(slots, (kw_fft_kind)kind), &own), "planning the transforms");
        KW_CUFFT(cufft.set_stream(plan, stream), "planning the transforms");
        if (own > fft->work_bytes) fft->work_bytes = own;
    }
    return KW_OK;
}

kw_status kw_fft_set_work(kw_fft *fft, void *work)
{
    for (int kind = 0; kind < KW_FFT_KINDS; kind++)
        KW_CUFFT(cufft.set_work(fft->plan[kind], work), "sharing the work area");
    return KW_OK;
}

kw_status kw_fft_run(const kw_fft *fft, kw_fft_kind kind, void *in, void *out)
{
    bool inverse = kind == KW_FFT_INVERSE_ALL || kind == KW_FFT_INVERSE_ONE;
    cufftResult result =
        inverse ? cufft.inverse(fft->plan[kind], static_cast<cufftComplex *>(in), static_cast<float *>(out))
                : cufft.forward(fft->plan[kind], static_cast<float *>(in), static_cast<cufftComplex *>(out));
    KW_CUFFT(result, "a transform");
    return KW_OK;
}

void kw_fft_destroy(kw_fft *fft)
{
    for (int kind = 0; kind < KW_FFT_KINDS; kind++)
        if (fft->made[kind]) cufft.destroy(fft->plan[kind]);
    *fft = {};
}
