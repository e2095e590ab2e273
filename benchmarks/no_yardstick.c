#include <stddef.h>

#include "yardstick.h"

const kw_yardstick_table kw_cuda_yardstick = {NULL, NULL, NULL, NULL, NULL}; /* built without CUDA */
