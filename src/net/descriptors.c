#include "net/descriptors.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/resource.h>

/* -1: nobody can tell. */
static long count_open(void)
{
    long count = -3; /* ".", "..", and the folder itself */
    DIR *all = opendir("/proc/self/fd");
    if (!all) return errno == EMFILE || errno == ENFILE ? LONG_MAX : -1;
    while (readdir(all)) count++;
    closedir(all);
    return count;
}

bool descriptors_suffice(unsigned more)
{
    struct rlimit limit;
    long open = count_open();
    if (open < 0 || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= LONG_MAX) return true;
    return open <= (long)limit.rlim_cur - (long)more;
}

int descriptors_lacking(int error, unsigned peers, unsigned shards)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    return error_set(
        -error,
        "too few descriptors: the links to %u nodes need %u; raise `ulimit -n`, which is %llu",
        peers, peers * shards, (unsigned long long)limit.rlim_cur);
}
