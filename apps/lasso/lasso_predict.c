#include "columns.h"
#include "fail.h"
#include "libsvm.h"
#include "predict.h"
#include "programs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct using
{
    uint64_t step; /* --step, from 1; 0: the last */
    bool is_logistic;
    double intercept;
    double *coefficients;
    uint64_t count;
    struct names names;
};

static void options(void *using, struct args_list *list)
{
    struct using *u = using;
    const struct args_option step[] = {
        OPTION_COUNT("--step", "N", &u->step, 0, 1e6, 0,
                     "the model of this step of a path, from 1; 0: the last")};
    args_add(list, step, 1);
}

/* The model of a step of the path instead of the last one. */
static void take_step(struct predict *p)
{
    struct using *u = p->program;
    const struct saved *s = &p->model;
    if (!saved_find(s, "path.starts", TENSORS_I64))
        saved_fail(s, "has one model, no path: leave --step out");
    const struct saved_tensor *intercepts = saved_take(s, "path.intercepts", TENSORS_F64, 0, 0),
                              *columns = saved_take(s, "path.columns", TENSORS_I64, 0, 0),
                              *values = saved_take(s, "path.values", TENSORS_F64, columns->rows, 0);
    const int64_t *starts =
        saved_take(s, "path.starts", TENSORS_I64, intercepts->rows + 1, 0)->values;
    if (u->step > intercepts->rows)
        saved_fail(s, "has a path of %" PRIu64 " steps: --step %" PRIu64 " is none of them",
                   intercepts->rows, u->step);
    u->intercept = ((const double *)intercepts->values)[u->step - 1];
    memset(u->coefficients, 0, u->count * sizeof *u->coefficients);
    for (int64_t i = starts[u->step - 1]; i < starts[u->step]; i++) {
        bool is_value = i >= 0 && (uint64_t)i < columns->rows;
        int64_t column = is_value ? ((const int64_t *)columns->values)[i] : -1;
        if (column < 0 || (uint64_t)column >= u->count)
            saved_fail(s, "its path has columns that the model does not have");
        u->coefficients[column] = ((const double *)values->values)[i];
    }
}

static void open(struct predict *p)
{
    struct using *u = p->program;
    const struct saved *s = &p->model;
    const struct saved_tensor *t = saved_take(s, "coefficients", TENSORS_F64, 0, 0);
    u->is_logistic = saved_says(s, "loss", "logistic");
    u->intercept = saved_number(s, "intercept");
    u->count = t->rows;
    u->coefficients = take_memory(u->count + 1, sizeof *u->coefficients);
    memcpy(u->coefficients, t->values, u->count * sizeof *u->coefficients);
    saved_names(s, "columns", u->count, &u->names);
    if (u->step > 0) take_step(p);
}

/* A column that the model does not have was constant when it was learned: it tells nothing. */
static void answer(struct predict *p)
{
    const struct using *u = p->program;
    struct libsvm line;
    struct libsvm_pair pair;
    double sum = u->intercept;
    libsvm_take_line(&line, &p->lines);
    while (libsvm_pair(&line, "index", &pair)) {
        if (pair.has_field || pair.index == 0)
            lines_fail(&p->lines, "must have index:value, with indices from 1");
        double value = lines_take_number(&line.lines, pair.value, "value");
        uint32_t column = columns_find_number(&u->names, u->count, pair.index);
        if (column != NAMES_NONE) sum += u->coefficients[column] * value;
    }
    predict_number(p, u->is_logistic ? "probability" : "response",
                   u->is_logistic ? 1 / (1 + exp(-sum)) : sum);
    predict_end(p);
}

static void close(struct predict *p)
{
    struct using *u = p->program;
    free(u->coefficients);
    names_fini(&u->names);
}

const struct predict_kind lasso_predict_kind = {
    .model = "|lasso|",
    .about =
        "Predicts the response of each line of FILE, or of stdin, by a model that locus-lasso has saved; with the\n"
        "logistic loss, how likely it is 1. Lines are LIBSVM: index:value, indices from 1; a response in front is\n"
        "passed over.",
    .more = "A number a line out.\n\n"
            "example:\n"
            "  locus-lasso predict model.safetensors test.svm",
    .program_bytes = sizeof(struct using),
    .options = options,
    .open = open,
    .answer = answer,
    .close = close};
