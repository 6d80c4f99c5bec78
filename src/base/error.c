#include "base/error.h"

#include "locus.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 640 };

static _Thread_local char message[MESSAGE_BYTES];
static _Thread_local char name[96];

int error_set(int rc, const char *format, ...)
{
    /* Formatted aside first: an argument may be the message itself ("…: %s", locus_error()). */
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(message, text, sizeof message);
    return rc;
}

void error_bug(const char *file, int line, const char *sentence)
{
    fprintf(stderr, "locus: internal error at %s:%d: %s\n", file, line, sentence);
    abort();
}

const char *locus_error(void)
{
    return message;
}

const char *locus_strerror(int rc)
{
    if (rc == 0) return "success";
    if (rc > 0) return "not an error of locus";
    /* The GNU variant: returns the text, which may or may not be in `name`. Unsigned: INT_MIN has
     * no negative. */
    return strerror_r((int)(0u - (unsigned)rc), name, sizeof name);
}

/* ---- closed handles ---- */

struct closed {
    void *handle, *more;
    size_t bytes;
};

static struct {
    pthread_mutex_t mutex;
    struct closed at[CLOSED_MAX]; /* a ring: `first` is the oldest */
    size_t first, count, bytes;
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void closed_keep(void *handle, void *more, size_t bytes)
{
    pthread_mutex_lock(&kept.mutex);
    while (kept.count == CLOSED_MAX || (kept.count > 0 && kept.bytes + bytes > CLOSED_BYTES_MAX)) {
        const struct closed *oldest = &kept.at[kept.first];
        kept.bytes -= oldest->bytes;
        free(oldest->handle);
        free(oldest->more);
        kept.first = (kept.first + 1) % CLOSED_MAX;
        kept.count--;
    }
    kept.at[(kept.first + kept.count++) % CLOSED_MAX] = (struct closed){handle, more, bytes};
    kept.bytes += bytes;
    pthread_mutex_unlock(&kept.mutex);
}
