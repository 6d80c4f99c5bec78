#include "common/port.h"

#include "test.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Below the range from which the kernel takes the ports of outgoing connections. */
enum { PORT_MIN = 10000, PORT_MAX = 32000 };

/* A name in the kernel's own space, where only one process has it at a time; it goes with the
 * process. */
static bool reserve(int port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int bytes = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "locus-test-port-%d", port);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)bytes);
    if (bind(fd, (struct sockaddr *)&name, length) == 0) return true;
    close(fd);
    return false;
}

/* Of others than tests. */
static bool is_free(int port)
{
    const int on = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool is_free = bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    close(fd);
    return is_free;
}

static int next_port(void)
{
    static unsigned next;
    unsigned n = (unsigned)getpid() * 31 + __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
    return PORT_MIN + (int)(n % (PORT_MAX - PORT_MIN));
}

int port_new(void)
{
    return port_new_row(1);
}

/* What was reserved of a row that is not free stays so: there are enough. */
int port_new_row(int count)
{
    int first = 0, have = 0;
    while (have < count) {
        int port = next_port();
        if (have == 0 || port != first + have) first = port, have = 0;
        have = reserve(port) && is_free(port) ? have + 1 : 0;
    }
    return first;
}
