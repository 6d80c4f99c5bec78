#include "lines.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER_BYTES = 64 };

void lines_open(struct lines *l, const char *path)
{
    *l = (struct lines){.path = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail("%s: %s", path, strerror(errno));
    struct stat about;
    if (fstat(fd, &about) != 0) fail("%s: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode)) fail("%s is a folder, not a file", path);
    if (!S_ISREG(about.st_mode)) fail("%s is not a regular file", path);
    if (about.st_size > 0) {
        void *file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file == MAP_FAILED) fail("%s: %s", path, strerror(errno));
        l->file = l->next = file;
        l->end = l->file + about.st_size;
    }
    close(fd);
}

bool lines_next(struct lines *l)
{
    if (l->next == l->end) return false;
    size_t left = (size_t)(l->end - l->next);
    const char *stop = memchr(l->next, '\n', left);
    l->text = l->next;
    l->length = stop ? (size_t)(stop - l->next) : left;
    l->next = stop ? stop + 1 : l->end;
    if (l->length > 0 && l->text[l->length - 1] == '\r') l->length--;
    l->number++;
    return true;
}

void lines_close(struct lines *l)
{
    if (l->file) munmap((void *)(uintptr_t)l->file, (size_t)(l->end - l->file));
    *l = (struct lines){0};
}

size_t lines_split(const struct lines *l, char separator, const char **fields, size_t *lengths, size_t max)
{
    const char *at = l->text, *end = l->text + l->length;
    size_t count = 0;
    for (;;) {
        const char *stop = memchr(at, separator, (size_t)(end - at));
        if (count == max) return max + 1;
        fields[count] = at;
        lengths[count++] = (size_t)((stop ? stop : end) - at);
        if (!stop) return count;
        at = stop + 1;
    }
}

bool lines_number(const char *field, size_t length, double *number)
{
    char text[NUMBER_BYTES], *end;
    if (length == 0 || length >= sizeof text) return false;
    memcpy(text, field, length);
    text[length] = '\0';
    *number = strtod(text, &end);
    return *end == '\0' && isfinite(*number);
}

void lines_fail(const struct lines *l, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fail("%s:%" PRIu64 ": %s", l->path, l->number, sentence);
}
