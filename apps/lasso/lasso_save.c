#include "lasso_save.h"

#include "tensors.h"

#include <stdlib.h>

static void declare_path(const struct lasso_models *p, struct tensors *t)
{
    uint64_t steps = p->steps;
    tensors_declare(t, "path.starts", TENSORS_I64, steps + 1, 0);
    tensors_declare(t, "path.columns", TENSORS_I64, p->count, 0);
    tensors_declare(t, "path.values", TENSORS_F64, p->count, 0);
    tensors_declare(t, "path.intercepts", TENSORS_F64, steps, 0);
    tensors_declare(t, "path.lambdas", TENSORS_F64, steps, 0);
}

static void write_path(const struct lasso_models *p, struct tensors *t)
{
    size_t steps = p->steps;
    tensors_write(t, p->starts, (steps + 1) * sizeof *p->starts);
    tensors_write(t, p->columns, p->count * sizeof *p->columns);
    tensors_write(t, p->values, p->count * sizeof *p->values);
    tensors_write(t, p->intercepts, steps * sizeof *p->intercepts);
    tensors_write(t, p->lambdas, steps * sizeof *p->lambdas);
}

static void note(struct tensors *t, const struct lasso *l, const struct lasso_models *p)
{
    tensors_note(t, "model", "lasso");
    tensors_note(t, "loss", lasso_loss_name(l->options.loss));
    tensors_note_number(t, "intercept", p->intercepts[p->steps - 1]);
    tensors_note_number(t, "lambda", p->lambdas[p->steps - 1]);
}

void lasso_save(const struct lasso *l, const struct lasso_models *p)
{
    const struct columns *c = &l->columns;
    double *last = lasso_models_dense(p, p->steps - 1, c->count);
    struct tensors t;
    tensors_open(&t, l->options.common.out);
    note(&t, l, p);
    tensors_declare(&t, "coefficients", TENSORS_F64, c->count, 0);
    if (c->names.count > 0) tensors_declare(&t, "columns", TENSORS_U8, c->names.text_length, 0);
    if (p->steps > 1) declare_path(p, &t);
    tensors_begin(&t);
    tensors_write(&t, last, c->count * sizeof *last);
    if (c->names.count > 0) tensors_write_names(&t, &c->names);
    if (p->steps > 1) write_path(p, &t);
    tensors_close(&t);
    free(last);
}
