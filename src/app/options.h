/* The command line. */
#ifndef KW_APP_OPTIONS_H
#define KW_APP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kwsim/backend.h"
#include "kwsim/kwave.h"

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
    int verbosity;           /* -1 quiet, 0, 1 verbose */
    kw_kwave_request kwave;  /* for k-Wave inputs */
    bool is_kwave;           /* the field's command line: the input is a k-Wave file, whatever it looks like */
    bool asked;              /* an output was named on the field's command line */
    const char *write_kwave; /* NULL, or where to write the scene as a k-Wave input */
} kw_command;

/* Parses the arguments; prints help or version and exits 0, or explains a wrong one and exits 2. */
void kw_command_parse(int argc, char **argv, kw_command *command);

/* What --version prints; for argp. */
struct argp_state;
void kw_print_version(FILE *out, struct argp_state *state);

/* Is it the field's command line: called under a solver's name, or with --kwave? */
bool kw_command_is_kwave(int argc, char **argv);
void kw_command_parse_kwave(int argc, char **argv, kw_command *command);

#endif
