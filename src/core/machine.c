#include "kwsim/machine.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* First number of a one-line file; INFINITY if there is none ("max") or no file. */
static double read_number(const char *path)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL) return INFINITY;
    if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
    fclose(file);
    char *end;
    double value = strtod(text, &end);
    return end == text ? INFINITY : value;
}

/* Value in bytes of a "Name:   123 kB" line; INFINITY if there is none. */
static double read_kilobytes(const char *path, const char *name)
{
    char line[256];
    double value = INFINITY;
    FILE *file = fopen(path, "r");
    if (file == NULL) return INFINITY;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) value = 1024.0 * strtod(line + strlen(name), NULL);
    fclose(file);
    return value;
}

/* True if a comma-separated list has the word. */
static int has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return 1;
    return 0;
}

/* Path of this process in the cgroup hierarchy of a controller ("" means version 2); false if not found. */
static int find_cgroup(const char *controller, char *path, size_t size)
{
    char line[512];
    int found = 0;
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (file == NULL) return 0;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        char *first = strchr(line, ':'), *second = first != NULL ? strchr(first + 1, ':') : NULL;
        if (second == NULL) continue;
        *second = '\0';
        second[1 + strcspn(second + 1, "\n")] = '\0';
        int match = controller[0] == '\0' ? first[1] == '\0' : has_word(first + 1, controller);
        if (!match) continue;
        snprintf(path, size, "%s", second + 1);
        found = 1;
    }
    fclose(file);
    return found;
}

/* Smallest value of `limit(folder)` from the process's own cgroup up to the root of the mount. */
static double least_up(const char *mount, char *group, double (*limit)(const char *folder))
{
    double least = INFINITY;
    for (;;) {
        char folder[1024];
        snprintf(folder, sizeof folder, "%s%s", mount, group);
        least = fmin(least, limit(folder));
        char *slash = strrchr(group, '/');
        if (slash == NULL) return least;
        *slash = '\0';
    }
}

static double number_in(const char *folder, const char *name)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_number(path);
}

/* A line "name 123" of memory.stat, in bytes: file cache counts as used but is given back on demand. */
static double stat_bytes(const char *folder, const char *name)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    double value = read_kilobytes(path, name) / 1024.0;
    return isfinite(value) ? value : 0.0;
}

static double memory_left_v2(const char *folder)
{
    double used = number_in(folder, "memory.current");
    return isfinite(used) ? number_in(folder, "memory.max") - used + stat_bytes(folder, "inactive_file ") : INFINITY;
}

static double memory_left_v1(const char *folder)
{
    double used = number_in(folder, "memory.usage_in_bytes");
    double cached = stat_bytes(folder, "total_inactive_file ");
    return isfinite(used) ? number_in(folder, "memory.limit_in_bytes") - used + cached : INFINITY;
}

static double cpus_v2(const char *folder)
{
    char path[1200];
    double quota = INFINITY, period = INFINITY;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = fopen(path, "r");
    if (file == NULL) return INFINITY;
    int fields = fscanf(file, "%lf %lf", &quota, &period);
    fclose(file);
    return fields == 2 && period > 0 ? quota / period : INFINITY;
}

static double cpus_v1(const char *folder)
{
    double quota = number_in(folder, "cpu.cfs_quota_us"), period = number_in(folder, "cpu.cfs_period_us");
    return quota > 0 && period > 0 && isfinite(period) ? quota / period : INFINITY;
}

static double cgroup_limit(const char *controller, double (*v2)(const char *), double (*v1)(const char *))
{
    char group[512], mount[64];
    double limit = INFINITY;
    if (find_cgroup("", group, sizeof group)) limit = least_up("/sys/fs/cgroup", group, v2);
    if (find_cgroup(controller, group, sizeof group)) {
        snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
        limit = fmin(limit, least_up(mount, group, v1));
    }
    return limit;
}

int kw_machine_threads(void)
{
    cpu_set_t set;
    double cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    cpus = fmin(cpus, ceil(cgroup_limit("cpu", cpus_v2, cpus_v1)));
    return cpus < 1 ? 1 : (int)cpus;
}

void kw_machine_memory(double *free_bytes, double *total_bytes)
{
    *total_bytes = read_kilobytes("/proc/meminfo", "MemTotal:");
    *free_bytes = read_kilobytes("/proc/meminfo", "MemAvailable:");
    *free_bytes = fmax(0.0, fmin(*free_bytes, cgroup_limit("memory", memory_left_v2, memory_left_v1)));
}

kw_status kw_machine_need(double bytes, const char *purpose)
{
    double have, total;
    kw_machine_memory(&have, &total);
    if (bytes <= have) return KW_OK;
    return kw_fail(KW_ERR_RESOURCE, "%s need %.3g GB of memory, and %.3g GB are free", purpose, bytes / 1e9,
                   have / 1e9);
}

void kw_machine_cpu_model(char *text, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(text, size, "CPU");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, size, "%s", colon + 2);
        break;
    }
    if (file != NULL) fclose(file);
}
