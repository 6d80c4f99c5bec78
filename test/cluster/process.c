#include "process.h"

#include "common/port.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PARENT_FD = 9 };

/* ---- roles ---- */

static struct role *roles;

void role_add(struct role *r)
{
    for (const struct role *other = roles; other; other = other->next)
        if (strcmp(other->name, r->name) == 0)
            test_fail(__FILE__, __LINE__, "two roles are called %s", r->name);
    r->next = roles;
    roles = r;
}

/* glibc hands main's arguments to constructors. program --role NAME ARGUMENTS */
__attribute__((constructor(ROLE_IS_RUN))) static void run_role(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[1], "--role") != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (const struct role *r = roles; r; r = r->next)
        if (strcmp(r->name, argv[2]) == 0) {
            r->body(argv[3]);
            exit(0);
        }
    test_fail(__FILE__, __LINE__, "there is no role %s", argv[2]);
}

static void say(int fd, const char *line, size_t bytes)
{
    /* Who does not live any more is found out by waiting for it. */
    while (bytes > 0) {
        ssize_t n = send(fd, line, bytes, MSG_NOSIGNAL);
        if (n < 0) return;
        line += n;
        bytes -= (size_t)n;
    }
}

void parent_tell(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    CHECK(n >= 0 && n < LINE_BYTES - 1);
    line[n++] = '\n';
    say(PARENT_FD, line, (size_t)n);
}

bool parent_hear(char line[LINE_BYTES])
{
    for (size_t n = 0; n < LINE_BYTES; n++) {
        if (read(PARENT_FD, &line[n], 1) != 1) return false;
        if (line[n] == '\n') {
            line[n] = '\0';
            return true;
        }
    }
    return false;
}

/* ---- children ---- */

void child_start(struct child *c, const char *role, const char *format, ...)
{
    char self[] = "/proc/self/exe", flag[] = "--role", name[64], text[LINE_BYTES];
    char *arguments[] = {self, flag, name, text, NULL};
    int ends[2];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    snprintf(name, sizeof name, "%s", role);

    *c = (struct child){.role = role};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], PARENT_FD);
    CHECK_EQ(posix_spawn(&c->pid, self, &files, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    c->fd = ends[0];
}

void child_tell(struct child *c, const char *line)
{
    char text[LINE_BYTES];
    int n = snprintf(text, sizeof text, "%s\n", line);
    say(c->fd, text, (size_t)n);
}

static bool readable(int fd, double seconds)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    double end = now_s() + seconds;
    int n;
    do {
        double left = end - now_s();
        n = poll(&p, 1, left > 0 ? (int)(left * 1e3) : 0);
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

static char *line_end(struct child *c)
{
    return memchr(c->text + c->from, '\n', c->have - c->from);
}

const char *child_hear(struct child *c)
{
    memmove(c->text, c->text + c->from, c->have - c->from);
    c->have -= c->from;
    c->from = 0;
    char *end;
    while (!(end = line_end(c))) {
        if (!readable(c->fd, HANG_S))
            test_fail(__FILE__, __LINE__, "%s said nothing for %d s", c->role, HANG_S);
        ssize_t n = read(c->fd, c->text + c->have, sizeof c->text - c->have);
        if (n <= 0)
            test_fail(__FILE__, __LINE__, "%s ended when something was expected of it", c->role);
        c->have += (size_t)n;
    }
    *end = '\0';
    c->from = (size_t)(end + 1 - c->text);
    return c->text;
}

void child_expect(struct child *c, const char *part)
{
    CHECK_STR(child_hear(c), part);
}

bool child_has_spoken(struct child *c)
{
    return line_end(c) || readable(c->fd, 0);
}

void child_signal(const struct child *c, int signal)
{
    CHECK_EQ(kill(c->pid, signal), 0);
}

void child_wait(struct child *c)
{
    int status;
    double end = now_s() + HANG_S;
    while (waitpid(c->pid, &status, WNOHANG) == 0) {
        if (now_s() > end) test_fail(__FILE__, __LINE__, "%s does not end", c->role);
        sleep_s(0.005);
    }
    close(c->fd);
    if (WIFSIGNALED(status))
        test_fail(__FILE__, __LINE__, "%s was ended by signal %d", c->role, WTERMSIG(status));
    if (WEXITSTATUS(status))
        test_fail(__FILE__, __LINE__, "%s has failed: %d", c->role, WEXITSTATUS(status));
}

void child_kill(struct child *c)
{
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->fd);
}

/* ---- memory that they share ---- */

void *shared_new(size_t bytes, int *fd)
{
    int file = memfd_create("shared", MFD_CLOEXEC);
    *fd = fcntl(file, F_DUPFD, 64); /* not one of the numbers that a child's own descriptors have */
    CHECK(*fd >= 0 && ftruncate(*fd, (off_t)bytes) == 0);
    close(file);
    return shared_of(*fd, bytes);
}

void *shared_of(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

void shared_free(void *memory, size_t bytes, int fd)
{
    munmap(memory, bytes);
    close(fd);
}

/* ---- the rest ---- */

#ifdef LOCUS_TSAN
/* A sanitized program sleeps for a second at its end, in case of a late race; there are hundreds of
 * ends here. What TSAN_OPTIONS says counts more. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "atexit_sleep_ms=20";
}
#endif

void address_new(char address[ADDRESS_BYTES])
{
    snprintf(address, ADDRESS_BYTES, "127.0.0.1:%d", port_new());
}

int address_dial(const char *address)
{
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0) return fd;
    CHECK_EQ(errno, ECONNREFUSED);
    close(fd);
    return -1;
}

double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void sleep_s(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t) < 0 && errno == EINTR) continue;
}

long names_in(const char *folder)
{
    long n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

/* What malloc keeps for later use, by the load of the machine more or less, goes back first. */
static long resident_kb(void)
{
    malloc_trim(0);
    long kb = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "re");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "VmRSS:", 6) == 0) kb = strtol(line + 6, NULL, 10);
    fclose(f);
    return kb;
}

struct footprint footprint_now(void)
{
    struct footprint f = {.threads = names_in("/proc/self/task"), .resident_kb = resident_kb()};
    f.descriptors = names_in("/proc/self/fd") - 1; /* the folder itself is open meanwhile */
    return f;
}
