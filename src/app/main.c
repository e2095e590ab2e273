#include <stdio.h>

#include "options.h"
#include "report.h"
#include "run.h"

/* What was printed must have arrived. */
static kw_status end_output(kw_status status)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (written) return status;
    fprintf(stderr, "kwsim: error: cannot write to standard output%s\n",
            status == KW_OK ? "; the run itself is complete" : "");
    return status == KW_OK ? KW_ERR_RUN : status;
}

int main(int argc, char **argv)
{
    static kw_command command;
    if (kw_command_is_kwave(argc, argv))
        kw_command_parse_kwave(argc, argv, &command);
    else
        kw_command_parse(argc, argv, &command);
    kw_report_open(command.verbosity);
    if (command.list_backends) {
        kw_report_backends(&command.options);
        return end_output(KW_OK);
    }
    kw_status status = kw_run(&command);
    if (status != KW_OK) kw_report_error();
    return end_output(status);
}
