#include "lines.h"

#include "digest.h"
#include "fail.h"
#include "regular.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
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

/* ---- stdin ---- */

static bool is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

static void write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0) fail("a copy of stdin: %s", strerror(errno));
        bytes += n;
        count -= (size_t)n;
    }
}

static int copy_stdin(void)
{
    char bytes[1 << 16];
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/tmp";
    int to = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (to < 0) fail("%s: a file for stdin: %s", folder, strerror(errno));
    for (ssize_t n; (n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0;) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("stdin: %s", strerror(errno));
        write_all(to, bytes, (size_t)n);
    }
    return to;
}

/* A descriptor of its copy, which is made once for all who read it. */
static int open_stdin(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static int copy = -1;
    pthread_mutex_lock(&mutex);
    if (copy < 0) copy = copy_stdin();
    int fd = fcntl(copy, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&mutex);
    if (fd < 0) fail("stdin: %s", strerror(errno));
    return fd;
}

/* ---- lines ---- */

void lines_open(struct lines *l, const char *path, const char *form)
{
    const char *why;
    *l = (struct lines){.path = path, .form = form};
    int fd = is_stdin(path) ? open_stdin() : regular_open(path, &why);
    if (fd < 0) fail("%s: %s", path, why);
    if (fstat(fd, &l->about) != 0) fail("%s: %s", path, strerror(errno));
    size_t bytes = (size_t)l->about.st_size;
    if (bytes > 0) {
        void *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file == MAP_FAILED) fail("%s: %s", path, strerror(errno));
        l->file = l->next = file;
        l->end = l->file + bytes;
        note_open(l);
    }
    close(fd);
    if (bytes == 0 && form) lines_fail_at(path, 0, form, "is empty");
}

bool lines_step(struct lines *l)
{
    if (l->next == l->end) return false;
    size_t left = (size_t)(l->end - l->next);
    const char *stop = memchr(l->next, '\n', left);
    l->text = l->next;
    l->length = stop ? (size_t)(stop - l->next) : left;
    l->next = stop ? stop + 1 : l->end;
    l->number++;
    return true;
}

const char *lines_fault(const struct lines *l)
{
    static const char mark[] = {'\xEF', '\xBB', '\xBF'};
    if (l->length == 0) return "is empty";
    if (l->number <= 1 && l->length > 1 && memcmp(l->text, "\x1f\x8b", 2) == 0)
        return "is what gzip made: zcat FILE | makes text of it";
    if (memchr(l->text, '\0', l->length)) return "has a zero byte: is this text?";
    if (memchr(l->text, '\r', l->length)) return "has a carriage return in it: lines end with LF";
    if (l->length >= sizeof mark && memcmp(l->text, mark, sizeof mark) == 0)
        return "begins with a byte order mark";
    return NULL;
}

bool lines_next(struct lines *l)
{
    if (!lines_step(l)) return false;
    const char *fault = lines_fault(l);
    if (fault) lines_fail(l, "%s", fault);
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

bool lines_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void lines_fail_changed(const char *path)
{
    fail("%s was changed or replaced while it was read: start again", path);
}

uint64_t lines_digest(const char *path, uint64_t digest)
{
    struct lines l;
    lines_open(&l, path, NULL);
    if (l.file) digest = digest_add(digest, l.file, (size_t)(l.end - l.file));
    lines_close(&l);
    return digest;
}

/* ---- parts of a line ---- */

bool lines_fields(const struct lines *l, struct field *field, size_t count)
{
    const char *at = l->text, *end = l->text + l->length;
    for (size_t i = 0; i < count; i++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        bool is_last = i == count - 1;
        if (is_last != !tab) return false;
        const char *stop = is_last ? end : tab;
        field[i] = (struct field){at, (size_t)(stop - at)};
        if (field[i].length == 0) return false;
        at = stop + 1;
    }
    return true;
}

void lines_take_fields(const struct lines *l, struct field *field, size_t count)
{
    size_t tabs = 0;
    if (lines_fields(l, field, count)) return;
    for (size_t i = 0; i < l->length; i++) tabs += l->text[i] == '\t';
    if (tabs + 1 == count) lines_fail(l, "has an empty field");
    lines_fail(l, "has %zu field%s with tabs between, not %zu", tabs + 1, tabs ? "s" : "", count);
}

/* Such as tables begin with. */
static bool is_of_heading(struct field f)
{
    static const char *const words[] = {
        "head", "subject", "source", "src", "from", "rel",  "relation", "edge", "predicate",
        "tail", "object",  "target", "dst", "to",   "node", "class",    "label"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == f.length && strncasecmp(words[i], f.text, f.length) == 0)
            return true;
    return false;
}

void lines_refuse_heading(const struct lines *l, const struct field *field, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (l->number > 1 || !is_of_heading(field[i])) return;
    lines_fail(l, "is a heading: leave it away");
}

bool lines_word(const struct lines *l, const char **at, struct field *word)
{
    const char *end = l->text + l->length, *from = *at ? *at + 1 : l->text;
    if (*at == end) return false;
    const char *blank = memchr(from, ' ', (size_t)(end - from));
    *at = blank ? blank : end;
    *word = (struct field){from, (size_t)(*at - from)};
    return true;
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

bool field_whole(struct field f, uint64_t least, uint64_t most, uint64_t *number)
{
    enum { DIGITS = 18 };
    uint64_t value = 0;
    if (f.length == 0 || f.length > DIGITS) return false;
    for (size_t i = 0; i < f.length; i++) {
        if (f.text[i] < '0' || f.text[i] > '9') return false;
        value = 10 * value + (uint64_t)(f.text[i] - '0');
    }
    *number = value;
    return value >= least && value <= most;
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

enum { SENTENCE_BYTES = 512 };

static _Noreturn void refuse(const char *path, uint64_t number, const char *form,
                             const char *sentence)
{
    char place[32] = "";
    if (number > 0) snprintf(place, sizeof place, ":%" PRIu64 ":", number);
    if (is_stdin(path)) path = "stdin";
    if (!form) fail("%s%s %s", path, place, sentence);
    const char *program = fail_program(), *dash = strchr(program, '-');
    const char *stop = *sentence && sentence[strlen(sentence) - 1] == '?' ? "" : ".";
    fail("%s%s %s%s A line must be \"%s\"; \"locus prepare %s\" converts other forms", path, place,
         sentence, stop, form, dash ? dash + 1 : program);
}

void lines_fail(const struct lines *l, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    struct stat about;
    if (!is_stdin(l->path) && (stat(l->path, &about) != 0 || !lines_is_same(&about, &l->about)))
        lines_fail_changed(l->path);
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    refuse(l->path, l->number, l->form, sentence);
}

void lines_fail_at(const char *path, uint64_t number, const char *form, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    refuse(path, number, form, sentence);
}
