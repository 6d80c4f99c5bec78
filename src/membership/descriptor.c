#include "membership/descriptor.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool is_same(const nng_sockaddr *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)b;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)b;
    if (a->s_family == NNG_AF_INET)
        return b->ss_family == AF_INET && v4->sin_port == a->s_in.sa_port &&
               v4->sin_addr.s_addr == a->s_in.sa_addr;
    if (a->s_family == NNG_AF_INET6)
        return b->ss_family == AF_INET6 && v6->sin6_port == a->s_in6.sa_port &&
               memcmp(&v6->sin6_addr, a->s_in6.sa_addr, sizeof v6->sin6_addr) == 0;
    return false;
}

/* `theirs` NULL: it listens there. */
static bool is_of(int fd, const nng_sockaddr *ours, const nng_sockaddr *theirs)
{
    struct sockaddr_storage a = {0};
    socklen_t bytes = sizeof a;
    int listens = 0;
    if (getsockname(fd, (struct sockaddr *)&a, &bytes) || !is_same(ours, &a)) return false;
    bytes = sizeof listens;
    if (!theirs) return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens;
    bytes = sizeof a;
    return getpeername(fd, (struct sockaddr *)&a, &bytes) == 0 && is_same(theirs, &a);
}

static int find(const nng_sockaddr *ours, const nng_sockaddr *theirs)
{
    int found = -1;
    DIR *all = opendir("/proc/self/fd");
    for (const struct dirent *d; all && found < 0 && (d = readdir(all));) {
        int fd = atoi(d->d_name);
        if (fd > 2 && is_of(fd, ours, theirs)) found = fd;
    }
    if (all) closedir(all);
    return found;
}

int descriptor_of_stream(nng_stream *stream)
{
    nng_sockaddr ours, theirs;
    if (nng_stream_get_addr(stream, NNG_OPT_LOCADDR, &ours) ||
        nng_stream_get_addr(stream, NNG_OPT_REMADDR, &theirs))
        return -1;
    return find(&ours, &theirs);
}

int descriptor_of_listener(nng_stream_listener *listener)
{
    nng_sockaddr ours;
    return nng_stream_listener_get_addr(listener, NNG_OPT_LOCADDR, &ours) ? -1 : find(&ours, NULL);
}
