#include "lines.h"

#include "digest.h"
#include "fail.h"
#include "regular.h"
#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER_BYTES = 64 };

/* ---- files that become shorter ---- */

/* Reading a mapped file beyond its end raises SIGBUS. The handler has to know whose file that is;
 * what is no file of ours, or one more than these, ends the program as it would without a
 * handler. */
enum { OPEN_MAX = 64 };
static struct open_file {
    _Atomic(const char *) path;
    _Atomic(uintptr_t) first, end;
} open_files[OPEN_MAX];

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void on_bus_error(int signal, siginfo_t *about, void *context)
{
    uintptr_t at = (uintptr_t)about->si_addr;
    const char *path = NULL;
    (void)context;
    for (size_t i = 0; i < OPEN_MAX; i++) {
        const char *its = atomic_load(&open_files[i].path);
        if (its && at >= atomic_load(&open_files[i].first) && at < atomic_load(&open_files[i].end))
            path = its;
    }
    if (!path) {
        sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return; /* to the same access again */
    }
    say(fail_program());
    say(": ");
    say(path);
    say(" could not be read to its end: it became shorter, or its disk failed\n");
    _exit(FAIL_STATUS);
}

static void note_open(const struct lines *l)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    for (size_t i = 0; i < OPEN_MAX; i++) {
        const char *none = NULL;
        if (!atomic_compare_exchange_strong(&open_files[i].path, &none, l->path)) continue;
        atomic_store(&open_files[i].first, (uintptr_t)l->file);
        atomic_store(&open_files[i].end, (uintptr_t)l->end);
        return;
    }
}

static void note_closed(const struct lines *l)
{
    for (size_t i = 0; i < OPEN_MAX; i++) {
        if (atomic_load(&open_files[i].first) != (uintptr_t)l->file) continue;
        atomic_store(&open_files[i].first, 0);
        atomic_store(&open_files[i].end, 0);
        atomic_store(&open_files[i].path, NULL);
        return;
    }
}

/* ---- several files ---- */

static struct joined {
    char *name;
    const char *const *paths;
    size_t count;
    uint64_t *first; /* the byte that each begins with */
    int fd;
} joined;

const char *lines_join(const char *const *paths, size_t count)
{
    struct joined j = {.paths = paths, .count = count, .fd = unpack_nameless()};
    uint64_t bytes = 0;
    j.first = take_memory(count, sizeof *j.first);
    for (size_t i = 0; i < count; i++) {
        struct lines l;
        lines_open(&l, paths[i]);
        size_t own = (size_t)(l.end - l.next);
        j.first[i] = bytes;
        unpack_write(j.fd, l.next, own);
        bool is_open = own > 0 && l.end[-1] != '\n';
        unpack_write(j.fd, "\n", is_open);
        bytes += own + is_open;
        lines_close(&l);
    }
    size_t room = strlen(paths[0]) + sizeof " (and 18446744073709551615 more)";
    j.name = take_memory(room, 1);
    snprintf(j.name, room, "%s (and %zu more)", paths[0], count - 1);
    joined = j;
    return joined.name;
}

/* Of those that are joined, the one that has the current line. */
static size_t file_of(const struct lines *l)
{
    size_t i = l->text ? joined.count - 1 : 0;
    while (i > 0 && l->file + joined.first[i] > l->text) i--;
    return i;
}

bool lines_next_file(struct lines *l)
{
    for (size_t i = 0; l->is_joined && l->file && i < joined.count; i++) {
        const char *first = l->file + joined.first[i];
        if (first <= l->text || first == l->end) continue;
        l->next = first;
        return true;
    }
    return false;
}

static const char *start_of(const struct lines *l)
{
    return l->is_joined ? l->file + joined.first[file_of(l)] : l->file;
}

/* Where the line is. */
static const char *place_in_joined(const struct lines *l, uint64_t *number)
{
    if (!l->text) return joined.paths[0];
    *number = 1;
    for (const char *c = start_of(l); c < l->text; c++) *number += *c == '\n';
    return joined.paths[file_of(l)];
}

/* ---- lines ---- */

/* Of the file, or of what was compressed in it. */
static int open_contents(struct lines *l)
{
    const char *why;
    if (strcmp(l->path, "-") == 0) {
        l->is_stdin = true;
        return unpack_stdin();
    }
    l->is_joined = l->path == joined.name;
    if (l->is_joined) return fcntl(joined.fd, F_DUPFD_CLOEXEC, 0);
    int fd = regular_open(l->path, &why);
    if (fd < 0) fail("%s: %s", l->path, why);
    if (fstat(fd, &l->about) != 0) fail("%s: %s", l->path, strerror(errno));
    int contents = unpack(l->path, fd, &l->about);
    close(fd);
    return contents;
}

void lines_open(struct lines *l, const char *path)
{
    *l = (struct lines){.path = path};
    int fd = open_contents(l);
    struct stat contents;
    if (fstat(fd, &contents) != 0) fail("%s: %s", path, strerror(errno));
    size_t bytes = (size_t)contents.st_size;
    if (bytes > 0) {
        void *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file == MAP_FAILED) fail("%s: %s", path, strerror(errno));
        l->file = l->next = file;
        l->end = l->file + bytes;
        note_open(l);
    }
    close(fd);
}

size_t lines_mark(const char *text, size_t length)
{
    static const char mark[] = {'\xEF', '\xBB', '\xBF'};
    bool is_mark = length >= sizeof mark && memcmp(text, mark, sizeof mark) == 0;
    return is_mark ? sizeof mark : 0;
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
    size_t mark = lines_mark(l->text, l->length);
    l->text += mark;
    l->length -= mark;
    l->number++;
    if (memchr(l->text, '\0', l->length)) lines_fail(l, LINES_ZERO_BYTE);
    return true;
}

void lines_close(struct lines *l)
{
    if (l->file) {
        note_closed(l);
        munmap((void *)(uintptr_t)l->file, (size_t)(l->end - l->file));
    }
    *l = (struct lines){0};
}

uint64_t lines_digest(const char *path, uint64_t digest)
{
    struct lines l;
    lines_open(&l, path);
    if (l.file) digest = digest_add(digest, l.file, (size_t)(l.end - l.file));
    lines_close(&l);
    return digest;
}

/* Most numbers are like "-12.25": of digits so few that they and the power of ten behind the point
 * are floats without an error, so that their quotient is what strtod() makes of it, in a tenth of
 * the time. */
static bool short_number(const char *field, size_t length, double *number)
{
    enum { DIGITS = 15 };
    static const double powers[DIGITS + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                              1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *at = field, *end = field + length;
    bool is_negative = at < end && *at == '-';
    at += is_negative;
    uint64_t digits = 0;
    unsigned count = 0, behind = 0;
    bool has_point = false;
    for (; at < end; at++) {
        if (*at == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (*at < '0' || *at > '9' || count == DIGITS) return false;
        digits = 10 * digits + (uint64_t)(*at - '0');
        count++;
        behind += has_point;
    }
    if (count == 0) return false;
    double value = (double)digits / powers[behind];
    *number = is_negative ? -value : value;
    return true;
}

bool lines_number(const char *field, size_t length, double *number)
{
    if (short_number(field, length, number)) return true;
    char text[NUMBER_BYTES], *end;
    if (length == 0 || length >= sizeof text) return false;
    memcpy(text, field, length);
    text[length] = '\0';
    if (strspn(text, "+-.0123456789eE") != length) return false; /* strtod() knows more */
    *number = strtod(text, &end);
    return *end == '\0' && isfinite(*number);
}

void lines_check_name(const struct lines *l, struct field f, const char *what)
{
    if (f.length == 0) lines_fail(l, "the %s is empty", what);
    if (memchr(f.text, '\n', f.length)) lines_fail(l, "the %s has a line end in it", what);
}

bool lines_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void lines_fail_changed(const char *path)
{
    fail("%s was changed or replaced while it was read: start again", path);
}

/* ---- data ---- */

bool lines_is_banner(const struct lines *l)
{
    size_t length = sizeof LINES_MATRIX_MARKET - 1, i = 0;
    while (i < l->length && lines_is_blank(l->text[i])) i++;
    return l->length - i >= length && strncasecmp(l->text + i, LINES_MATRIX_MARKET, length) == 0;
}

bool lines_is_passed_over(const struct lines *l)
{
    size_t i = 0;
    while (i < l->length && lines_is_blank(l->text[i])) i++;
    return i == l->length || l->text[i] == '#' || l->text[i] == '%';
}

void lines_check_end(const struct lines *l)
{
    if (memchr(l->text, '\r', l->length))
        lines_fail(l, "has a carriage return in it: lines must end with LF or CR LF");
}

bool lines_is_first(const struct lines *l)
{
    struct lines before = *l;
    before.next = start_of(l);
    while (lines_next(&before) && before.text < l->text)
        if (!lines_is_passed_over(&before)) return false;
    return true;
}

static const char *wrong_banner(const struct lines *l)
{
    if (l->is_joined)
        return "is MatrixMarket's banner: such data are one file, so give --data once";
    return lines_is_first(l)
               ? "is MatrixMarket's banner: this file must have another format"
               : "is MatrixMarket's banner: must be the first line that is no comment";
}

bool lines_is_data(const struct lines *l)
{
    if (lines_is_banner(l)) lines_fail(l, "%s", wrong_banner(l));
    if (lines_is_passed_over(l)) return false;
    lines_check_end(l);
    return true;
}

bool lines_next_data(struct lines *l)
{
    while (lines_next(l))
        if (lines_is_data(l)) return true;
    return false;
}

bool lines_word(const struct lines *l, const char **at, struct field *word)
{
    const char *end = l->text + l->length;
    while (*at < end && lines_is_blank(**at)) ++*at;
    return *at < end && **at != '#' && lines_text_word(l, at, word);
}

bool lines_text_word(const struct lines *l, const char **at, struct field *word)
{
    const char *end = l->text + l->length;
    while (*at < end && lines_is_blank(**at)) ++*at;
    if (*at == end) return false;
    word->text = *at;
    while (*at < end && !lines_is_blank(**at)) ++*at;
    word->length = (size_t)(*at - word->text);
    return true;
}

/* An empty one may have no text. */
bool field_equals(struct field a, struct field b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

bool field_is(struct field f, const char *text)
{
    return field_equals(f, (struct field){text, strlen(text)});
}

bool field_is_word(struct field f, const char *text)
{
    return f.length == strlen(text) && strncasecmp(f.text, text, f.length) == 0;
}

bool field_is_missing(struct field f)
{
    static const char *const words[] = {"",     "?",   "NA",   "NaN", "NULL",
                                        "None", "N/A", "#N/A", "<NA>"};
    for (size_t i = 0; f.length <= 4 && i < sizeof words / sizeof *words; i++)
        if (field_is_word(f, words[i])) return true;
    return false;
}

bool field_whole(struct field f, uint64_t least, uint64_t most, uint64_t *number)
{
    double value;
    if (!lines_number(f.text, f.length, &value) || value < (double)least || value > (double)most ||
        value > floor(value))
        return false;
    *number = (uint64_t)value;
    return true;
}

double lines_take_number(const struct lines *l, struct field f, const char *what)
{
    double number;
    if (!lines_number(f.text, f.length, &number))
        lines_fail(l, "\"%.*s\" is no %s: must be a number", lines_shown(f.length), f.text, what);
    if (fabs(number) > LINES_NUMBER_MAX)
        lines_fail(l, "\"%.*s\" is no %s: is too large", lines_shown(f.length), f.text, what);
    return number;
}

float lines_take_float(const struct lines *l, struct field f, const char *what)
{
    double number = lines_take_number(l, f, what);
    if (fabs(number) > (double)FLT_MAX)
        lines_fail(l, "\"%.*s\" is no %s: is too large for a float", lines_shown(f.length), f.text,
                   what);
    return (float)number;
}

uint64_t lines_take_whole(const struct lines *l, struct field f, uint64_t least, uint64_t most,
                          const char *what)
{
    uint64_t number;
    if (!field_whole(f, least, most, &number))
        lines_fail(l, "\"%.*s\" is no %s: must be a whole number from %" PRIu64 " to %" PRIu64,
                   lines_shown(f.length), f.text, what, least, most);
    return number;
}

void lines_fail(const struct lines *l, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    struct stat about;
    uint64_t number = l->number;
    const char *path = l->is_joined ? place_in_joined(l, &number) : l->path;
    if (!l->is_stdin && !l->is_joined &&
        (stat(l->path, &about) != 0 || !lines_is_same(&about, &l->about)))
        lines_fail_changed(l->path);
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fail("%s:%" PRIu64 ": %s", strcmp(path, "-") == 0 ? "stdin" : path, number, sentence);
}
