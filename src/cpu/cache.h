/* The user's cache folder: $KWSIM_CACHE_DIR, else $XDG_CACHE_HOME/kwsim, else $HOME/.cache/kwsim. */
#ifndef KW_CPU_CACHE_H
#define KW_CPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Path of a file in the cache folder, which is made if it is not there; false if there is none to be had. */
bool kw_cache_path(const char *name, char *path, size_t size);

#endif
