/* The k-space pseudospectral step in its classical, split-density form (README, equations 1 to 7), with whole-field
 * transforms. */
#include "sim.h"

namespace
{

/* spread = F^-1 {kappa_src F(scatter)}: of this step's values, or of a signal of 1. Uses work_0. */
kw_status spread(kw_sim *sim, const kw_device_source *source, bool of_one)
{
    kw_device *device = &sim->device;
    KW_TRY(kw_launch_scatter(device, source, of_one, device->work, sim->compute));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, device->work, device->work));
    KW_TRY(kw_launch_correction(device, device->work, sim->compute));
    return kw_fft_run(&sim->fft, KW_FFT_INVERSE_ONE, device->work, source->spread);
}

/* Spreads the additive sources: those of one signal once, the others every step. */
kw_status prepare_sources(kw_sim *sim, bool at_start)
{
    for (int64_t s = 0; s < sim->problem->source_count; s++) {
        const kw_device_source *source = &sim->sources[s];
        bool once = !source->varies;
        if (source->mode == KW_ADDITIVE && once == at_start) KW_TRY(spread(sim, source, at_start));
    }
    return KW_OK;
}

kw_status apply_sources(kw_sim *sim, bool pressure)
{
    for (int64_t s = 0; s < sim->problem->source_count; s++)
        if ((sim->sources[s].field < 0) == pressure)
            KW_TRY(kw_launch_source(&sim->device, &sim->sources[s], sim->compute));
    return KW_OK;
}

/* p where it is not made together with the densities: work_0 holds rho0 sum d_i. */
kw_status enqueue_pressure(kw_sim *sim)
{
    const kw_device *device = &sim->device;
    float2 *first = device->work, *second = device->work + device->elements;
    if (device->attenuates) KW_TRY(kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, first, first));
    if (device->disperses) {
        KW_TRY(kw_launch_total(device, sim->compute));
        KW_TRY(kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, second, second));
    }
    if (device->attenuates || device->disperses) KW_TRY(kw_launch_absorption(device, sim->compute));
    if (device->attenuates) KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ONE, first, first));
    if (device->disperses) KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ONE, second, second));
    return kw_launch_pressure(device, sim->compute);
}

} // namespace

kw_status kw_enqueue_record(kw_sim *sim)
{
    for (int r = 0; r < sim->problem->recording_count; r++)
        KW_TRY(kw_launch_record(&sim->device, &sim->recordings[r].device, sim->compute));
    return KW_OK;
}

namespace
{

kw_status enqueue_classical(kw_sim *sim)
{
    const kw_device *device = &sim->device;
    cudaStream_t stream = sim->compute;
    KW_TRY(prepare_sources(sim, false));
    KW_TRY(kw_launch_gradient(device, true, stream));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ALL, device->work, device->work));
    KW_TRY(kw_launch_velocity(device, stream));
    KW_TRY(apply_sources(sim, false));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_FORWARD_ALL, device->u, device->work));
    KW_TRY(kw_launch_divergence(device, stream));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ALL, device->work, device->work));
    KW_TRY(kw_launch_density(device, true, stream));
    KW_TRY(apply_sources(sim, true));
    if (device->split) KW_TRY(enqueue_pressure(sim));
    return kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, device->p, device->spec);
}

} // namespace

kw_status kw_enqueue_step(kw_sim *sim, bool records)
{
    KW_TRY(sim->mixed.on ? kw_mixed_step(sim, records) : enqueue_classical(sim));
    return records ? kw_enqueue_record(sim) : KW_OK;
}

kw_status kw_enqueue_start(kw_sim *sim)
{
    const kw_device *device = &sim->device;
    if (sim->mixed.on) return kw_mixed_start(sim);
    KW_TRY(prepare_sources(sim, true));
    if (!sim->problem->has_p0) return KW_OK;
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, device->p, device->spec));
    KW_TRY(kw_launch_gradient(device, false, sim->compute));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ALL, device->work, device->work));
    return kw_launch_start(device, sim->compute);
}

kw_status kw_enqueue_refresh(kw_sim *sim)
{
    const kw_device *device = &sim->device;
    if (sim->mixed.on) return kw_mixed_refresh(sim);
    if (device->absorbs) { /* p depends on the divergences too: they follow from u */
        KW_TRY(kw_fft_run(&sim->fft, KW_FFT_FORWARD_ALL, device->u, device->work));
        KW_TRY(kw_launch_divergence(device, sim->compute));
        KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ALL, device->work, device->work));
        kw_device still = *device;
        still.split = true;
        KW_TRY(kw_launch_density(&still, false, sim->compute));
    }
    KW_TRY(enqueue_pressure(sim));
    return kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, device->p, device->spec);
}
