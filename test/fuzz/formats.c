/* The readers of files of data: whatever is in a file, it is refused with a sentence, or what is
 * read lies within the file, is what its format allows, and is the same again; lines that several
 * threads read are read as one thread reads them. */
#include "input.h"
#include "no_unpack.h"

#include "fail.h"
#include "fields.h"
#include "libsvm.h"
#include "matrix_market.h"

#include <sanitizer/allocator_interface.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TAKEN_MAX = 256 };

static jmp_buf refused;
static void *taken[TAKEN_MAX];
static size_t taken_count;
static char path[32];

/* ---- instead of fail.c ---- */

void fail(const char *format, ...)
{
    MUST(*format);
    longjmp(refused, 1);
}

const char *fail_program(void)
{
    return "formats";
}

void *take_memory(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    MUST(memory && taken_count < TAKEN_MAX);
    return taken[taken_count++] = memory;
}

/* What was refused has left memory and a mapped file. */
static void clean_up(struct lines *l)
{
    if (l->file) lines_close(l);
    for (size_t i = 0; i < taken_count; i++)
        if (__sanitizer_get_ownership(taken[i])) free(taken[i]);
}

/* ---- a file ---- */

static int open_file(void)
{
    int file = memfd_create("formats", 0);
    MUST(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return file;
}

static void write_file(const uint8_t *data, size_t size)
{
    static int file = -1;
    if (file < 0) file = open_file();
    MUST(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
}

static uint64_t digest_of(uint64_t digest, struct field f)
{
    for (size_t i = 0; i < f.length; i++)
        digest = (digest ^ (unsigned char)f.text[i]) * UINT64_C(0x100000001b3);
    return (digest ^ f.length) * UINT64_C(0x100000001b3);
}

/* ---- separated fields ---- */

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

static uint64_t read_rows(const struct fields_wanted *wanted)
{
    uint64_t digest = 1;
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

static void try_rows(const struct fields_wanted *wanted)
{
    rows = (struct fields){0};
    taken_count = 0;
    if (setjmp(refused)) {
        clean_up(&rows.lines);
        return;
    }
    uint64_t first = read_rows(wanted);
    MUST(read_rows(wanted) == first);
}

/* ---- LIBSVM ---- */

static struct libsvm pairs;

static void try_pairs(void)
{
    struct libsvm_pair p;
    volatile bool is_line = false;
    pairs = (struct libsvm){0};
    taken_count = 0;
    if (setjmp(refused)) {
        MUST(!is_line);
        clean_up(&pairs.lines);
        return;
    }
    libsvm_open(&pairs, path);
    while (libsvm_next(&pairs)) {
        is_line = libsvm_is_line(&pairs.lines);
        while (libsvm_pair(&pairs, "feature", &p)) {
            MUST(p.index <= LIBSVM_INDEX_MAX);
            digest_of(1, p.value);
        }
        is_line = false;
    }
    libsvm_close(&pairs);
}

/* ---- MatrixMarket ---- */

static struct matrix_market matrix;

static void try_matrix(unsigned kinds)
{
    struct matrix_market_cell c, again;
    matrix = (struct matrix_market){0};
    taken_count = 0;
    if (setjmp(refused)) {
        clean_up(&matrix.lines);
        return;
    }
    if (!matrix_market_is(path)) return;
    matrix_market_open(&matrix, path, kinds);
    while (matrix_market_next(&matrix, &c)) {
        MUST(c.row < matrix.rows && c.column < matrix.columns && matrix.read <= matrix.cells);
        bool is_cell = !matrix.is_array && matrix_market_cell(&matrix, &matrix.lines, &again);
        MUST(matrix.is_array || (is_cell && again.row == c.row && again.column == c.column));
    }
    MUST(matrix.read == matrix.cells);
    matrix_market_close(&matrix);
}

/* What was refused in the middle of names leaves some, which is no fault. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    unsigned kinds = input_byte(&in);
    size_t bytes;
    const uint8_t *text = input_bytes(&in, SIZE_MAX, &bytes);
    if (bytes > 0 && memchr(text, '\0', bytes)) return -1; /* is refused before anything else */
    write_file(text, bytes);
    try_rows(&(struct fields_wanted){.least = 1 + kinds % 3, .name = kinds & 8 ? "user" : NULL});
    try_rows(&(struct fields_wanted){.least = 2, .is_loose = true});
    try_pairs();
    try_matrix(kinds);
    return 0;
}
