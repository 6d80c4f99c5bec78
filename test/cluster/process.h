/*
 * process.h - real processes for a test: this program executed anew, in a role.
 *
 *     ROLE(echo)
 *     {
 *         parent_tell("you said %s", arguments);
 *     }
 *
 *     struct child c;
 *     child_start(&c, "echo", "%d", 7);
 *     child_expect(&c, "you said 7");
 *     child_wait(&c);
 *
 * Parent and child speak in lines. A child whose check fails prints why, like any test, and the
 * parent's next child_hear() or child_wait() fails. Whatever a test waits for comes within HANG_S,
 * or the test fails: that is no statement about speed. Children are executed and not only forked,
 * because nng cannot be used behind a fork.
 */
#ifndef LOCUS_TEST_PROCESS_H
#define LOCUS_TEST_PROCESS_H

#include "test.h"

#include <stdbool.h>
#include <sys/types.h>

enum { HANG_S = 150, LINE_BYTES = 1024 };

/* With a sanitizer everything takes longer, and memory does not mean the same: it keeps what was
 * freed, and shadows. */
#if defined(LOCUS_ASAN) || defined(LOCUS_TSAN)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

struct child {
    const char *role;
    pid_t pid;
    int fd;
    size_t have; /* bytes in text, whose first line was handed out up to `from` */
    size_t from;
    char text[4 * LINE_BYTES];
};

/* A child belongs to the thread that started it, and is killed when that one ends. */
void child_start(struct child *, const char *role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void child_tell(struct child *, const char *line);
/* Its next line, valid until the next call. */
const char *child_hear(struct child *);
/* The same, and it must contain `part`. */
void child_expect(struct child *, const char *part);
/* Has it said something that was not heard yet, or ended? */
bool child_has_spoken(struct child *);
void child_signal(const struct child *, int signal);
/* It must end by itself, with all its checks passed. */
void child_wait(struct child *);
/* Kills it, if it still lives. */
void child_kill(struct child *);

/* In a child. */
void parent_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The parent's next line; false when the parent has closed the connection. */
bool parent_hear(char line[LINE_BYTES]);

/* Memory that a process has with the children that it starts: they inherit the descriptor, and find it
 * by its number. */
void *shared_new(size_t bytes, int *fd);
void *shared_of(int fd, size_t bytes);
void shared_free(void *, size_t bytes, int fd);

struct role {
    const char *name;
    void (*body)(const char *arguments);
    struct role *next;
};
void role_add(struct role *);

/* Constructors: a role is run, and the process ended, before there is a main(). */
enum { ROLES_ARE_ADDED = 60000, ROLE_IS_RUN = 60001 };
#define ROLE(name) \
    static void name##__role(const char *arguments); \
    __attribute__((constructor(ROLES_ARE_ADDED))) static void name##__add(void) \
    { \
        static struct role role = {#name, name##__role, NULL}; \
        role_add(&role); \
    } \
    static void name##__role(const char *arguments)

/* ---- what tests of several nodes need besides ---- */

enum { ADDRESS_BYTES = 32 };
/* "127.0.0.1:port" with a port that nobody uses; each call gives another. */
void address_new(char address[ADDRESS_BYTES]);
/* A connection to who listens at such an address; -1: nobody does. */
int address_dial(const char *address);

double now_s(void);
void sleep_s(double seconds);
/* Until the condition holds; the test fails if that takes longer than HANG_S. */
#define AWAIT(condition) \
    for (double await_end_s = now_s() + HANG_S; !(condition); sleep_s(0.0005)) \
    CHECK(now_s() < await_end_s)

/* How many there are in a folder; 0 where there is none. */
long names_in(const char *folder);

/* Of this process: open descriptors, threads, and memory that is in use. */
struct footprint {
    long descriptors, threads, resident_kb;
};
struct footprint footprint_now(void);

#endif
