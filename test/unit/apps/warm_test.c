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
static void write_model(const char *names)
{
    static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8}, biases[] = {10, 20, 30, 40};
    CLOSED_BY(tensors_close) struct tensors t;
    folder_new(folder);
    snprintf(path, sizeof path, "%s/model", folder);
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
    write_model("a\nb\n");
    ends_with(run, &BCA, 0, ROWS_OF_BCA);
    ends_with(run, &BCA, 0, "4 of 6 rows of \"rows\" begin as");
    ends_with(run, &(struct job){.names = "xyz", .count = 2}, 1,
              "has no row of \"rows\" that the data name");
    ends_with(run, &(struct job){.names = "", .count = 2}, 1,
              "has names of rows, and the data have none");
    write_model("a\nb\nc\n");
    ends_with(run, &BCA, 1, "\"names\" are not the names of \"rows\"");
    write_model(NULL); /* they are known by their numbers */
    ends_with(run, &(struct job){.names = "", .count = 2}, 0,
              "1 2 10 0;3 4 20 0;5 6 30 0;7 8 40 0;-4 -4 -4 0;-5 -5 -5 0;");
}

#define F32(shape, offsets) \
    "{\"rows\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}}"

TEST(warm, headers_that_are_wrong_are_refused)
{
    static const struct {
        const char *header, *part;
    } cases[] = {
        {"{}", "header is not to be understood"},
        {"{\"a\":1, \"a\":2}", "header is not to be understood"},
        {F32("9", "0,36"), "is cut off"},
        {F32("3", "0,8"), "another size"},
        {F32("1,2,1", "0,8"), "header is not to be understood"},
        {"{\"rows\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}}", "type BF16"},
    };
    folder_new(folder);
    snprintf(path, sizeof path, "%s/model", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        uint64_t length = (strlen(cases[i].header) + 7) / 8 * 8;
        memcpy(text, &length, sizeof length);
        snprintf(text + 8, sizeof text - 8, "%-*s12345678", (int)length, cases[i].header);
        folder_write(folder, "model", text, length + 16);
        ends_with(run, &BCA, 1, cases[i].part);
    }
    folder_write(folder, "model", "2 2\na 1 2\nb 3 4\n", 0);
    ends_with(run, &BCA, 1, "\"locus prepare vectors\" makes one of word vectors");
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
    write_model("a\nb\n");
    ends_with(check_names, "ab", 0, "");
    ends_with(check_names, "ba", 1, "has not \"b\" at place 0 of \"names\"");
    ends_with(check_names, "abc", 1, "has not \"c\" at place 2");
    ends_with(check_names, "a", 1, "has more \"names\" than the data");
}

/* Word vectors alone have no outputs. */
TEST(warm, a_table_of_zeros_may_stay_one)
{
    struct job j = {.names = "bca", .count = 2, .part = "none"};
    write_model("a\nb\n");
    ends_with(run, &j, 0, "0 0 0 0;0 0 0 0;0 0 0 0;0 0 0 0;0 0 0 0;0 0 0 0;");
    j.is_drawn = true;
    ends_with(run, &j, 1, "has no tensor \"none\": is it a model of");
    j = (struct job){.names = "bca", .count = 2, .part = "rows"};
    ends_with(run, &j, 0, "3 4 0 0;0 0 0 0;1 2 0 0;7 8 0 0;0 0 0 0;5 6 0 0;");
}

/* As of "locus prepare vectors": any program takes words alone. */
TEST(warm, words_are_rows_of_the_first_table)
{
    static const float values[] = {1, 2, 3, 4};
    folder_new(folder);
    snprintf(path, sizeof path, "%s/words", folder);
    {
        CLOSED_BY(tensors_close) struct tensors t;
        tensors_open(&t, path);
        tensors_declare(&t, "inputs", TENSORS_F32, 2, 2);
        tensors_declare(&t, "word_names", TENSORS_U8, 4, 0);
        tensors_begin(&t);
        tensors_write(&t, values, sizeof values);
        tensors_write(&t, "a\nb\n", 4);
    }
    ends_with(run, &BCA, 0, "3 4 -0 0;-1 -1 -1 0;1 2 -2 0;-3 -3 -3 0;-4 -4 -4 0;-5 -5 -5 0;");
}
