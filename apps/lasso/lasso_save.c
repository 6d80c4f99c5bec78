#include "lasso_save.h"

#include "fail.h"
#include "lasso_options.h"
#include "rows.h"
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct scaled {
    const struct lasso *lasso;
    float *coefficients;
    double intercept;
    bool is_centred; /* are those columns whose mean is kept beside them? */
};

/* A centred column of unit norm is (x - mean) / norm, one that is used as it is x / norm. */
static void scale_back(void *scaled, uint64_t variable, const float *value)
{
    struct scaled *s = scaled;
    const struct columns *c = &s->lasso->columns;
    uint64_t j = lasso_column(s->lasso, variable);
    double norm = c->norm[j], coefficient = norm > 0 ? (double)*value / norm : 0;
    s->coefficients[j] = (float)coefficient;
    bool is_beside = fabs(c->shift[j]) > 0;
    if (s->is_centred || !is_beside) s->intercept -= coefficient * c->mean[j];
}

void lasso_save(const struct lasso *l, struct pool_member *m, double intercept)
{
    const struct columns *c = &l->columns;
    bool is_logistic = l->options.loss == LASSO_LOGISTIC;
    struct scaled s = {.lasso = l,
                       .is_centred = !is_logistic,
                       .intercept = is_logistic ? intercept : c->response_mean};
    struct tensors t;
    char text[64];
    s.coefficients = take_memory(c->count, sizeof *s.coefficients);
    rows_visit(m, LASSO_COEFFICIENTS, 0, c->count, scale_back, &s);
    tensors_open(&t, l->options.common.out);
    tensors_note(&t, "model", "lasso");
    tensors_note(&t, "loss", lasso_loss_name(l->options.loss));
    snprintf(text, sizeof text, "%.17g", s.intercept);
    tensors_note(&t, "intercept", text);
    snprintf(text, sizeof text, "%.17g", lasso_lambda(l, l->options.path - 1));
    tensors_note(&t, "lambda", text);
    tensors_declare(&t, "coefficients", TENSORS_F32, c->count, 0);
    if (c->names.count > 0) tensors_declare(&t, "columns", TENSORS_U8, c->names.text_length, 0);
    tensors_begin(&t);
    tensors_write(&t, s.coefficients, c->count * sizeof *s.coefficients);
    if (c->names.count > 0) tensors_write_names(&t, &c->names);
    tensors_close(&t);
    free(s.coefficients);
}
