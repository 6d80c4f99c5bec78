/*
 * older_glibc.c - what the wheel's files use of glibc, and glibc 2.28 does not have.
 *
 * Linked into the wheel's library and command alone, on x86-64, and visible outside: the libraries
 * that the wheel carries find it there, too. python/backend.py has them look for names of a newer
 * glibc without a version, and checks that each such name is here or older than 2.29. It may be used
 * beside every glibc: the calls are the same.
 */
#include <fcntl.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

/* The kernel's structure is glibc's on this processor, with 64 in its name or not. */
#define STATS(bits) \
    VISIBLE int fstatat##bits(int folder, const char *restrict path, \
                              struct stat##bits *restrict got, int flags) \
    { \
        return (int)syscall(SYS_newfstatat, folder, path, got, flags); \
    } \
    VISIBLE int stat##bits(const char *restrict path, struct stat##bits *restrict got) \
    { \
        return fstatat##bits(AT_FDCWD, path, got, 0); \
    } \
    VISIBLE int lstat##bits(const char *restrict path, struct stat##bits *restrict got) \
    { \
        return fstatat##bits(AT_FDCWD, path, got, AT_SYMLINK_NOFOLLOW); \
    } \
    VISIBLE int fstat##bits(int file, struct stat##bits *got) \
    { \
        return (int)syscall(SYS_fstat, file, got); \
    }

STATS()
STATS(64)

VISIBLE pid_t gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* With one thread, locks might be left out. They never are. */
VISIBLE char __libc_single_threaded = 0;

/*
 * Since 2.34 a program leaves it to glibc to run its constructors; before, it had to say what runs
 * them. So it says it, whatever the glibc, which then does not. A shared object has no such array:
 * the loader runs its constructors.
 */
typedef void construct_fn(int, char **, char **);
typedef int start_fn(int (*)(int, char **, char **), int, char **, construct_fn *, void (*)(void),
                     void (*)(void), void *);
extern construct_fn *const __init_array_start[] __attribute__((weak, visibility("hidden")));
extern construct_fn *const __init_array_end[] __attribute__((weak, visibility("hidden")));
start_fn __real___libc_start_main, __wrap___libc_start_main;

static void construct(int n, char **words, char **environment)
{
    for (construct_fn *const *each = __init_array_start; each != __init_array_end; each++)
        (*each)(n, words, environment);
}

int __wrap___libc_start_main(int (*run)(int, char **, char **), int n, char **words,
                             construct_fn *first, void (*last)(void), void (*unload)(void),
                             void *stack)
{
    return __real___libc_start_main(run, n, words, first ? first : construct, last, unload, stack);
}
