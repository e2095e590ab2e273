/* A run from the command to the file. */
#ifndef KW_APP_RUN_H
#define KW_APP_RUN_H

#include "options.h"

/* Loads, checks, simulates, records. The status is the exit code; the message is for the user. */
kw_status kw_run(const kw_command *command);

#endif
