#include "net/shm.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 64, SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* One direction. Each line is written by one end, but for the wishes, which the other one grants. */
struct ring {
    _Alignas(64) uint64_t written;
    _Alignas(64) uint64_t read;
    _Alignas(64) uint32_t reader_sleeps;
    uint32_t wants_room; /* the writer sleeps until something is read */
};

/* The beginning of the memory; the bytes of the one ring and of the other one follow. */
struct file {
    _Alignas(4096) struct ring ring[2];
};

struct shm {
    struct file *file;
    int fd;      /* for the peer to open; -1: it has */
    size_t size; /* of a ring */
    struct ring *in, *out;
    unsigned char *in_bytes, *out_bytes;
    uint64_t read, written; /* ours */
    uint64_t seen_read;     /* the peer's, as it was when there was no room */
};

size_t shm_ring_bytes(unsigned nodes)
{
    size_t bytes = SHM_RING_MAX;
    while (bytes > SHM_RING_MIN && bytes * nodes > SHM_NODE_BYTES) bytes /= 2;
    return bytes;
}

static size_t file_bytes(size_t ring_bytes)
{
    return sizeof(struct file) + 2 * ring_bytes;
}

/* ---- life ---- */

bool shm_place(char place[SHM_TEXT_BYTES])
{
    struct stat processes;
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f) return false;
    bool is_there = fscanf(f, "%63s", boot) == 1 && stat("/proc/self/ns/pid", &processes) == 0;
    fclose(f);
    if (is_there)
        snprintf(place, SHM_TEXT_BYTES, "%s %llu", boot, (unsigned long long)processes.st_ino);
    return is_there;
}

/* `side`: which ring is ours to write. */
static struct shm *map(int fd, size_t ring_bytes, int side)
{
    struct shm *s = calloc(1, sizeof *s);
    struct file *f =
        s ? mmap(NULL, file_bytes(ring_bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
          : MAP_FAILED;
    if (f == MAP_FAILED) {
        free(s);
        return NULL;
    }
    madvise(f, file_bytes(ring_bytes), MADV_DONTFORK);
    unsigned char *bytes = (unsigned char *)(f + 1);
    *s = (struct shm){.file = f,
                      .fd = fd,
                      .size = ring_bytes,
                      .in = &f->ring[!side],
                      .out = &f->ring[side],
                      .in_bytes = bytes + !side * ring_bytes,
                      .out_bytes = bytes + side * ring_bytes};
    return s;
}

/* A page that the system has not got would end the process at its first use; so would one that the
 * peer has cut off. */
static bool has_pages(int fd, size_t ring_bytes)
{
    sigset_t before = oversize_begin();
    bool is_there = posix_fallocate(fd, 0, (off_t)file_bytes(ring_bytes)) == 0;
    oversize_end(before);
    return is_there && fcntl(fd, F_ADD_SEALS, SEALS) == 0;
}

struct shm *shm_create(size_t ring_bytes, char name[SHM_TEXT_BYTES])
{
    unsigned long long number;
    char title[32];
    if (getrandom(&number, sizeof number, 0) != sizeof number) return NULL;
    snprintf(title, sizeof title, "locus-%llx", number);
    int fd = memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return NULL;
    struct shm *s = has_pages(fd, ring_bytes) ? map(fd, ring_bytes, 0) : NULL;
    if (!s) close(fd);
    snprintf(name, SHM_TEXT_BYTES, "%d %d %llx", getpid(), fd, number);
    return s;
}

/* The peer says the name, which may be anything: so nothing is opened but such memory. */
static int open_named(const char *name)
{
    int pid, fd;
    unsigned long long number;
    char path[PATH_BYTES], is[PATH_BYTES] = "", must_be[PATH_BYTES];
    if (sscanf(name, "%9d %9d %16llx", &pid, &fd, &number) != 3) return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    snprintf(must_be, sizeof must_be, "/memfd:locus-%llx (deleted)", number);
    if (readlink(path, is, sizeof is - 1) < 0 || strcmp(is, must_be) != 0) return -1;
    return open(path, O_RDWR | O_CLOEXEC);
}

static bool is_sealed(int fd, size_t ring_bytes)
{
    struct stat at;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &at) == 0 &&
           at.st_uid == geteuid() && at.st_size == (off_t)file_bytes(ring_bytes);
}

struct shm *shm_attach(size_t ring_bytes, const char *name)
{
    int fd = open_named(name);
    if (fd < 0) return NULL;
    struct shm *s = is_sealed(fd, ring_bytes) ? map(fd, ring_bytes, 1) : NULL;
    if (s) s->fd = -1;
    close(fd);
    return s;
}

void shm_close(struct shm *s)
{
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

void shm_free(struct shm *s)
{
    if (!s) return;
    shm_close(s);
    munmap(s->file, file_bytes(s->size));
    free(s);
}

/* ---- bytes ---- */

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* `at` counts all bytes ever. */
static void copy_in(const struct shm *s, uint64_t at, const void *from, size_t n)
{
    size_t begin = at & (s->size - 1), first = less(n, s->size - begin);
    memcpy(s->out_bytes + begin, from, first);
    memcpy(s->out_bytes, (const unsigned char *)from + first, n - first);
}

static void copy_out(const struct shm *s, uint64_t at, void *to, size_t n)
{
    size_t begin = at & (s->size - 1), first = less(n, s->size - begin);
    memcpy(to, s->in_bytes + begin, first);
    memcpy((unsigned char *)to + first, s->in_bytes, n - first);
}

/* The peer's number is looked at only if there seems to be too little room. */
ssize_t shm_room(struct shm *s, size_t wanted)
{
    if (s->size - (s->written - s->seen_read) < wanted)
        s->seen_read = __atomic_load_n(&s->out->read, __ATOMIC_SEQ_CST);
    uint64_t unread = s->written - s->seen_read;
    return unread <= s->size ? (ssize_t)(s->size - unread) : -EBADMSG;
}

/* Piece by piece, so that the peer can begin to read. */
ssize_t shm_write(struct shm *s, const struct iovec *piece, unsigned pieces)
{
    size_t all = 0;
    for (unsigned i = 0; i < pieces; i++) {
        ssize_t free_bytes = shm_room(s, piece[i].iov_len);
        if (free_bytes < 0) return free_bytes;
        size_t n = less(piece[i].iov_len, (size_t)free_bytes);
        copy_in(s, s->written, piece[i].iov_base, n);
        s->written += n;
        all += n;
        /* Sequentially consistent: shm_must_wake() looks at `reader_sleeps` after it, and
         * shm_sleep() sets that before shm_has_news() looks here. */
        __atomic_exchange_n(&s->out->written, s->written, __ATOMIC_SEQ_CST);
        if (n < piece[i].iov_len) break;
    }
    return (ssize_t)all;
}

ssize_t shm_read(struct shm *s, void *to, size_t bytes)
{
    uint64_t there = __atomic_load_n(&s->in->written, __ATOMIC_ACQUIRE) - s->read;
    if (there == 0) return 0;
    if (there > s->size) return -EBADMSG;
    size_t n = less((size_t)there, bytes);
    copy_out(s, s->read, to, n);
    s->read += n;
    /* The same of room, with `wants_room`. */
    __atomic_exchange_n(&s->in->read, s->read, __ATOMIC_SEQ_CST);
    return (ssize_t)n;
}

size_t shm_unread(const struct shm *s)
{
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

bool shm_must_wake(struct shm *s)
{
    bool has_bytes = s->written != __atomic_load_n(&s->out->read, __ATOMIC_RELAXED);
    bool waits_for_bytes = has_bytes && was_set(&s->out->reader_sleeps);
    return was_set(&s->in->wants_room) || waits_for_bytes;
}

void shm_sleep(struct shm *s, bool wants_room)
{
    __atomic_exchange_n(&s->out->wants_room, wants_room, __ATOMIC_SEQ_CST);
    __atomic_exchange_n(&s->in->reader_sleeps, 1, __ATOMIC_SEQ_CST);
}

bool shm_has_news(struct shm *s, bool wants_room)
{
    return __atomic_load_n(&s->in->written, __ATOMIC_SEQ_CST) != s->read ||
           (wants_room && shm_room(s, s->size) != 0);
}

void shm_awake(struct shm *s)
{
    __atomic_store_n(&s->out->wants_room, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->in->reader_sleeps, 0, __ATOMIC_RELAXED);
}
