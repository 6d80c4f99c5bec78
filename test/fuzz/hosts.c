/* The file of `locus run --hosts`: whatever stands in it is a list of hosts within its bounds, or
 * refused. */
#include "input.h"

#include "../../apps/locus/hosts.c" /* NOLINT(bugprone-suspicious-include): no library has it */

#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

/* The launcher's, without printing. */
int say_and(int status, const char *format, ...)
{
    char sentence[4096];
    va_list arguments;
    va_start(arguments, format);
    MUST(vsnprintf(sentence, sizeof sentence, format, arguments) > 0);
    va_end(arguments);
    return status;
}

static void look_at(const struct hosts *all)
{
    unsigned slots = 0;
    for (size_t i = 0; i < all->count; i++) {
        MUST(*all->host[i].name && *all->host[i].name != '-' && all->host[i].slots > 0);
        slots += all->host[i].slots;
    }
    MUST(slots == all->slots && slots <= HOSTS_MAX);
    for (unsigned rank = 0; rank < slots; rank++) {
        const struct host *h = hosts_of_rank(all, rank);
        MUST(h >= all->host && h < all->host + all->count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hosts all;
    char path[64];
    int fd = memfd_create("hosts", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (hosts_read(&all, path) == 0) look_at(&all);
    hosts_free(&all);
    close(fd);
    return 0;
}
