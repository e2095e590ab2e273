#include <stdio.h>

#include "options.h"
#include "report.h"
#include "run.h"

int main(int argc, char **argv)
{
    static kw_command command;
    kw_command_parse(argc, argv, &command);
    kw_report_open(command.verbosity);
    if (command.list_backends) {
        kw_report_backends(&command.options);
        return KW_OK;
    }
    kw_status status = kw_run(&command);
    if (status != KW_OK) kw_report_error();
    if (fflush(stdout) != 0 && status == KW_OK) status = KW_ERR_RUN;
    return status;
}
