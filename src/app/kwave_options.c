/* The command line of the field's solvers. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/machine.h"
#include "options.h"

enum {
    KEY_KWAVE = 512,
    KEY_P_RMS,
    KEY_P_MAX,
    KEY_P_MIN,
    KEY_P_MAX_ALL,
    KEY_P_MIN_ALL,
    KEY_P_FINAL,
    KEY_U_CENTRED,
    KEY_U_RMS,
    KEY_U_MAX,
    KEY_U_MIN,
    KEY_U_MAX_ALL,
    KEY_U_MIN_ALL,
    KEY_U_FINAL,
    KEY_COPY_MASK,
    KEY_BENCHMARK,
    KEY_VERBOSE,
    KEY_CHECKPOINT,
    KEY_BACKEND,
    KEY_PRECISION,
    KEY_OTHER
};

static const struct argp_option table[] = {
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 'i', "FILE", 0, "k-Wave input file", 0},
    {NULL, 'o', "FILE", 0, "Output file; an existing one is replaced", 0},
    {NULL, 't', "N", 0, "CPU threads", 0},
    {NULL, 'g', "N", 0, "Number of the GPU", 0},
    {NULL, 'r', "PERCENT", 0, "Progress interval; kwsim shows its own", 0},
    {NULL, 'c', "LEVEL", 0, "Compression of the output, 0 to 9 (default: 0)", 0},
    {NULL, 's', "STEP", 0, "First recorded step, from 1 (default: 1)", 0},
    {"p_raw", 'p', NULL, 0, "Pressure at the sensors (the default if nothing else is asked for)", 1},
    {"p_rms", KEY_P_RMS, NULL, 0, "Its rms, and so on", 1},
    {"p_max", KEY_P_MAX, NULL, 0, NULL, 1},
    {"p_min", KEY_P_MIN, NULL, 0, NULL, 1},
    {"p_max_all", KEY_P_MAX_ALL, NULL, 0, NULL, 1},
    {"p_min_all", KEY_P_MIN_ALL, NULL, 0, NULL, 1},
    {"p_final", KEY_P_FINAL, NULL, 0, NULL, 1},
    {"u_raw", 'u', NULL, 0, "Velocities at the sensors, staggered", 1},
    {"u_non_staggered_raw", KEY_U_CENTRED, NULL, 0, NULL, 1},
    {"u_rms", KEY_U_RMS, NULL, 0, NULL, 1},
    {"u_max", KEY_U_MAX, NULL, 0, NULL, 1},
    {"u_min", KEY_U_MIN, NULL, 0, NULL, 1},
    {"u_max_all", KEY_U_MAX_ALL, NULL, 0, NULL, 1},
    {"u_min_all", KEY_U_MIN_ALL, NULL, 0, NULL, 1},
    {"u_final", KEY_U_FINAL, NULL, 0, NULL, 1},
    {"copy_sensor_mask", KEY_COPY_MASK, NULL, 0, "Repeat the sensor mask in the output", 1},
    {"benchmark", KEY_BENCHMARK, "STEPS", 0, "Take so many steps", 2},
    {"verbose", KEY_VERBOSE, "LEVEL", 0, "0, 1 or 2", 2},
    {"checkpoint_file", KEY_CHECKPOINT, "FILE", OPTION_HIDDEN, NULL, 2},
    {"checkpoint_interval", KEY_CHECKPOINT, "SECONDS", OPTION_HIDDEN, NULL, 2},
    {"checkpoint_timesteps", KEY_CHECKPOINT, "STEPS", OPTION_HIDDEN, NULL, 2},
    {"kwave", KEY_KWAVE, NULL, 0, "Take this command line (implied by the names kspaceFirstOrder-OMP and -CUDA)", 3},
    {"backend", KEY_BACKEND, "NAME", 0, "auto, cpu or cuda: kwsim's own", 3},
    {"precision", KEY_PRECISION, "NAME", 0, "single or double: kwsim's own", 3},
    {"frequency", KEY_OTHER, "HZ", OPTION_HIDDEN, NULL, 4},
    {"period", KEY_OTHER, "SAMPLES", OPTION_HIDDEN, NULL, 4},
    {"mos", KEY_OTHER, "N", OPTION_HIDDEN, NULL, 4},
    {"harmonics", KEY_OTHER, "N", OPTION_HIDDEN, NULL, 4},
    {"block_size", KEY_OTHER, "N", OPTION_HIDDEN, NULL, 4},
    {"no_overlap", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"40-bit_complex", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"post", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"p_c", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"u_c", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"u_non_staggered_c", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"I_avg", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"I_avg_c", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"Q_term", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {"Q_term_c", KEY_OTHER, NULL, OPTION_HIDDEN, NULL, 4},
    {0}};

static int64_t number(const char *text, int64_t least, int64_t most, const char *option, struct argp_state *state)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most)
        argp_error(state, "%s: must be an integer from %lld to %lld, got \"%s\"", option, (long long)least,
                   (long long)most, text);
    return value;
}

/* The flag that a key sets, or NULL. */
static bool *find_flag(kw_kwave_request *q, int key)
{
    switch (key) {
    case 'p':
        return &q->p;
    case 'u':
        return &q->u;
    case KEY_P_RMS:
        return &q->p_rms;
    case KEY_P_MAX:
        return &q->p_max;
    case KEY_P_MIN:
        return &q->p_min;
    case KEY_P_MAX_ALL:
        return &q->p_max_all;
    case KEY_P_MIN_ALL:
        return &q->p_min_all;
    case KEY_P_FINAL:
        return &q->p_final;
    case KEY_U_CENTRED:
        return &q->u_non_staggered;
    case KEY_U_RMS:
        return &q->u_rms;
    case KEY_U_MAX:
        return &q->u_max;
    case KEY_U_MIN:
        return &q->u_min;
    case KEY_U_MAX_ALL:
        return &q->u_max_all;
    case KEY_U_MIN_ALL:
        return &q->u_min_all;
    case KEY_U_FINAL:
        return &q->u_final;
    default:
        return NULL;
    }
}

static void set_progress(const char *text, struct argp_state *state)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || *end != '\0' || !(percent >= 0.0 && percent <= 100.0))
        argp_error(state, "-r: must be a percentage from 0 to 100, got \"%s\"", text);
}

static void set_backend(kw_command *command, const char *name, struct argp_state *state)
{
    if (strcmp(name, "auto") != 0 && kw_backend_find(name) == NULL)
        argp_error(state, "--backend: must be one of: auto cpu cuda; got \"%s\"", name);
    command->backend = name;
}

static void end(kw_command *command, struct argp_state *state)
{
    if (command->scene == NULL) argp_error(state, "-i: no input file is given");
    if (command->output == NULL) argp_error(state, "-o: no output file is given");
    if (!command->asked) command->kwave.p = true;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    kw_command *command = state->input;
    kw_kwave_request *q = &command->kwave;
    bool *flag = find_flag(q, key);
    if (flag != NULL) {
        *flag = command->asked = true;
        return 0;
    }
    switch (key) {
    case 'i':
        command->scene = argument;
        break;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        break;
    case 'o':
        if (argument[0] == '\0') argp_error(state, "-o: the name of the output must not be empty");
        command->output = argument;
        break;
    case 't':
        command->options.threads = (int)number(argument, 1, 1024, "-t", state);
        break;
    case 'g':
        command->options.device = (int)number(argument, 0, 1023, "-g", state);
        break;
    case 'r':
        set_progress(argument, state);
        break;
    case 'c':
        q->compression = (int)number(argument, 0, 9, "-c", state);
        break;
    case 's':
        q->start = number(argument, 1, INT64_C(1) << 53, "-s", state);
        break;
    case KEY_COPY_MASK:
        q->copy_mask = true;
        break;
    case KEY_BENCHMARK:
        q->steps = number(argument, 1, INT64_C(1) << 53, "--benchmark", state);
        break;
    case KEY_VERBOSE:
        command->verbosity = number(argument, 0, 2, "--verbose", state) > 0;
        break;
    case KEY_BACKEND:
        set_backend(command, argument, state);
        break;
    case KEY_PRECISION:
        if (strcmp(argument, "single") != 0 && strcmp(argument, "double") != 0)
            argp_error(state, "--precision: must be single or double, got \"%s\"", argument);
        command->options.precision = strcmp(argument, "double") == 0 ? KW_DOUBLE : KW_SINGLE;
        break;
    case KEY_CHECKPOINT:
        argp_error(state, "--checkpoint_*: kwsim has no checkpoints; leave these options out");
        break;
    case KEY_OTHER:
        argp_error(state, "%s: kwsim does not do this", state->argv[state->next - 1]);
        break;
    case KEY_KWAVE:
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is no option; the input goes with -i", argument);
        break;
    case ARGP_KEY_END:
        end(command, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

bool kw_command_is_kwave(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL, *name = slash != NULL ? slash + 1
                                                                         : argc > 0    ? argv[0]
                                                                                       : "";
    if (strncmp(name, "kspaceFirstOrder", 16) == 0) return true;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--kwave") == 0) return true;
    return false;
}

void kw_command_parse_kwave(int argc, char **argv, kw_command *command)
{
    static const struct argp parser = {
        table,
        parse_option,
        NULL,
        "Runs a k-Wave input file with kwsim: the options and the output are those of the field's C++ solvers; exit "
        "codes are kwsim's, 0 for success.\vManual: man kwsim, README \"Coming from k-Wave\"",
        NULL,
        NULL,
        NULL};
    const char *cuda = argc > 0 ? strstr(argv[0], "kspaceFirstOrder-CUDA") : NULL;
    const char *omp = argc > 0 ? strstr(argv[0], "kspaceFirstOrder-OMP") : NULL;
    argp_program_version_hook = kw_print_version;
    argp_err_exit_status = KW_ERR_USAGE;
    *command = (kw_command){.backend = cuda != NULL  ? "cuda"
                                       : omp != NULL ? "cpu"
                                                     : "auto",
                            .options = {.threads = kw_machine_threads()},
                            .kwave = {.start = 1},
                            .is_kwave = true,
                            .force = true};
    static char name[] = "kwsim --kwave"; /* "Try `kwsim --kwave --help'" */
    if (cuda == NULL && omp == NULL && argc > 0) argv[0] = name;
    argp_parse(&parser, argc, argv, 0, NULL, command);
}
