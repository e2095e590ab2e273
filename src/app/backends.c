#include "kwsim/backend.h"

#include <string.h>

extern const kw_backend kw_cpu_backend;
extern const kw_backend kw_cuda_backend; /* without CUDA: a stub that says so */

static const kw_backend *const backends[] = {&kw_cuda_backend, &kw_cpu_backend};

const kw_backend *const *kw_backends(int *count)
{
    *count = (int)(sizeof backends / sizeof backends[0]);
    return backends;
}

const kw_backend *kw_backend_find(const char *name)
{
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (strcmp(backends[i]->name, name) == 0) return backends[i];
    return NULL;
}
