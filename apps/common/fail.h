/*
 * fail.h - how a training program fails: with one sentence on stderr and an exit status. And memory
 * for it, without which it fails.
 *
 * Callers   any thread; when several fail at once (a lost node ends all calls) the first one speaks
 * Memory    a name; what is taken is the caller's to free()
 * Waiting   never
 */
#ifndef APPS_FAIL_H
#define APPS_FAIL_H

#include <errno.h>
#include <stddef.h>

enum { FAIL_STATUS = 1, FAIL_STATUS_USAGE = 2 };

/* Before anything else: sentences begin with the name. The text is kept by reference. */
void fail_set_program(const char *name);
const char *fail_program(void);

/* Ends the process with status 1; the peers notice. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The same with status 2, for a wrong command line. */
void fail_usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The name of an incomplete file: failing removes it, and so do signals that end the program. NULL:
 * there is none any more. */
void fail_removes(const char *path);
/* Said on stderr besides, as a line of its own, when a signal ends the program, or it fails with a
 * sentence that has `only_of`; NULL: with any. Both must stay. A line that is NULL: nothing. */
void fail_adds(const char *line, const char *only_of);
/* Said on stderr when Ctrl-C or SIGTERM ends the program, or the loss of a node: what is kept of what
 * it did. With `only_of` only of a loss whose sentence has that. Both must stay. NULL: nothing. */
void fail_keeps(const char *line, const char *only_of);
/* This signal was to end the program, which goes on for a while: if a node is lost meanwhile, that ends
 * it, without a word. A handler may call it. */
void fail_ends_by(int signal);
/* main()'s exit status: 0, unless stdout could not be written; then it fails. */
int fail_unless_printed(void);

/* With locus_error(), or what rc means. `what` names the call: "pull". */
void fail_call(int rc, const char *what) __attribute__((noreturn, cold));
/* Returns rc unless it is negative. */
static inline int must(int rc, const char *what)
{
    if (__builtin_expect(rc < 0, 0)) fail_call(rc, what);
    return rc;
}

/* The same of an intent. Without room for one its rows are accessed where they are, and the program
 * goes on more slowly. */
static inline void must_intend(int rc)
{
    if (rc != -ENOBUFS) must(rc, "intent");
}

/* Zeroed memory, aligned to 64 bytes, for `count` things of `bytes` each; never NULL. free() it. */
void *take_memory(size_t count, size_t bytes);

/* The memory with room for `count` things of `bytes` each; what is new is not zeroed. `things` says
 * what found no memory. */
void *resize_memory(void *memory, size_t count, size_t bytes, const char *things);
/* The list of so many things with room for one more: half as many more whenever it is full. */
void *make_room(void *list, size_t count, size_t *capacity, size_t bytes, const char *things);

#endif
