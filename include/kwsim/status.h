/* How functions of kwsim fail.
 *
 * A function that can fail returns kw_status. The value is also the exit code of the program.
 * The sentence that explains the failure is kept per thread and read with kw_error_message().
 */
#ifndef KWSIM_STATUS_H
#define KWSIM_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kw_status {
    KW_OK = 0,
    KW_ERR_RUN = 1,      /* the run failed: input or output, internal */
    KW_ERR_USAGE = 2,    /* the command line is wrong */
    KW_ERR_SCENE = 3,    /* the scene, or a file that it names, is wrong */
    KW_ERR_RESOURCE = 4, /* the backend or the memory is not available */
    KW_ERR_UNSTABLE = 5, /* the field is not finite, or grows without bound */
    KW_INTERRUPTED = 130 /* stopped by SIGINT or SIGTERM */
} kw_status;

/* Stores the message and returns `status`, so that callers write `return kw_fail(KW_ERR_RUN, "...")`. */
kw_status kw_fail(kw_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The message of the last kw_fail() in this thread; never NULL; valid until the next kw_fail(). */
const char *kw_error_message(void);

/* Passes a failure up. */
#define KW_TRY(call)                                                                                                   \
    do {                                                                                                               \
        kw_status kw_try_status_ = (call);                                                                             \
        if (kw_try_status_ != KW_OK) return kw_try_status_;                                                            \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
