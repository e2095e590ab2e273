/* The command line. */
#ifndef KW_APP_OPTIONS_H
#define KW_APP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "kwsim/backend.h"

enum { KW_MOST_OVERRIDES = 256 };

typedef struct kw_command {
    const char *scene;
    const char *output;  /* NULL: the scene's */
    const char *backend; /* "auto", or a backend's name */
    kw_options options;
    const char *overrides[KW_MOST_OVERRIDES];
    int override_count;
    int64_t steps; /* 0: the scene's */
    bool dry_run, force, list_backends, no_progress;
    int verbosity; /* -1 quiet, 0, 1 verbose */
} kw_command;

/* Parses the arguments; prints help or version and exits 0, or explains a wrong one and exits 2. */
void kw_command_parse(int argc, char **argv, kw_command *command);

#endif
