#include "mf_save.h"

#include "rows.h"
#include "tensors.h"

#include <stdio.h>
#include <string.h>

struct model_file {
    struct tensors tensors;
    size_t rank;
};

static void add_factor(void *file, uint64_t row, const float *values)
{
    struct model_file *f = file;
    (void)row;
    tensors_write(&f->tensors, values, f->rank * sizeof *values);
}

static void add_bias(void *file, uint64_t row, const float *values)
{
    struct model_file *f = file;
    (void)row;
    tensors_write(&f->tensors, values + f->rank, sizeof *values);
}

static void add_names(struct model_file *f, const struct names *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        const char *name = names_get(n, i);
        tensors_write(&f->tensors, name, strlen(name));
        tensors_write(&f->tensors, "\n", 1);
    }
}

static void note(struct model_file *f, const struct mf *mf)
{
    char text[64];
    tensors_note(&f->tensors, "model", "factors");
    snprintf(text, sizeof text, "%zu", f->rank);
    tensors_note(&f->tensors, "rank", text);
    snprintf(text, sizeof text, "%.17g", mf->ratings.mean);
    tensors_note(&f->tensors, "mean", text);
    tensors_note(&f->tensors, "data", mf->options.data ? mf->options.data : mf->options.zipf);
}

void mf_save(const struct mf *mf, struct crew_member *m)
{
    const struct ratings *r = &mf->ratings;
    bool has_names = r->row_names.count > 0, has_bias = mf->options.has_bias;
    struct model_file f = {.rank = mf->options.rank};
    tensors_open(&f.tensors, mf->options.common.out);
    note(&f, mf);
    tensors_declare(&f.tensors, "rows", TENSORS_F32, r->rows, f.rank);
    tensors_declare(&f.tensors, "columns", TENSORS_F32, r->columns, f.rank);
    if (has_bias) tensors_declare(&f.tensors, "row_biases", TENSORS_F32, r->rows, 0);
    if (has_bias) tensors_declare(&f.tensors, "column_biases", TENSORS_F32, r->columns, 0);
    if (has_names) tensors_declare(&f.tensors, "row_names", TENSORS_U8, r->row_names.text_length, 0);
    if (has_names) tensors_declare(&f.tensors, "column_names", TENSORS_U8, r->column_names.text_length, 0);
    tensors_begin(&f.tensors);
    rows_visit(m, MF_ROWS, 0, r->rows, add_factor, &f);
    rows_visit(m, MF_COLS, 0, r->columns, add_factor, &f);
    if (has_bias) rows_visit(m, MF_ROWS, 0, r->rows, add_bias, &f);
    if (has_bias) rows_visit(m, MF_COLS, 0, r->columns, add_bias, &f);
    if (has_names) add_names(&f, &r->row_names);
    if (has_names) add_names(&f, &r->column_names);
    tensors_close(&f.tensors);
}
