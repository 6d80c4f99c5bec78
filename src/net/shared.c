#include "net/shared.h"

#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm"
#define PREFIX "locus-"
enum { PATH_BYTES = sizeof FOLDER + 256 };

/* One direction. Each line is written by one end, but for the wishes, which the other one grants.
 * */
struct ring {
    _Alignas(64) uint64_t written;
    _Alignas(64) uint64_t read;
    _Alignas(64) uint32_t reader_sleeps;
    uint32_t wants_room; /* the writer sleeps until something is read */
};

/* The beginning of a file; the bytes of the one ring and of the other one follow. */
struct file {
    _Alignas(4096) struct ring ring[2];
};

struct shared {
    struct file *file;
    size_t size; /* of a ring */
    struct ring *in, *out;
    unsigned char *in_bytes, *out_bytes;
    uint64_t read, written;       /* ours */
    uint64_t seen_read;           /* the peer's, as it was when there was no room */
    bool is_cut;                  /* atomic: the file has become shorter; what is mapped is ours */
    char name[SHARED_TEXT_BYTES]; /* to be removed; empty: the peer has done it */
};

size_t shared_ring_bytes(unsigned nodes)
{
    size_t bytes = SHARED_RING_MAX;
    while (bytes > SHARED_RING_MIN && bytes * nodes > SHARED_NODE_BYTES) bytes /= 2;
    return bytes;
}

/* ---- files ---- */

bool shared_place(char place[SHARED_TEXT_BYTES])
{
    struct stat at;
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f) return false;
    bool is_there = fscanf(f, "%63s", boot) == 1 && stat(FOLDER, &at) == 0;
    fclose(f);
    if (!is_there || access(FOLDER, R_OK | W_OK | X_OK)) return false;
    snprintf(place, SHARED_TEXT_BYTES, "%s %llx %llx", boot, (unsigned long long)at.st_dev,
             (unsigned long long)at.st_ino);
    return true;
}

static void path_of(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, FOLDER "/%s", name);
}

static void remove_name(const char *name)
{
    char path[PATH_BYTES];
    path_of(name, path);
    unlink(path);
}

/* Of processes that were killed between shared_create and the peer's shared_open. One in another
 * namespace of processes seems dead; if it has just begun, its link will do without. */
static void remove_leftovers(void)
{
    static bool was_done; /* once in a process is enough */
    if (__atomic_exchange_n(&was_done, true, __ATOMIC_RELAXED)) return;
    DIR *d = opendir(FOLDER);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        long pid = strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0
                       ? strtol(e->d_name + strlen(PREFIX), NULL, 10)
                       : 0;
        if (pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH) remove_name(e->d_name);
    }
    if (d) closedir(d);
}

static size_t file_bytes(size_t ring_bytes)
{
    return sizeof(struct file) + 2 * ring_bytes;
}

/* ---- a file that is cut ----
 *
 * Who has the file open may shorten it, which no seal of /dev/shm prevents, and the next look at
 * what is mapped would end the process (SIGBUS). So each call that looks says where, and the handler
 * puts memory of our own there: the peer is then one that wrote nonsense. */

static _Thread_local const struct shared *looks_at;
static struct sigaction before_us;

static void on_cut(int number, siginfo_t *info, void *context)
{
    struct shared *s = (struct shared *)(uintptr_t)looks_at;
    uintptr_t at = (uintptr_t)info->si_addr, from = s ? (uintptr_t)s->file : 0;
    int error = errno;
    if (s && at >= from && at < from + file_bytes(s->size) &&
        mmap(s->file, file_bytes(s->size), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
        __atomic_store_n(&s->is_cut, true, __ATOMIC_RELAXED);
    else if (before_us.sa_flags & SA_SIGINFO)
        before_us.sa_sigaction(number, info, context);
    else if (before_us.sa_handler != SIG_DFL && before_us.sa_handler != SIG_IGN)
        before_us.sa_handler(number);
    else
        signal(number, SIG_DFL); /* it comes again */
    errno = error;
}

static void handle_cuts(void)
{
    struct sigaction handle = {.sa_sigaction = on_cut, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGBUS, &handle, &before_us);
}

static void look_away(const struct shared *const *before)
{
    looks_at = *before;
}

/* For the rest of the function. */
#define LOOKS_AT(s) \
    __attribute__((cleanup(look_away), unused)) const struct shared *const looked_at = looks_at; \
    looks_at = (s); \
    __atomic_signal_fence(__ATOMIC_SEQ_CST)

static bool is_cut(const struct shared *s)
{
    return __atomic_load_n(&s->is_cut, __ATOMIC_RELAXED);
}

/* Takes over the descriptor. `side`: which ring is ours to write. */
static struct shared *map(int fd, size_t ring_bytes, int side)
{
    struct shared *s = calloc(1, sizeof *s);
    struct file *f =
        s ? mmap(NULL, file_bytes(ring_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
          : MAP_FAILED;
    close(fd);
    if (f == MAP_FAILED) {
        free(s);
        return NULL;
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, handle_cuts);
    madvise(f, file_bytes(ring_bytes), MADV_DONTFORK);
    unsigned char *bytes = (unsigned char *)(f + 1);
    *s = (struct shared){.file = f,
                         .size = ring_bytes,
                         .in = &f->ring[!side],
                         .out = &f->ring[side],
                         .in_bytes = bytes + !side * ring_bytes,
                         .out_bytes = bytes + side * ring_bytes};
    return s;
}

struct shared *shared_create(size_t ring_bytes, char name[SHARED_TEXT_BYTES])
{
    char path[PATH_BYTES];
    uint64_t number;
    remove_leftovers();
    if (getrandom(&number, sizeof number, 0) != sizeof number) return NULL;
    snprintf(name, SHARED_TEXT_BYTES, PREFIX "%ld-%016llx", (long)getpid(),
             (unsigned long long)number);
    path_of(name, path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    /* A page that the system has not got would end the process at its first use. */
    sigset_t before = oversize_begin();
    bool is_there = posix_fallocate(fd, 0, (off_t)file_bytes(ring_bytes)) == 0;
    oversize_end(before);
    struct shared *s = is_there ? map(fd, ring_bytes, 0) : NULL;
    if (!is_there) close(fd);
    if (s)
        snprintf(s->name, sizeof s->name, "%s", name);
    else
        unlink(path);
    return s;
}

/* The peer says the name, which may be anything. */
static bool is_ours(int fd, size_t ring_bytes)
{
    struct stat at;
    return fstat(fd, &at) == 0 && S_ISREG(at.st_mode) && at.st_uid == geteuid() &&
           at.st_size == (off_t)file_bytes(ring_bytes);
}

struct shared *shared_open(size_t ring_bytes, const char *name)
{
    char path[PATH_BYTES];
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strchr(name, '/')) return NULL;
    path_of(name, path);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return NULL;
    if (!is_ours(fd, ring_bytes)) {
        close(fd);
        return NULL;
    }
    unlink(path);
    return map(fd, ring_bytes, 1);
}

void shared_free(struct shared *s)
{
    if (!s) return;
    if (*s->name) remove_name(s->name);
    munmap(s->file, file_bytes(s->size));
    free(s);
}

/* ---- bytes ---- */

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* `at` counts all bytes ever. */
static void copy_in(const struct shared *s, uint64_t at, const void *from, size_t n)
{
    size_t begin = at & (s->size - 1), first = less(n, s->size - begin);
    memcpy(s->out_bytes + begin, from, first);
    memcpy(s->out_bytes, (const unsigned char *)from + first, n - first);
}

static void copy_out(const struct shared *s, uint64_t at, void *to, size_t n)
{
    size_t begin = at & (s->size - 1), first = less(n, s->size - begin);
    memcpy(to, s->in_bytes + begin, first);
    memcpy((unsigned char *)to + first, s->in_bytes, n - first);
}

/* The peer's number is looked at only if there seems to be too little room. */
static ssize_t room(struct shared *s, size_t wanted)
{
    LOOKS_AT(s);
    if (s->size - (s->written - s->seen_read) < wanted)
        s->seen_read = __atomic_load_n(&s->out->read, __ATOMIC_SEQ_CST);
    uint64_t unread = s->written - s->seen_read;
    return unread <= s->size && !is_cut(s) ? (ssize_t)(s->size - unread) : -EBADMSG;
}

size_t shared_room(struct shared *s)
{
    ssize_t n = room(s, s->size);
    return n < 0 ? 0 : (size_t)n;
}

/* Piece by piece, so that the peer can begin to read. */
ssize_t shared_write(struct shared *s, const struct iovec *piece, unsigned pieces)
{
    size_t all = 0;
    LOOKS_AT(s);
    for (unsigned i = 0; i < pieces; i++) {
        ssize_t free_bytes = room(s, piece[i].iov_len);
        if (free_bytes < 0) return free_bytes;
        size_t n = less(piece[i].iov_len, (size_t)free_bytes);
        copy_in(s, s->written, piece[i].iov_base, n);
        s->written += n;
        all += n;
        /* Sequentially consistent: shared_must_wake() looks at `reader_sleeps` after it, and
         * shared_sleep() sets that before shared_has_news() looks here. */
        __atomic_exchange_n(&s->out->written, s->written, __ATOMIC_SEQ_CST);
        if (n < piece[i].iov_len) break;
    }
    return (ssize_t)all;
}

ssize_t shared_read(struct shared *s, void *to, size_t bytes)
{
    LOOKS_AT(s);
    uint64_t there = __atomic_load_n(&s->in->written, __ATOMIC_ACQUIRE) - s->read;
    if (is_cut(s)) return -EBADMSG;
    if (there == 0) return 0;
    if (there > s->size) return -EBADMSG;
    size_t n = less((size_t)there, bytes);
    copy_out(s, s->read, to, n);
    if (is_cut(s)) return -EBADMSG;
    s->read += n;
    /* The same of room, with `wants_room`. */
    __atomic_exchange_n(&s->in->read, s->read, __ATOMIC_SEQ_CST);
    return (ssize_t)n;
}

size_t shared_unread(const struct shared *s)
{
    LOOKS_AT(s);
    uint64_t read = __atomic_load_n(&s->out->read, __ATOMIC_RELAXED);
    uint64_t unread = __atomic_load_n(&s->out->written, __ATOMIC_RELAXED) - read;
    return unread <= s->size ? (size_t)unread : 0;
}

/* ---- sleep ---- */

static bool was_set(uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST) &&
           __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST);
}

bool shared_must_wake(struct shared *s)
{
    LOOKS_AT(s);
    bool has_bytes = s->written != __atomic_load_n(&s->out->read, __ATOMIC_RELAXED);
    bool waits_for_bytes = has_bytes && was_set(&s->out->reader_sleeps);
    return was_set(&s->in->wants_room) || waits_for_bytes;
}

void shared_sleep(struct shared *s, bool wants_room)
{
    LOOKS_AT(s);
    __atomic_exchange_n(&s->out->wants_room, wants_room, __ATOMIC_SEQ_CST);
    __atomic_exchange_n(&s->in->reader_sleeps, 1, __ATOMIC_SEQ_CST);
}

bool shared_has_news(struct shared *s, bool wants_room)
{
    LOOKS_AT(s);
    return is_cut(s) || __atomic_load_n(&s->in->written, __ATOMIC_SEQ_CST) != s->read ||
           (wants_room && shared_room(s) > 0);
}

void shared_awake(struct shared *s)
{
    LOOKS_AT(s);
    __atomic_store_n(&s->out->wants_room, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->in->reader_sleeps, 0, __ATOMIC_RELAXED);
}
