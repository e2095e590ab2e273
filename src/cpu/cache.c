#include "cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void make_folders(char *path)
{
    for (char *c = path + 1; *c != '\0'; c++) {
        if (*c != '/') continue;
        *c = '\0';
        mkdir(path, 0777);
        *c = '/';
    }
}

bool kw_cache_path(const char *name, char *path, size_t size)
{
    const char *own = getenv("KWSIM_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int used = -1;
    if (own != NULL && own[0] != '\0')
        used = snprintf(path, size, "%s/%s", own, name);
    else if (xdg != NULL && xdg[0] == '/')
        used = snprintf(path, size, "%s/kwsim/%s", xdg, name);
    else if (home != NULL && home[0] == '/')
        used = snprintf(path, size, "%s/.cache/kwsim/%s", home, name);
    if (used < 0 || (size_t)used >= size) return false;
    make_folders(path);
    return true;
}
