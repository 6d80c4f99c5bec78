#include "fail.h"
#include "predict.h"
#include "programs.h"
#include "ratings.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

struct using
{
    const char *known; /* --known */
    size_t rank;
    double mean;
    const struct saved_tensor *rows, *columns, *row_biases, *column_biases;
    struct names row_names, column_names;
    uint64_t *cells; /* known ones: row and column, ascending */
    size_t cell_count;
};

static void options(void *using, struct args_list *list)
{
    struct using *u = using;
    const struct args_option known[] = {OPTION_TEXT(
        "--known", "PATH", &u->known, 0,
        "ratings whose columns are left out of their rows' best:\nthose to train with, say; as --data")};
    args_add(list, known, 1);
}

/* The model's number of what a file of ratings calls so. */
static uint32_t number_of(const struct names *of_file, uint32_t number, const struct names *names,
                          uint64_t rows)
{
    char text[16];
    snprintf(text, sizeof text, "%u", number + 1);
    const char *name = of_file->count > 0 ? names_get(of_file, number) : text;
    return predict_row(names, rows, (struct field){name, strlen(name)}, 1);
}

static void load_known(struct using *u)
{
    struct ratings r;
    ratings_init(&r);
    ratings_load(&r, u->known, NULL, 0, 1, 1);
    u->cells = take_memory(r.train + r.test + 1, sizeof *u->cells);
    for (size_t i = 0; i < r.train + r.test; i++) {
        uint32_t row = number_of(&r.row_names, r.list[i].row, &u->row_names, u->rows->rows),
                 column = number_of(&r.column_names, r.list[i].column, &u->column_names,
                                    u->columns->rows);
        if (row != NAMES_NONE && column != NAMES_NONE)
            u->cells[u->cell_count++] = (uint64_t)row << 32 | column;
    }
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
    if (u->known) load_known(u);
}

/* Of what the model does not know the mean, and the other's bias. */
static float rating(const struct using *u, uint32_t row, uint32_t column)
{
    bool has_row = row != NAMES_NONE, has_column = column != NAMES_NONE;
    float sum = (float)u->mean;
    if (has_row && u->row_biases) sum += *saved_row(u->row_biases, row);
    if (has_column && u->row_biases) sum += *saved_row(u->column_biases, column);
    if (has_row && has_column)
        sum += vec_best()->dot(saved_row(u->rows, row), saved_row(u->columns, column), u->rank);
    return sum;
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

static void answer(struct predict *p)
{
    const struct using *u = p->program;
    uint32_t row = predict_row(&u->row_names, u->rows->rows, p->field[0], 1), column = 0;
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
    free(u->cells);
}

const struct predict_kind mf_predict_kind = {
    .model = "|factors|",
    .about =
        "Predicts ratings by a model that locus-mf has saved, of a row and a column in each line of FILE or\n"
        "of stdin, with a tab, a comma or blanks between. Of a line with a row alone: its best columns.",
    .more =
        "A line out: row, column and rating. Of a row or a column that the model does not know: the mean and the\n"
        "other's bias.\n\n"
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
