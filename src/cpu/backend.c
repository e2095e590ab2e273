/* The backend "cpu": FFTW and OpenMP threads, single and double precision. */
#include <stdio.h>
#include <string.h>

#include <fftw3.h>

#include "implementation.h"
#include "kwsim/machine.h"

static const kw_cpu_implementation *implementation(const kw_options *options)
{
    return options->precision == KW_DOUBLE ? &kw_implementation_double : &kw_implementation_single;
}

static const kw_cpu_implementation *of(const kw_sim *sim)
{
    return ((const kw_cpu_head *)(const void *)sim)->implementation;
}

static kw_status probe(const kw_options *options, kw_device_info *info)
{
    char model[96];
    kw_machine_cpu_model(model, sizeof model);
    *info = (kw_device_info){0};
    kw_machine_memory(&info->memory_free, &info->memory_total);
    snprintf(info->device, sizeof info->device, "%s, %d thread%s", model, options->threads,
             options->threads == 1 ? "" : "s");
    snprintf(info->detail, sizeof info->detail, "%s", fftwf_version);
    return KW_OK;
}

static kw_status estimate(const kw_problem *problem, const kw_options *options, kw_memory_plan *plan)
{
    return implementation(options)->estimate(problem, options, plan);
}

static kw_status create(const kw_problem *problem, const kw_options *options, const kw_field_source *source,
                        kw_sim **sim)
{
    KW_TRY(implementation(options)->create(problem, options, source, sim));
    ((kw_cpu_head *)(void *)*sim)->implementation = implementation(options);
    return KW_OK;
}

static kw_status advance(kw_sim *sim, int64_t steps) { return of(sim)->advance(sim, steps); }

static kw_status read_traces(kw_sim *sim, int recording, bool wait, void *dst, int64_t *samples)
{
    return of(sim)->read_traces(sim, recording, wait, dst, samples);
}

static kw_status read_accumulator(kw_sim *sim, int recording, int slot, int64_t first, int64_t rows, void *dst)
{
    return of(sim)->read_accumulator(sim, recording, slot, first, rows, dst);
}

static kw_status read_field(kw_sim *sim, kw_field field, const kw_box *box, void *dst)
{
    return of(sim)->read_field(sim, field, box, dst);
}

static kw_status write_field(kw_sim *sim, kw_field field, const kw_box *box, const void *src)
{
    return of(sim)->write_field(sim, field, box, src);
}

static kw_status watch(kw_sim *sim, bool wait, kw_watch *out) { return of(sim)->watch(sim, wait, out); }

static void stats(const kw_sim *sim, kw_stats *out) { of(sim)->stats(sim, out); }

static void destroy(kw_sim *sim)
{
    if (sim != NULL) of(sim)->destroy(sim);
}

const kw_backend kw_cpu_backend = {
    .name = "cpu",
    .summary = "FFTW with OpenMP threads; single and double precision",
    .probe = probe,
    .mixed_obstacle = kw_mixed_obstacle,
    .estimate = estimate,
    .create = create,
    .advance = advance,
    .read_traces = read_traces,
    .read_accumulator = read_accumulator,
    .read_field = read_field,
    .write_field = write_field,
    .watch = watch,
    .stats = stats,
    .destroy = destroy,
};
