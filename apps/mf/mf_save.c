#include "mf_save.h"

#include "rows.h"
#include "tensors.h"

#include <stdio.h>

static void note(struct tensors *t, const struct mf *mf)
{
    char text[64];
    tensors_note(t, "model", "factors");
    tensors_note_count(t, "rank", mf->options.rank);
    snprintf(text, sizeof text, "%.17g", mf->ratings.mean);
    tensors_note(t, "mean", text);
    tensors_note(t, "data", mf_source(mf));
}

void mf_save(const struct mf *mf, struct pool_member *m)
{
    const struct ratings *r = &mf->ratings;
    const struct names *rows = &r->row_names, *columns = &r->column_names;
    bool has_bias = mf->options.has_bias;
    size_t rank = mf->options.rank;
    struct tensors t;
    tensors_open(&t, mf->options.common.out);
    note(&t, mf);
    tensors_declare(&t, "rows", TENSORS_F32, r->rows, rank);
    tensors_declare(&t, "columns", TENSORS_F32, r->columns, rank);
    if (has_bias) tensors_declare(&t, "row_biases", TENSORS_F32, r->rows, 0);
    if (has_bias) tensors_declare(&t, "column_biases", TENSORS_F32, r->columns, 0);
    if (rows->count > 0) tensors_declare(&t, "row_names", TENSORS_U8, rows->text_length, 0);
    if (columns->count > 0)
        tensors_declare(&t, "column_names", TENSORS_U8, columns->text_length, 0);
    tensors_begin(&t);
    rows_save(m, MF_ROWS, 0, rank, &t);
    rows_save(m, MF_COLS, 0, rank, &t);
    if (has_bias) rows_save(m, MF_ROWS, rank, 1, &t);
    if (has_bias) rows_save(m, MF_COLS, rank, 1, &t);
    tensors_write_names(&t, rows);
    tensors_write_names(&t, columns);
    tensors_close(&t);
}
