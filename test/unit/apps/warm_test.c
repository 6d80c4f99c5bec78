/* A training that begins with a model's rows, by hand. */
#include "common/folder.h"
#include "ending.h"
#include "tensors.h"
#include "test.h"
#include "warm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, LENGTH = 4, WORKERS = 2 };

static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES];

/* Rows a, b, and second ones of both: 1 2, 3 4, 5 6, 7 8; biases 10, 20, 30, 40. */
static void write_model(const char *file, const char *names)
{
    static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8}, biases[] = {10, 20, 30, 40};
    CLOSED_BY(tensors_close) struct tensors t;
    folder_new(folder);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    tensors_open(&t, path);
    tensors_declare(&t, "rows", TENSORS_F32, 4, 2);
    tensors_declare(&t, "biases", TENSORS_F32, 4, 0);
    if (names) tensors_declare(&t, "names", TENSORS_U8, strlen(names), 0);
    tensors_begin(&t);
    tensors_write(&t, values, sizeof values);
    tensors_write(&t, biases, sizeof biases);
    tensors_write(&t, names, names ? strlen(names) : 0);
}

struct job {
    const char *names; /* a letter each */
    size_t count;      /* of the first part */
    const char *part;  /* another one, of a table that begins with zeros, unless it is drawn */
    bool is_drawn;
};

static void draw(const void *unused, uint64_t row, float *values)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH - 1; i++) values[i] = -(float)row;
}

static void work(struct pool_member *m, void *job)
{
    const struct job *j = job;
    const struct warm_part parts[] = {{"rows", "names", 0, j->count},
                                      {"biases", NULL, j->count, 1}};
    CLOSED_BY(names_fini) struct names n;
    names_init(&n);
    for (const char *c = j->names; *c; c++) names_add(&n, c, 1);
    if (j->part)
        warm_init(m, 0, path, &(struct warm_part){j->part, "names", 0, j->count}, 1, &n,
                  j->is_drawn ? draw : NULL, NULL);
    else
        warm_init(m, 0, path, parts, 2, &n, draw, NULL);
}

static void run(const void *job)
{
    struct job j = *(const struct job *)job;
    const struct locus_table table = {.name = "rows", .rows = ROWS, .length = LENGTH};
    CLOSED_BY(pool_close) struct pool pool;
    pool_open(&pool,
              &(struct pool_config){
                  .tables = &table, .table_count = 1, .workers = WORKERS, .is_baseline = true});
    pool_run(&pool, work, &j);
    for (size_t i = 0; i < (size_t)ROWS * LENGTH; i++)
        printf("%g%s", (double)pool.tables[0].values[i], i % LENGTH == LENGTH - 1 ? ";" : " ");
}

#define BCA ((struct job){.names = "bca", .count = 2})
#define ROWS_OF_BCA "3 4 20 0;-1 -1 -1 0;1 2 10 0;7 8 40 0;-4 -4 -4 0;5 6 30 0;"

/* b, c and a, and second ones; the last float is the optimizer's. */
TEST(warm, rows_of_known_names_are_the_models)
{
    write_model("model", "a\nb\n");
    ends_with(run, &BCA, 0, ROWS_OF_BCA);
    ends_with(run, &BCA, 0, "4 of 6 rows of \"rows\" begin as");
    ends_with(run, &(struct job){.names = "xyz", .count = 2}, 1,
              "has no row of \"rows\" that the data name");
    ends_with(run, &(struct job){.names = "", .count = 2}, 1,
              "has names of rows, and the data have none");
    write_model("model", "a\nb\nc\n");
    ends_with(run, &BCA, 1, "\"names\" are not the names of \"rows\"");
    write_model("model", NULL); /* they are known by their numbers */
    ends_with(run, &(struct job){.names = "", .count = 2}, 0,
              "1 2 10 0;3 4 20 0;5 6 30 0;7 8 40 0;-4 -4 -4 0;-5 -5 -5 0;");
}

/* What is whole, and of NumPy's own, is test/programs/test_saved.py's. */
TEST(warm, an_archive_that_is_cut_off_is_refused)
{
    size_t length;
    write_model("model.npz", "a\nb\n");
    ends_with(run, &BCA, 0, ROWS_OF_BCA);
    CLOSED_BY(free_at) char *text = folder_read(folder, "model.npz", &length);
    for (size_t left = 2; left < length; left += 97) {
        folder_write(folder, "model.npz", text, left);
        ends_with(run, &BCA, 1, "is no archive of NumPy, or is cut off or damaged");
    }
    *strstr((char *)memmem(text, length, "'<f", 3), "4") = '9'; /* a type that there is not */
    folder_write(folder, "model.npz", text, length);
    ends_with(run, &BCA, 1, "is no archive of NumPy, or is cut off or damaged");
    const char *array = memmem(text, length, "\x93NUMPY", 6);
    folder_write(folder, "model.npz", array, 200);
    ends_with(run, &BCA, 1, "is one array, without names of its rows: numpy.savez() writes both");
}

static void check_names(const void *letters)
{
    CLOSED_BY(names_fini) struct names n;
    names_init(&n);
    for (const char *l = letters; *l; l++) names_add(&n, l, 1);
    warm_check_names(path, "names", &n);
}

TEST(warm, check_names_refuses_other_names_and_places)
{
    write_model("model", "a\nb\n");
    ends_with(check_names, "ab", 0, "");
    ends_with(check_names, "ba", 1, "has not \"b\" at place 0 of \"names\"");
    ends_with(check_names, "abc", 1, "has not \"c\" at place 2");
    ends_with(check_names, "a", 1, "has more \"names\" than the data");
}

/* As word2vec's files, and archives of such vectors, have no outputs. */
TEST(warm, a_table_of_zeros_may_stay_one)
{
    struct job j = {.names = "bca", .count = 2, .part = "none"};
    write_model("model", "a\nb\n");
    ends_with(run, &j, 0, "0 0 0 0;0 0 0 0;0 0 0 0;0 0 0 0;0 0 0 0;0 0 0 0;");
    j.is_drawn = true;
    ends_with(run, &j, 1, "has no tensor \"none\": is it a model of");
    j = (struct job){.names = "bca", .count = 2, .part = "rows"};
    ends_with(run, &j, 0, "3 4 0 0;0 0 0 0;1 2 0 0;7 8 0 0;0 0 0 0;5 6 0 0;");
}

TEST(warm, words_are_rows_of_the_first_table)
{
    folder_new(folder);
    folder_write(folder, "words", "2 2\na 1 2\nb 3 4\n", 0);
    snprintf(path, sizeof path, "%s/words", folder);
    ends_with(run, &BCA, 0, "3 4 -0 0;-1 -1 -1 0;1 2 -2 0;-3 -3 -3 0;-4 -4 -4 0;-5 -5 -5 0;");
}
