/* The readers of files of data, and what lda, gnn and wv make of theirs: whatever stands there is
 * refused with a sentence, or is data within its bounds, and the same again; lines that several
 * threads read are read as one thread reads them; and what was read is let go. */
#include "input.h"

#include "fail.h"
#include "fields.h"
#include "gnn/features.h"
#include "gnn/labels.h"
#include "lda/corpus.h"
#include "libsvm.h"
#include "matrix_market.h"
#include "unpack.h"
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

/* Other programs decompress, and are not what is tried. */
int unpack(const char *file, int fd, const struct stat *about)
{
    (void)file;
    (void)about;
    return dup(fd);
}

int unpack_stdin(void)
{
    return dup(STDIN_FILENO);
}

/* Several files as one: a fuzzer has one. */
int unpack_nameless(void)
{
    abort();
}

void unpack_write(int fd, const char *bytes, size_t count)
{
    (void)fd;
    (void)bytes;
    (void)count;
    abort();
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

static uint64_t digest_of(uint64_t digest, struct field f)
{
    for (size_t i = 0; i < f.length; i++)
        digest = (digest ^ (unsigned char)f.text[i]) * UINT64_C(0x100000001b3);
    return (digest ^ f.length) * UINT64_C(0x100000001b3);
}

static struct fields rows;

/* A thread that reads a part sees the same row, or leaves it to who reads all. */
static void look_at_line(struct field *again)
{
    const struct fields_form *form = &rows.form;
    size_t count = fields_of_line(form, &rows.lines, again, form->columns);
    if (count == 0) return;
    MUST(count == form->columns);
    for (size_t i = form->hidden; i < count; i++) {
        struct field f = rows.field[i - form->hidden];
        MUST(again[i].text == f.text && again[i].length == f.length);
    }
}

static uint64_t read_rows(const char *path, const struct fields_wanted *wanted)
{
    uint64_t digest = 1;
    rows = (struct fields){0};
    fields_open(&rows, path, wanted);
    const struct fields_form *form = &rows.form;
    struct field *again = take_memory(form->columns + 1, sizeof *again);
    bool is_simple = !fields_has_quotes(&rows) && !form->is_loose;
    MUST(form->hidden == 0 || rows.name);
    while (fields_next(&rows)) {
        MUST(rows.count + form->hidden >= wanted->least);
        MUST(form->is_loose || rows.count + form->hidden == form->columns);
        for (size_t i = 0; i < rows.count; i++) digest = digest_of(digest, rows.field[i]);
        if (is_simple) look_at_line(again);
    }
    free(again);
    fields_close(&rows);
    return digest;
}

static void read_fields(const struct files *f, unsigned kinds, bool is_loose)
{
    const struct fields_wanted wanted = {.least = is_loose ? 2 : 1 + kinds % 3,
                                         .name = !is_loose && kinds & 8 ? "user" : NULL,
                                         .is_loose = is_loose};
    uint64_t first = read_rows(f->path[0], &wanted);
    MUST(read_rows(f->path[0], &wanted) == first);
}

static bool is_in_line;

static void read_pairs(const struct files *f)
{
    struct libsvm pairs;
    struct libsvm_pair p;
    libsvm_open(&pairs, f->path[0]);
    while (libsvm_next(&pairs)) {
        is_in_line = libsvm_is_line(&pairs.lines); /* then it is not refused */
        while (libsvm_pair(&pairs, "feature", &p)) {
            MUST(p.index <= LIBSVM_INDEX_MAX);
            digest_of(1, p.value);
        }
        is_in_line = false;
    }
    libsvm_close(&pairs);
}

static void read_matrix(const struct files *f, unsigned kinds)
{
    struct matrix_market matrix;
    struct matrix_market_cell c, again;
    if (!matrix_market_is(f->path[0])) return;
    matrix_market_open(&matrix, f->path[0], kinds);
    while (matrix_market_next(&matrix, &c)) {
        MUST(c.row < matrix.rows && c.column < matrix.columns && matrix.read <= matrix.cells);
        bool is_cell = !matrix.is_array && matrix_market_cell(&matrix, &matrix.lines, &again);
        MUST(matrix.is_array || (is_cell && again.row == c.row && again.column == c.column));
    }
    MUST(matrix.read == matrix.cells);
    matrix_market_close(&matrix);
}

static void check_corpus(const struct corpus *c, uint32_t words)
{
    for (uint32_t d = 0; d < c->documents; d++) MUST(c->start[d] <= c->start[d + 1]);
    for (uint64_t i = 0; i < c->start[c->documents]; i++) MUST(c->token[i] < words);
}

static void read_corpus(const struct files *f, bool has_vocabulary)
{
    struct corpus c, test;
    corpus_load(&c, f->path[0], FORMAT_AUTO, has_vocabulary ? f->path[1] : NULL);
    check_corpus(&c, c.words);
    if (!has_vocabulary) {
        corpus_load_test(&test, f->path[1], &c);
        check_corpus(&test, c.words);
        corpus_fini(&test);
    }
    corpus_fini(&c);
}

static void read_graph(const struct files *f, bool has_features)
{
    struct network n;
    struct labels l;
    struct features x = {0};
    network_init(&n);
    labels_init(&l);
    network_load(&n, f->path[0]);
    if (!has_features) labels_load(&l, &n, f->path[1]);
    network_finish(&n);
    labels_reserve(&l, n.nodes);
    if (has_features) features_load(&x, &n, f->path[1]);
    for (uint64_t i = 0; i < n.start[n.nodes]; i++) MUST(n.neighbour[i] < n.nodes);
    for (uint32_t v = 0; v < n.nodes; v++)
        MUST(l.class_of[v] == LABELS_NONE || l.class_of[v] < l.classes);
    for (uint64_t i = 0; has_features && i < x.start[n.nodes]; i++) MUST(x.index[i] < x.count);
    if (has_features) features_fini(&x);
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

static void read_files(const struct files *f, unsigned reader, unsigned kinds)
{
    switch (reader) {
    case 0:
    case 1: read_corpus(f, reader == 1); break;
    case 2:
    case 3: read_graph(f, reader == 3); break;
    case 4: read_questions(f); break;
    case 5:
    case 6: read_fields(f, kinds, reader == 6); break;
    case 7: read_pairs(f); break;
    default: read_matrix(f, kinds);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    struct files f;
    unsigned reader = input_below(&in, 9), how = input_byte(&in);
    size_t left = input_left(&in), first = reader < 5 ? left * how / 255 : left;
    write_file(&f, 0, in.at, first);
    write_file(&f, 1, in.at + first, left - first);
    is_reading = true;
    is_in_line = false;
    if (setjmp(refusal) == 0) {
        read_files(&f, reader, how);
        MUST(blocks.next == &blocks);
    }
    MUST(!is_in_line);
    while (blocks.next != &blocks) __wrap_free(blocks.next + 1);
    is_reading = false;
    close(f.fd[0]);
    close(f.fd[1]);
    return 0;
}
