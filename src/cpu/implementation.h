/* What the table of functions (backend.c) knows of the two compiled precisions. */
#ifndef KW_CPU_IMPLEMENTATION_H
#define KW_CPU_IMPLEMENTATION_H

#include "kwsim/backend.h"

typedef struct kw_cpu_implementation {
    kw_status (*estimate)(const kw_problem *, const kw_options *, kw_memory_plan *);
    kw_status (*create)(const kw_problem *, const kw_options *, const kw_field_source *, kw_sim **);
    kw_status (*advance)(kw_sim *, int64_t);
    kw_status (*read_traces)(kw_sim *, int, bool, void *, int64_t *);
    kw_status (*read_accumulator)(kw_sim *, int, int, int64_t, int64_t, void *);
    kw_status (*read_field)(kw_sim *, kw_field, const kw_box *, void *);
    kw_status (*write_field)(kw_sim *, kw_field, const kw_box *, const void *);
    kw_status (*watch)(kw_sim *, bool, kw_watch *);
    void (*stats)(const kw_sim *, kw_stats *);
    void (*destroy)(kw_sim *);
} kw_cpu_implementation;

extern const kw_cpu_implementation kw_implementation_single, kw_implementation_double;

/* Every kw_sim of this backend starts with it. */
typedef struct kw_cpu_head {
    const kw_cpu_implementation *implementation;
} kw_cpu_head;

#endif
