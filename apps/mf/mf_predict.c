#include "fail.h"
#include "predict.h"
#include "programs.h"
#include "ratings.h"
#include "vec.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- a row that the model does not know, from its ratings ---- */

struct fold_in {
    size_t numbers;
    double *matrix, *target; /* of the normal equations; the matrix' lower half */
};

static void fold_in_open(struct fold_in *f, size_t numbers)
{
    f->numbers = numbers;
    f->matrix = take_memory(numbers * numbers, sizeof *f->matrix);
    f->target = take_memory(numbers, sizeof *f->target);
}

static void fold_in_close(struct fold_in *f)
{
    free(f->matrix);
    free(f->target);
    *f = (struct fold_in){0};
}

/* The column's numbers, and the rating less what is known without the row. */
static void fold_in_cell(struct fold_in *f, const float *column, double rating)
{
    for (size_t i = 0; i < f->numbers; i++) {
        double *line = f->matrix + i * f->numbers;
        for (size_t j = 0; j <= i; j++) line[j] += (double)column[i] * (double)column[j];
        f->target[i] += rating * (double)column[i];
    }
}

/* Cholesky's: the matrix becomes its root. */
static void take_root(struct fold_in *f)
{
    size_t n = f->numbers;
    for (size_t i = 0; i < n; i++) {
        double *line = f->matrix + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = f->matrix + j * n;
            double rest = line[j];
            for (size_t k = 0; k < j; k++) rest -= line[k] * other[k];
            line[j] = i == j ? sqrt(rest) : rest / other[j];
        }
    }
}

/* `ridge`: the regularization of all cells together. */
static void fold_in_row(struct fold_in *f, double ridge, float *row)
{
    const double least = 1e-9; /* where ratings do not tell all numbers */
    size_t n = f->numbers;
    double *x = f->target, largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, f->matrix[i * n + i]);
    for (size_t i = 0; i < n; i++) f->matrix[i * n + i] += fmax(ridge, least * (largest + 1));
    take_root(f);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) x[i] -= f->matrix[i * n + k] * x[k];
        x[i] /= f->matrix[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) x[i] -= f->matrix[k * n + i] * x[k];
        x[i] /= f->matrix[i * n + i];
        row[i] = (float)x[i];
    }
    memset(f->matrix, 0, n * n * sizeof *f->matrix);
    memset(f->target, 0, n * sizeof *f->target);
}

struct using
{
    const char *known; /* --known */
    size_t rank;
    double mean;
    const struct saved_tensor *rows, *columns, *row_biases, *column_biases;
    struct names row_names, column_names;
    uint64_t *cells; /* known ones: row and column, ascending */
    size_t cell_count;
    /* Rows that the known ratings have and the model has not, behind the model's: their factors and
     * biases. */
    struct names new_names;
    float *new_rows;
};

static void options(void *using, struct args_list *list)
{
    struct using *u = using;
    const struct args_option known[] = {OPTION_TEXT(
        "--known", "PATH", &u->known, 0,
        "ratings whose columns are left out of their rows' best:\nthose to train with, say; as --data. Rows that the\nmodel does not know get their factors by them")};
    args_add(list, known, 1);
}

static size_t numbers_of(const struct using *u)
{
    return u->rank + (u->row_biases != NULL);
}

static const float *factor_of(const struct using *u, uint32_t row)
{
    if (row < u->rows->rows) return saved_row(u->rows, row);
    return u->new_rows + (row - u->rows->rows) * numbers_of(u);
}

static float bias_of(const struct using *u, uint32_t row)
{
    return row < u->rows->rows ? *saved_row(u->row_biases, row) : factor_of(u, row)[u->rank];
}

/* Of what the model does not know the mean, and the other's bias. */
static float rating(const struct using *u, uint32_t row, uint32_t column)
{
    bool has_row = row != NAMES_NONE, has_column = column != NAMES_NONE;
    float sum = (float)u->mean;
    if (has_row && u->row_biases) sum += bias_of(u, row);
    if (has_column && u->row_biases) sum += *saved_row(u->column_biases, column);
    if (has_row && has_column)
        sum += vec_best()->dot(factor_of(u, row), saved_row(u->columns, column), u->rank);
    return sum;
}

/* The model's number of what a file of ratings calls so. */
static uint32_t number_of(const struct names *of_file, uint32_t number, const struct names *names,
                          uint64_t rows)
{
    char text[PREDICT_NUMBER_BYTES];
    return predict_row(names, rows, predict_called(of_file, number, 1, text), 1);
}

/* In the model, or a new row. */
static uint32_t row_of(struct using *u, const struct names *of_file, uint32_t number)
{
    char text[PREDICT_NUMBER_BYTES];
    uint32_t row = number_of(of_file, number, &u->row_names, u->rows->rows);
    if (row != NAMES_NONE) return row;
    struct field name = predict_called(of_file, number, 1, text);
    return (uint32_t)u->rows->rows + names_add(&u->new_names, name.text, name.length);
}

static int by_row(const void *a, const void *b)
{
    const struct rating *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* `list`: cells of the model's columns. */
static void fold_in_rows(struct using *u, const struct saved *s, struct rating *list, size_t count)
{
    double each = saved_number(s, "regularization");
    bool is_in_all = saved_says(s, "method", "cd");
    size_t numbers = numbers_of(u), cells = 0;
    float *column = take_memory(numbers + 1, sizeof *column);
    struct fold_in f;
    fold_in_open(&f, numbers);
    qsort(list, count, sizeof *list, by_row);
    for (size_t i = 0; i < count; i++) {
        const struct rating *x = &list[i];
        if (x->row < u->rows->rows) continue;
        memcpy(column, saved_row(u->columns, x->column), u->rank * sizeof *column);
        column[u->rank] = 1;
        fold_in_cell(&f, column, (double)x->value - (double)rating(u, NAMES_NONE, x->column));
        cells++;
        if (i + 1 < count && list[i + 1].row == x->row) continue;
        fold_in_row(&f, is_in_all ? each : each * (double)cells,
                    u->new_rows + (x->row - u->rows->rows) * numbers);
        cells = 0;
    }
    fold_in_close(&f);
    free(column);
}

static void load_known(struct using *u, const struct saved *s)
{
    struct ratings r;
    const char *note = saved_note(s, "implicit");
    uint64_t absent = note ? strtoull(note, NULL, 10) : 0;
    size_t kept = 0;
    if (absent > RATINGS_ABSENT_MAX) absent = RATINGS_ABSENT_MAX;
    ratings_init(&r);
    r.is_implicit = absent > 0;
    ratings_load(&r, u->known, NULL, 0, 1, 1);
    u->cells = take_memory(r.train + 1, sizeof *u->cells);
    for (size_t i = 0; i < r.train; i++) {
        uint32_t column =
            number_of(&r.column_names, r.list[i].column, &u->column_names, u->columns->rows);
        if (column == NAMES_NONE) continue;
        struct rating x = {row_of(u, &r.row_names, r.list[i].row), column, r.list[i].value};
        u->cells[u->cell_count++] = (uint64_t)x.row << 32 | x.column;
        r.list[kept++] = x;
    }
    r.train = kept;
    r.columns = (uint32_t)u->columns->rows;
    if (absent > 0 && kept > 0) ratings_add_absent(&r, absent, 1);
    u->new_rows = take_memory(u->new_names.count * numbers_of(u) + 1, sizeof *u->new_rows);
    if (u->new_names.count > 0) fold_in_rows(u, s, r.list, r.train);
    ratings_fini(&r);
    qsort(u->cells, u->cell_count, sizeof *u->cells, ratings_compare);
}

static void open(struct predict *p)
{
    struct using *u = p->program;
    const struct saved *s = &p->model;
    u->rank = (size_t)saved_number(s, "rank");
    u->mean = saved_number(s, "mean");
    u->rows = saved_take(s, "rows", TENSORS_F32, 0, u->rank);
    u->columns = saved_take(s, "columns", TENSORS_F32, 0, u->rank);
    if (saved_find(s, "row_biases", TENSORS_F32)) {
        u->row_biases = saved_take(s, "row_biases", TENSORS_F32, u->rows->rows, 0);
        u->column_biases = saved_take(s, "column_biases", TENSORS_F32, u->columns->rows, 0);
    }
    saved_names(s, "row_names", u->rows->rows, &u->row_names);
    saved_names(s, "column_names", u->columns->rows, &u->column_names);
    names_init(&u->new_names);
    p->alone[0] = &u->row_names;
    p->alone[1] = &u->new_names;
    if (u->known) load_known(u, s);
}

static void say_best(struct predict *p, uint32_t row)
{
    const struct using *u = p->program;
    const uint64_t *known = ratings_of_row(u->cells, u->cell_count, row),
                   *end = u->cells + u->cell_count;
    if (row == NAMES_NONE) return;
    for (uint32_t c = 0; c < u->columns->rows; c++) {
        uint64_t cell = (uint64_t)row << 32 | c;
        while (known < end && *known < cell) known++;
        if (known == end || *known != cell) predict_offer(p, c, rating(u, row, c));
    }
    for (size_t i = 0; i < p->candidate_count; i++) {
        predict_text(p, "row", p->field[0]);
        predict_name(p, "column", &u->column_names, p->candidates[i].number, 1);
        predict_number(p, "rating", (double)p->candidates[i].score);
        predict_end(p);
    }
}

static uint32_t known_row(const struct using *u, struct field name)
{
    uint32_t row = predict_row(&u->row_names, u->rows->rows, name, 1);
    if (row != NAMES_NONE || u->new_names.count == 0) return row;
    row = names_find(&u->new_names, name.text, name.length);
    return row == NAMES_NONE ? row : (uint32_t)u->rows->rows + row;
}

static void answer(struct predict *p)
{
    const struct using *u = p->program;
    uint32_t row = known_row(u, p->field[0]), column = 0;
    if (p->fields > 1) column = predict_row(&u->column_names, u->columns->rows, p->field[1], 1);
    p->unknown += row == NAMES_NONE || column == NAMES_NONE;
    if (p->fields == 1) {
        say_best(p, row);
        return;
    }
    predict_text(p, "row", p->field[0]);
    predict_text(p, "column", p->field[1]);
    predict_number(p, "rating", (double)rating(u, row, column));
    predict_end(p);
}

static void close(struct predict *p)
{
    struct using *u = p->program;
    names_fini(&u->row_names);
    names_fini(&u->column_names);
    names_fini(&u->new_names);
    free(u->new_rows);
    free(u->cells);
}

const struct predict_kind mf_predict_kind = {
    .model = "|factors|",
    .about =
        "Predicts ratings by a model that locus-mf has saved, of a row and a column in each line of FILE or\n"
        "of stdin, with a tab, a comma or blanks between. Of a line with a row alone: its best columns.",
    .more =
        "A line out: row, column and rating. Of a row or a column that the model does not know: the mean and the\n"
        "other's bias. A row of --known has a factor, and a bias, that suits its ratings best.\n\n"
        "example:\n"
        "  cut -f1,2 test.tsv | locus-mf predict factors.safetensors\n"
        "  echo Anna | locus-mf predict --best 5 --known ratings.tsv factors.safetensors",
    .program_bytes = sizeof(struct using),
    .fields_max = 2,
    .best = 10,
    .best_help = "columns of a row alone",
    .options = options,
    .open = open,
    .answer = answer,
    .close = close};
