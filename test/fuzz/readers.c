/* The readers of files of data, and what lda, gnn and wv make of theirs: whatever stands there is
 * refused with a sentence, or is data within its bounds; and what was read is let go. */
#include "input.h"

#include "fail.h"
#include "gnn/features.h"
#include "gnn/labels.h"
#include "lda/corpus.h"
#include "libsvm.h"
#include "wv/questions.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- what fail.h has, for a program that goes on ---- */

static jmp_buf refusal;

void fail(const char *format, ...)
{
    MUST(*format);
    longjmp(refusal, 1);
}

void fail_usage(const char *format, ...)
{
    (void)format;
    longjmp(refusal, 1);
}

const char *fail_program(void)
{
    return "readers";
}

void *take_memory(size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes ? bytes : 1);
    MUST(memory);
    return memory;
}

/* ---- memory of one reading, let go when it is refused ---- */

struct block {
    struct block *next, *before;
    size_t bytes, unused; /* so that what is behind is aligned */
};

enum { BYTES_MAX = 1 << 28 };
static struct block blocks = {.next = &blocks, .before = &blocks};
static bool is_reading;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *memory, size_t bytes);
/* NOLINTEND(bugprone-reserved-identifier) */

/* The inputs are small: nothing that is large comes of them. */
static void *take(size_t count, size_t bytes)
{
    MUST(bytes == 0 || count <= BYTES_MAX / bytes);
    struct block *b = __real_calloc(1, sizeof *b + count * bytes);
    MUST(b);
    *b = (struct block){.next = blocks.next, .before = &blocks, .bytes = count * bytes};
    b->next->before = blocks.next = b;
    return b + 1;
}

void *__wrap_malloc(size_t bytes)
{
    return is_reading ? take(1, bytes) : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_reading ? take(count, bytes) : __real_calloc(count, bytes);
}

void __wrap_free(void *memory)
{
    if (!is_reading || !memory) {
        __real_free(memory);
        return;
    }
    struct block *b = (struct block *)memory - 1;
    b->next->before = b->before;
    b->before->next = b->next;
    __real_free(b);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (!is_reading) return __real_realloc(memory, bytes);
    void *larger = take(1, bytes);
    size_t old = memory ? ((struct block *)memory - 1)->bytes : 0;
    if (memory) memcpy(larger, memory, old < bytes ? old : bytes);
    __wrap_free(memory);
    return larger;
}

/* Where AddressSanitizer sees the first byte beyond. */
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (!is_reading) return __real_mmap(at, bytes, protection, flags, fd, offset);
    void *file = take(1, bytes);
    MUST(pread(fd, file, bytes, offset) == (ssize_t)bytes);
    return file;
}

int __wrap_munmap(void *memory, size_t bytes)
{
    if (!is_reading) return __real_munmap(memory, bytes);
    __wrap_free(memory);
    return 0;
}

/* ---- the readers ---- */

struct files {
    int fd[2];
    char path[2][64];
};

static void write_file(struct files *f, int i, const uint8_t *data, size_t size)
{
    f->fd[i] = memfd_create("data", MFD_CLOEXEC);
    MUST(f->fd[i] >= 0 && write(f->fd[i], data, size) == (ssize_t)size);
    snprintf(f->path[i], sizeof f->path[i], "/proc/self/fd/%d", f->fd[i]);
}

/* Every byte is one of the file. */
static void look_at(struct field f)
{
    static volatile char seen;
    for (size_t i = 0; i < f.length; i++) seen = f.text[i];
    (void)seen;
}

/* Fields are what lies between tabs, and none is empty. */
static void read_fields(const struct files *f, size_t count)
{
    struct lines l;
    struct field field[3];
    lines_open(&l, f->path[0], "fields");
    while (lines_next(&l)) {
        size_t length = count - 1;
        lines_take_fields(&l, field, count);
        for (size_t i = 0; i < count; i++) {
            MUST(field[i].length > 0 && !memchr(field[i].text, '\t', field[i].length));
            length += field[i].length;
            look_at(field[i]);
        }
        MUST(length == l.length);
    }
    lines_close(&l);
}

static void read_pairs(const struct files *f)
{
    struct libsvm pairs;
    struct libsvm_pair p;
    libsvm_open(&pairs, f->path[0], "label index:value ...");
    while (libsvm_next(&pairs))
        while (libsvm_pair(&pairs, "feature", &p)) {
            MUST(p.index <= LIBSVM_INDEX_MAX && p.field <= LIBSVM_INDEX_MAX);
            look_at(p.value);
        }
    libsvm_close(&pairs);
}

static void read_corpus(const struct files *f, bool has_vocabulary)
{
    struct corpus c;
    corpus_load(&c, f->path[0], has_vocabulary ? f->path[1] : NULL);
    MUST(c.names.count == 0 || c.names.count == c.words);
    for (uint32_t d = 0; d < c.documents; d++) MUST(c.start[d] <= c.start[d + 1]);
    for (uint64_t i = 0; i < c.start[c.documents]; i++) MUST(c.token[i] < c.words);
    corpus_fini(&c);
}

/* Edges, and what `reader` says of its nodes: classes, purposes, features. */
static void read_graph(const struct files *f, unsigned reader)
{
    struct network n;
    struct labels l;
    struct features x = {0};
    network_init(&n);
    labels_init(&l);
    network_load(&n, f->path[0]);
    if (reader == 0) labels_load(&l, &n, f->path[1]);
    if (reader == 1) labels_load_purposes(&l, &n, f->path[1]);
    if (reader == 2) features_load(&x, &n, f->path[1]);
    network_finish(&n);
    labels_reserve(&l, n.nodes);
    for (uint64_t i = 0; i < n.start[n.nodes]; i++) MUST(n.neighbour[i] < n.nodes);
    for (uint32_t v = 0; v < n.nodes; v++) {
        MUST(l.class_of[v] == LABELS_NONE || l.class_of[v] < l.classes);
        MUST(l.purpose_of[v] <= LABELS_PURPOSES);
    }
    MUST(reader != 2 || x.nodes == n.nodes);
    for (uint64_t i = 0; reader == 2 && i < x.start[n.nodes]; i++) MUST(x.index[i] < x.count);
    if (reader == 2) features_fini(&x);
    labels_fini(&l);
    network_fini(&n);
}

static void read_questions(const struct files *f)
{
    struct vocabulary v = {0};
    struct similarities s;
    struct analogies a;
    names_init(&v.words);
    names_add(&v.words, "a", 1);
    names_add(&v.words, "b", 1);
    similarities_load(&s, f->path[0], &v);
    MUST(s.count <= s.total);
    similarities_fini(&s);
    analogies_load(&a, f->path[1], &v, 0);
    for (size_t i = 0; i < a.count; i++) MUST(a.list[i].section < a.sections.count);
    analogies_fini(&a);
    names_fini(&v.words);
}

static void read_files(const struct files *f, unsigned reader)
{
    switch (reader) {
    case 0:
    case 1: read_corpus(f, reader == 1); break;
    case 2:
    case 3:
    case 4: read_graph(f, reader - 2); break;
    case 5: read_questions(f); break;
    case 6:
    case 7: read_fields(f, reader - 4); break;
    default: read_pairs(f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    struct files f;
    unsigned reader = input_below(&in, 9), how = input_byte(&in);
    size_t left = input_left(&in), first = reader < 6 ? left * how / 255 : left;
    write_file(&f, 0, in.at, first);
    write_file(&f, 1, in.at + first, left - first);
    is_reading = true;
    if (setjmp(refusal) == 0) {
        read_files(&f, reader);
        MUST(blocks.next == &blocks);
    }
    while (blocks.next != &blocks) __wrap_free(blocks.next + 1);
    is_reading = false;
    close(f.fd[0]);
    close(f.fd[1]);
    return 0;
}
