/* The processor time of the shards' threads, which carry the library's name for them. */
#include "bench.h"

#include <dirent.h>
#include <string.h>

static bool is_shard(const char *task)
{
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    bool is = fgets(name, sizeof name, f) && strncmp(name, "locus-shard", 11) == 0;
    fclose(f);
    return is;
}

/* The first number of schedstat: nanoseconds on a processor. */
static double cpu_s(const char *task)
{
    char path[300];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%llu", &ns) != 1) ns = 0;
    fclose(f);
    return (double)ns / 1e9;
}

double shards_cpu_s(void)
{
    DIR *tasks = opendir("/proc/self/task");
    double sum = 0;
    for (struct dirent *d; tasks && (d = readdir(tasks));)
        if (d->d_name[0] != '.' && is_shard(d->d_name)) sum += cpu_s(d->d_name);
    if (tasks) closedir(tasks);
    return sum;
}
