#include "kwsim/problem.h"

#include <math.h>

static double window(kw_window window, double x)
{
    double s = sin(M_PI * x), d = x - 0.5;
    return window == KW_WINDOW_HANN ? s * s : window == KW_WINDOW_GAUSSIAN ? exp(-18.0 * d * d) : 1.0;
}

static double tone_burst(const kw_signal *s, double t)
{
    double length = s->cycles / s->frequency;
    return t <= length ? window(s->window, t / length) * sin(2.0 * M_PI * s->frequency * t + s->phase) : 0.0;
}

static double continuous(const kw_signal *s, double t)
{
    double rise = s->ramp_cycles / s->frequency, ramp = t < rise ? 0.5 - 0.5 * cos(M_PI * t / rise) : 1.0;
    return ramp * sin(2.0 * M_PI * s->frequency * t + s->phase);
}

static double gaussian_pulse(const kw_signal *s, double t)
{
    double sigma = sqrt(2.0 * M_LN2) / (M_PI * s->bandwidth * s->frequency), d = t - 4.0 * sigma;
    return d <= 4.0 * sigma ? exp(-0.5 * d * d / (sigma * sigma)) * cos(2.0 * M_PI * s->frequency * d) : 0.0;
}

static double chirp(const kw_signal *s, double t)
{
    if (t > s->duration) return 0.0;
    double turns = s->frequency * t + 0.5 * (s->end_frequency - s->frequency) * t * t / s->duration;
    return window(s->window, t / s->duration) * sin(2.0 * M_PI * turns + s->phase);
}

double kw_signal_highest(const kw_signal *signal)
{
    double widened = signal->frequency * (1.0 + 0.5 * signal->bandwidth);
    if (signal->kind == KW_SIGNAL_SAMPLES) return 0.0;
    return fmax(widened, signal->end_frequency);
}

double kw_signal_value(const kw_signal *signal, double t)
{
    double since = t - signal->delay;
    if (since < 0.0) return 0.0;
    switch (signal->kind) {
    case KW_SIGNAL_TONE_BURST:
        return signal->amplitude * tone_burst(signal, since);
    case KW_SIGNAL_CONTINUOUS:
        return signal->amplitude * continuous(signal, since);
    case KW_SIGNAL_GAUSSIAN_PULSE:
        return signal->amplitude * gaussian_pulse(signal, since);
    case KW_SIGNAL_CHIRP:
        return signal->amplitude * chirp(signal, since);
    case KW_SIGNAL_SAMPLES:
        break;
    }
    return 0.0;
}
