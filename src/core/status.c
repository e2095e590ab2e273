#include "kwsim/status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[2048] = "no error";

kw_status kw_fail(kw_status status, const char *format, ...)
{
    char text[sizeof message]; /* the arguments may contain the old message */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(message, sizeof message, "%s", text);
    return status;
}

const char *kw_error_message(void) { return message; }
