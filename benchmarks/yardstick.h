/* What a step is measured against: ten 3-D real transforms of the backend's own library, and a copy of memory. */
#ifndef KW_YARDSTICK_H
#define KW_YARDSTICK_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kw_yardstick kw_yardstick;

typedef struct kw_yardstick_table {
    /* Plans transforms of n x n x n (or of the three sizes) points; NULL if that cannot be had. */
    kw_yardstick *(*make)(const int n[3], bool is_double, int threads);
    double (*ten_seconds)(kw_yardstick *);       /* five there and five back, launched one by one */
    double (*ten_graph_seconds)(kw_yardstick *); /* the same in a graph of the device; 0 where there is no such thing */
    double (*copy_bandwidth)(kw_yardstick *); /* bytes/s read and written by a copy of one field larger than caches */
    void (*destroy)(kw_yardstick *);
} kw_yardstick_table;

extern const kw_yardstick_table kw_cpu_yardstick, kw_cuda_yardstick; /* make of the second is NULL without CUDA */

#ifdef __cplusplus
}
#endif
#endif
