#include "vectors.h"

#include "rows.h"
#include "saving.h"
#include "tensors.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- safetensors ---- */

void vectors_write_tensors(const struct wv *w, struct pool_member *m, const char *path)
{
    const struct names *n = &w->vocabulary.words;
    size_t dim = w->options.dim;
    struct tensors t;
    tensors_open(&t, path);
    tensors_note(&t, "model", "skip-gram");
    tensors_note_count(&t, "dim", dim);
    tensors_note(&t, "data", w->options.common.data);
    tensors_declare(&t, "inputs", TENSORS_F32, n->count, dim);
    tensors_declare(&t, "outputs", TENSORS_F32, n->count, dim);
    tensors_declare(&t, "word_names", TENSORS_U8, n->text_length, 0);
    tensors_begin(&t);
    rows_save(m, WV_INPUTS, 0, dim, &t);
    rows_save(m, WV_OUTPUTS, 0, dim, &t);
    tensors_write_names(&t, n);
    tensors_close(&t);
}

/* ---- word2vec's formats ---- */

struct word2vec_file {
    const struct wv *wv;
    FILE *file;
};

static void add_text(void *file, uint64_t row, const float *values)
{
    struct word2vec_file *f = file;
    fputs(names_get(&f->wv->vocabulary.words, (uint32_t)row), f->file);
    for (size_t i = 0; i < f->wv->options.dim; i++) fprintf(f->file, " %.6g", (double)values[i]);
    fputc('\n', f->file);
}

static void add_binary(void *file, uint64_t row, const float *values)
{
    struct word2vec_file *f = file;
    fputs(names_get(&f->wv->vocabulary.words, (uint32_t)row), f->file);
    fputc(' ', f->file);
    fwrite(values, sizeof *values, f->wv->options.dim, f->file);
    fputc('\n', f->file);
}

static void write_words(const struct wv *w, struct pool_member *m, const char *path, rows_use *add)
{
    uint32_t words = w->vocabulary.words.count;
    struct saving saving;
    saving_open(&saving, path);
    struct word2vec_file f = {.wv = w, .file = saving.file};
    fprintf(f.file, "%" PRIu32 " %" PRIu64 "\n", words, w->options.dim);
    rows_visit(m, WV_INPUTS, 0, words, add, &f);
    saving_close(&saving);
}

void vectors_write_text(const struct wv *w, struct pool_member *m, const char *path)
{
    write_words(w, m, path, add_text);
}

void vectors_write_binary(const struct wv *w, struct pool_member *m, const char *path)
{
    write_words(w, m, path, add_binary);
}
