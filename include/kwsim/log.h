/* Where library code says things that are not failures. It never prints itself: the program sets the sink. */
#ifndef KWSIM_LOG_H
#define KWSIM_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kw_log_level { KW_LOG_WARNING, KW_LOG_INFO, KW_LOG_DETAIL } kw_log_level;

typedef void (*kw_log_sink)(kw_log_level level, const char *text);

/* Sets the sink for the whole process; NULL drops everything (the start). */
void kw_log_set_sink(kw_log_sink sink);

void kw_log(kw_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
