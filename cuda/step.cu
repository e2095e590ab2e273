/* The k-space pseudospectral step in its classical, split-density form (README, equations 1 to 4), with whole-field
 * transforms. */
#include "sim.h"

kw_status kw_enqueue_step(kw_sim *sim)
{
    const kw_device *device = &sim->device;
    cudaStream_t stream = sim->compute;
    KW_TRY(kw_launch_gradient(device, true, stream));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ALL, device->work, device->work));
    KW_TRY(kw_launch_velocity(device, stream));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_FORWARD_ALL, device->u, device->work));
    KW_TRY(kw_launch_divergence(device, stream));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ALL, device->work, device->work));
    KW_TRY(kw_launch_density(device, stream));
    KW_TRY(kw_launch_record(device, stream));
    return kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, device->p, device->spec);
}

kw_status kw_enqueue_start(kw_sim *sim)
{
    const kw_device *device = &sim->device;
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, device->p, device->spec));
    KW_TRY(kw_launch_gradient(device, false, sim->compute));
    KW_TRY(kw_fft_run(&sim->fft, KW_FFT_INVERSE_ALL, device->work, device->work));
    return kw_launch_start(device, sim->compute);
}

kw_status kw_enqueue_refresh(kw_sim *sim)
{
    KW_TRY(kw_launch_pressure(&sim->device, sim->compute));
    return kw_fft_run(&sim->fft, KW_FFT_FORWARD_ONE, sim->device.p, sim->device.spec);
}
