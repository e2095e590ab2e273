/* What a run shows: the summary before, the progress during, the closing line after. Results go to stdout, the
 * rest to stderr. */
#ifndef KW_APP_REPORT_H
#define KW_APP_REPORT_H

#include "options.h"

/* Log lines up to the verbosity go to stderr as "kwsim: warning: ...". */
void kw_report_open(int verbosity);

/* "kwsim: error: " and the message of the last failure, on stderr. */
void kw_report_error(void);

typedef struct kw_summary {
    const kw_command *command;
    const kw_problem *problem;
    const kw_backend *backend;
    const char *why; /* the backend was taken; "" if it was asked for */
    const char *output;
    kw_device_info device;
    kw_memory_plan memory;
} kw_summary;

/* To stdout for a dry run, else to stderr unless quiet. */
void kw_report_summary(const kw_summary *summary);

typedef struct kw_progress {
    bool shown, terminal;
    int64_t steps;
    double start;
    int tenth;        /* last tenth that was printed */
    double last_line; /* time of the last line on a terminal */
} kw_progress;

void kw_progress_start(kw_progress *progress, const kw_command *command, int64_t steps);
void kw_progress_update(kw_progress *progress, int64_t done);

/* Ends the line on a terminal. */
void kw_progress_end(kw_progress *progress);

/* The closing line on stdout. */
void kw_report_closing(const char *file, const kw_stats *stats, double total_seconds);

/* Every backend and whether it is usable; cannot fail. */
void kw_report_backends(const kw_options *options);

/* "1.25 GB" into text; returns text. */
const char *kw_bytes_text(double bytes, char *text, size_t size);

#endif
