#include "options.h"

#include <argp.h>
#include <errno.h>
#include <fftw3.h>
#include <hdf5.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/machine.h"

enum {
    KEY_PRECISION = 256,
    KEY_THREADS,
    KEY_DRY_RUN,
    KEY_STEPS,
    KEY_FORCE,
    KEY_NO_PROGRESS,
    KEY_LIST,
    KEY_SET,
    KEY_BACKEND,
    KEY_DEVICE,
    KEY_KWAVE,
    KEY_WRITE_KWAVE
};

static const struct argp_option table[] = {
    {"output", 'o', "FILE", 0, "Write to FILE (default: output.file of the scene, else its name with .h5)", 0},
    {"set", KEY_SET, "KEY=VALUE", 0, "Override a key of the scene, as in --set time.cfl=0.2; may be repeated", 0},
    {"steps", KEY_STEPS, "N", 0, "Take N steps instead of what the scene says", 0},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "Check the scene, print the summary, and stop", 0},
    {"force", KEY_FORCE, NULL, 0, "Replace an existing output", 0},
    {"write-kwave", KEY_WRITE_KWAVE, "FILE", 0, "Write the scene as a k-Wave input file, and stop", 0},
    {"kwave", KEY_KWAVE, NULL, 0, "Take the command line of the field's solvers: --kwave --help", 0},
    {"backend", KEY_BACKEND, "NAME", 0, "auto, cpu or cuda (default: auto)", 1},
    {"precision", KEY_PRECISION, "NAME", 0, "single or double (default: single)", 1},
    {"threads", KEY_THREADS, "N", 0, "CPU threads (default: all that this process may use)", 1},
    {"device", KEY_DEVICE, "N", 0, "Number of the GPU (default: 0)", 1},
    {"list-backends", KEY_LIST, NULL, 0, "Say which backends are usable here, and why not", 1},
    {"quiet", 'q', NULL, 0, "Print only warnings, errors and the closing line", 2},
    {"verbose", 'v', NULL, 0, "Print more", 2},
    {"no-progress", KEY_NO_PROGRESS, NULL, 0, "Print no progress", 2},
    {0}};

static int64_t parse_count(const char *text, int64_t least, int64_t most, const char *option, struct argp_state *state)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most)
        argp_error(state, "%s: must be an integer from %lld to %lld, got \"%s\"", option, (long long)least,
                   (long long)most, text);
    return value;
}

static void add_override(kw_command *command, const char *text, struct argp_state *state)
{
    if (command->override_count == KW_MOST_OVERRIDES) argp_error(state, "--set: at most %d of them", KW_MOST_OVERRIDES);
    command->overrides[command->override_count++] = text;
}

static void set_backend(kw_command *command, const char *name, struct argp_state *state)
{
    if (strcmp(name, "auto") != 0 && kw_backend_find(name) == NULL)
        argp_error(state, "--backend: must be one of: auto cpu cuda; got \"%s\"", name);
    command->backend = name;
}

static void set_precision(kw_command *command, const char *name, struct argp_state *state)
{
    bool is_double = strcmp(name, "double") == 0;
    if (!is_double && strcmp(name, "single") != 0)
        argp_error(state, "--precision: must be single or double, got \"%s\"", name);
    command->options.precision = is_double ? KW_DOUBLE : KW_SINGLE;
}

static void finish(const kw_command *command, struct argp_state *state)
{
    if (command->scene == NULL && !command->list_backends)
        argp_error(state, "no scene is given; try: kwsim configs/ball.cfg");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    kw_command *command = state->input;
    switch (key) {
    case 'o':
        if (argument[0] == '\0') argp_error(state, "-o: the name of the output must not be empty");
        command->output = argument;
        break;
    case 'q':
        command->verbosity = -1;
        break;
    case 'v':
        command->verbosity = 1;
        break;
    case KEY_SET:
        add_override(command, argument, state);
        break;
    case KEY_STEPS:
        command->steps = parse_count(argument, 1, INT64_C(1) << 53, "--steps", state);
        break;
    case KEY_DRY_RUN:
        command->dry_run = true;
        break;
    case KEY_FORCE:
        command->force = true;
        break;
    case KEY_BACKEND:
        set_backend(command, argument, state);
        break;
    case KEY_PRECISION:
        set_precision(command, argument, state);
        break;
    case KEY_THREADS:
        command->options.threads = (int)parse_count(argument, 1, 1024, "--threads", state);
        break;
    case KEY_DEVICE:
        command->options.device = (int)parse_count(argument, 0, 1023, "--device", state);
        break;
    case KEY_LIST:
        command->list_backends = true;
        break;
    case KEY_WRITE_KWAVE:
        command->write_kwave = argument;
        break;
    case KEY_NO_PROGRESS:
        command->no_progress = true;
        break;
    case ARGP_KEY_ARG:
        if (command->scene != NULL)
            argp_error(state, "one scene at a time: \"%s\" and \"%s\"", command->scene, argument);
        command->scene = argument;
        break;
    case ARGP_KEY_END:
        finish(command, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void kw_print_version(FILE *out, struct argp_state *state)
{
    unsigned major, minor, release;
    (void)state;
    H5get_libversion(&major, &minor, &release);
    fprintf(out, "kwsim %s (%s, HDF5 %u.%u.%u, libconfig %d.%d.%d)\n", KWSIM_VERSION, fftwf_version, major, minor,
            release, LIBCONFIG_VER_MAJOR, LIBCONFIG_VER_MINOR, LIBCONFIG_VER_REVISION);
}

void kw_command_parse(int argc, char **argv, kw_command *command)
{
    static const struct argp parser = {
        table,
        parse_option,
        "SCENE.cfg\nKWAVE_INPUT.h5",
        "Simulates an acoustic field: a scene (libconfig), or a k-Wave input file, in; sensor traces (HDF5) out.\v"
        "Exit codes: 0 done, 1 run failed, 2 wrong command line, 3 wrong scene, 4 backend or memory not "
        "available, 5 went unstable, 130 interrupted. Manual: man kwsim",
        NULL,
        NULL,
        NULL};
    argp_program_version_hook = kw_print_version;
    argp_err_exit_status = KW_ERR_USAGE;
    *command =
        (kw_command){.backend = "auto", .options = {.threads = kw_machine_threads()}, .kwave = {.p = true, .start = 1}};
    argp_parse(&parser, argc, argv, 0, NULL, command);
}
