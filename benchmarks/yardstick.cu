/* Ten cuFFT transforms, out of place and dense: what everybody pays who transforms whole fields on the GPU. */
#include "yardstick.h"

#include <cuda_runtime.h>
#include <cufft.h>
#include <stdint.h>
#include <stdlib.h>

struct kw_yardstick {
    cufftHandle forward, backward;
    float *real;
    cufftComplex *spectrum;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    cudaGraphExec_t graph;
};

static void ten(kw_yardstick *y)
{
    for (int i = 0; i < 5; i++) {
        cufftExecR2C(y->forward, y->real, y->spectrum);
        cufftExecC2R(y->backward, y->spectrum, y->real);
    }
}

static double seconds_between(kw_yardstick *y)
{
    float ms = 0;
    cudaEventSynchronize(y->end);
    cudaEventElapsedTime(&ms, y->begin, y->end);
    return 1e-3 * ms;
}

static kw_yardstick *make(const int n[3], bool is_double, int)
{
    if (is_double) return nullptr;
    kw_yardstick *y = static_cast<kw_yardstick *>(calloc(1, sizeof *y));
    size_t plane = (size_t)n[0] * n[1], reals = plane * n[2], bins = plane * (n[2] / 2 + 1);
    bool good = cudaStreamCreate(&y->stream) == cudaSuccess &&
                cudaMalloc(reinterpret_cast<void **>(&y->real), reals * sizeof(float)) == cudaSuccess &&
                cudaMalloc(reinterpret_cast<void **>(&y->spectrum), bins * sizeof(cufftComplex)) == cudaSuccess &&
                cufftPlan3d(&y->forward, n[0], n[1], n[2], CUFFT_R2C) == CUFFT_SUCCESS &&
                cufftPlan3d(&y->backward, n[0], n[1], n[2], CUFFT_C2R) == CUFFT_SUCCESS;
    if (!good) return nullptr;
    cufftSetStream(y->forward, y->stream);
    cufftSetStream(y->backward, y->stream);
    cudaEventCreate(&y->begin);
    cudaEventCreate(&y->end);
    cudaMemsetAsync(y->real, 0x11, reals * sizeof(float), y->stream); /* 1e-28: grows, does not overflow in ten */
    ten(y);
    cudaGraph_t graph;
    cudaStreamBeginCapture(y->stream, cudaStreamCaptureModeThreadLocal);
    ten(y);
    cudaStreamEndCapture(y->stream, &graph);
    cudaGraphInstantiate(&y->graph, graph, 0);
    cudaGraphDestroy(graph);
    cudaStreamSynchronize(y->stream);
    return y;
}

static double ten_seconds(kw_yardstick *y)
{
    enum { TIMES = 5 };
    cudaEventRecord(y->begin, y->stream);
    for (int i = 0; i < TIMES; i++) ten(y);
    cudaEventRecord(y->end, y->stream);
    return seconds_between(y) / TIMES;
}

static double ten_graph_seconds(kw_yardstick *y)
{
    enum { TIMES = 5 };
    cudaEventRecord(y->begin, y->stream);
    for (int i = 0; i < TIMES; i++) cudaGraphLaunch(y->graph, y->stream);
    cudaEventRecord(y->end, y->stream);
    return seconds_between(y) / TIMES;
}

static double copy_bandwidth(kw_yardstick *y)
{
    const size_t bytes = (size_t)1 << 30;
    char *from, *to;
    double best = 0;
    if (cudaMalloc(reinterpret_cast<void **>(&from), bytes) != cudaSuccess) return 0;
    if (cudaMalloc(reinterpret_cast<void **>(&to), bytes) != cudaSuccess) return 0;
    for (int round = 0; round < 10; round++) {
        cudaEventRecord(y->begin, y->stream);
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, y->stream);
        cudaEventRecord(y->end, y->stream);
        double rate = 2.0 * (double)bytes / seconds_between(y);
        if (rate > best) best = rate;
    }
    cudaFree(from);
    cudaFree(to);
    return best;
}

static void destroy(kw_yardstick *y)
{
    cufftDestroy(y->forward);
    cufftDestroy(y->backward);
    cudaGraphExecDestroy(y->graph);
    cudaFree(y->real);
    cudaFree(y->spectrum);
    cudaEventDestroy(y->begin);
    cudaEventDestroy(y->end);
    cudaStreamDestroy(y->stream);
    free(y);
}

extern "C" const kw_yardstick_table kw_cuda_yardstick;
const kw_yardstick_table kw_cuda_yardstick = {make, ten_seconds, ten_graph_seconds, copy_bandwidth, destroy};
