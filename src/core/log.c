#include "kwsim/log.h"

#include <stdarg.h>
#include <stdio.h>

static kw_log_sink sink;

void kw_log_set_sink(kw_log_sink new_sink) { sink = new_sink; }

void kw_log(kw_log_level level, const char *format, ...)
{
    if (sink == NULL) return;
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sink(level, text);
}
