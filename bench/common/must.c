#include "must.h"

#include "locus.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CACHE_LINE = 64 };

_Noreturn void give_up(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    _exit(1);
}

void must(int rc, const char *call)
{
    if (rc == 0) return;
    const char *message = locus_error();
    fflush(NULL); /* what is known so far */
    give_up("%s: %s%s%s", call, locus_strerror(rc), *message ? ": " : "", message);
}

void *must_alloc(size_t bytes)
{
    void *memory = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (memory != NULL) return memset(memory, 0, bytes);
    give_up("no memory for %zu MiB more; --quick needs less", bytes >> 20);
}
