/* Models that are written here by hand, and what must follow from their numbers. */
#include "common/folder.h"
#include "ending.h"
#include "predict.h"
#include "programs.h"
#include "tensors.h"
#include "test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_file; /* lines are read from a file, not from stdin */
static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES], said[8192];

/* ---- a model ---- */

struct part {
    const char *name;
    enum tensors_type type;
    unsigned rows, columns;
    const void *values;
};

/* Notes: "name=value" one after the other, NULL at the end; parts likewise. */
static void write_model(const char *const *notes, const struct part *parts)
{
    CLOSED_BY(tensors_close) struct tensors t;
    folder_new(folder);
    snprintf(path, sizeof path, "%s/model", folder);
    tensors_open(&t, path);
    for (; *notes; notes++) {
        char name[32];
        const char *value = strchr(*notes, '=');
        snprintf(name, sizeof name, "%.*s", (int)(value - *notes), *notes);
        tensors_note(&t, name, value + 1);
    }
    for (const struct part *p = parts; p->name; p++)
        tensors_declare(&t, p->name, p->type, p->rows, p->columns);
    tensors_begin(&t);
    for (const struct part *p = parts; p->name; p++)
        tensors_write(&t, p->values,
                      (size_t)p->rows * (p->columns ? p->columns : 1) *
                          tensors_types[p->type].bytes);
}

#define FLOATS(name, rows, columns, ...) \
    { \
        name, TENSORS_F32, rows, columns, (const float[]) \
        { \
            __VA_ARGS__ \
        } \
    }
#define DOUBLES(name, rows, columns, ...) \
    { \
        name, TENSORS_F64, rows, columns, (const double[]) \
        { \
            __VA_ARGS__ \
        } \
    }
#define NAMES(name, text) \
    { \
        name, TENSORS_U8, sizeof(text) - 1, 0, text \
    }
#define NOTES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PARTS(...) ((const struct part[]){__VA_ARGS__, {0}})

/* ---- a prediction ---- */

struct wish {
    const struct predict_kind *kind;
    const char *lines, *options[6];
};

static void run(const void *wish)
{
    const struct wish *w = wish;
    char *argv[16] = {(char *)(uintptr_t) "predict"};
    int argc = 1;
    for (size_t i = 0; i < 6 && w->options[i]; i++) argv[argc++] = (char *)(uintptr_t)w->options[i];
    argv[argc++] = path;
    folder_write(folder, "lines", w->lines, 0);
    if (is_file) argv[argc++] = (char *)(uintptr_t)folder_path(folder, "lines");
    CHECK_EQ(dup2(open(folder_path(folder, "lines"), O_RDONLY), STDIN_FILENO), STDIN_FILENO);
    int status =
        predict_run(w->kind == &wv_predict_kind ? "locus-wv" : "locus-x", w->kind, argc, argv);
    fflush(NULL);
    _exit(status); /* what a sanitizer would say of a forked process is no answer */
}

/* The same, and of numbers nearly. */
static bool are_alike(const char *a, const char *b)
{
    while (*a && *b) {
        char *a_end, *b_end;
        double x = strtod(a, &a_end), y = strtod(b, &b_end);
        bool are_numbers = a_end > a && b_end > b && fabs(x - y) <= 1e-6 * (1 + fabs(y));
        if (!are_numbers && *a != *b) return false;
        a = are_numbers ? a_end : a + 1;
        b = are_numbers ? b_end : b + 1;
    }
    return *a == *b;
}

static void answers(struct wish w, const char *wanted)
{
    CHECK_EQ(ending_of(run, &w, said, sizeof said), 0);
    if (!are_alike(said, wanted))
        test_fail(__FILE__, __LINE__, "answered:\n%s\nnot:\n%s", said, wanted);
}

static void refuses(struct wish w, const char *part)
{
    CHECK_EQ(ending_of(run, &w, said, sizeof said), 1);
    CHECK_STR(said, part);
}

/* ---- the programs ---- */

/* Anna's factor is (1, 2), Bob's (0, 1); x, y and z have (1, 0), (0.5, 1) and (-1, 2). */
static void write_ratings_by(const char *method)
{
    write_model(
        NOTES("model=factors", "rank=2", "mean=3", "regularization=0.25", method),
        PARTS(FLOATS("rows", 2, 2, 1, 2, 0, 1), FLOATS("columns", 3, 2, 1, 0, 0.5F, 1, -1, 2),
              FLOATS("row_biases", 2, 0, 0.25F, -0.5F), FLOATS("column_biases", 3, 0, 0, 0.125F, 1),
              NAMES("row_names", "Anna\nBob\n"), NAMES("column_names", "x\ny\nz\n")));
}

static void write_ratings(void)
{
    write_ratings_by("method=sgd");
}

TEST(predict, mf_adds_mean_biases_and_product)
{
    write_ratings();
    answers((struct wish){&mf_predict_kind,
                          "Anna\tx\n\n# nobody\nBob,z\r\n  Bob   y\nEve x\nBob w",
                          {0}},
            "Anna\tx\t4.25\nBob\tz\t5.5\nBob\ty\t3.625\nEve\tx\t3\nBob\tw\t2.5\n"
            "locus-x: 2 lines with a name that the model does not know\n");
    answers((struct wish){&mf_predict_kind, "Anna x", {"--json"}},
            "{\"event\":\"prediction\",\"row\":\"Anna\",\"column\":\"x\",\"rating\":4.25}\n");
}

TEST(predict, mf_finds_the_best_columns_that_are_not_known)
{
    char known[2 * FOLDER_PATH_BYTES];
    write_ratings();
    answers((struct wish){&mf_predict_kind, "Anna\nBob", {"--best", "2"}},
            "Anna\tz\t7.25\nAnna\ty\t5.875\nBob\tz\t5.5\nBob\ty\t3.625\n");
    folder_write(folder, "known",
                 "user,item,rating\nBob,y,1\nAnna,z,2\n\"Eve, Jr\",z,3\nAnna,w,1\n", 0);
    snprintf(known, sizeof known, "%s/known", folder);
    answers((struct wish){&mf_predict_kind, "Anna\nBob", {"--best", "2", "--known", known}},
            "Anna\ty\t5.875\nAnna\tx\t4.25\nBob\tz\t5.5\nBob\tx\t2.5\n");
    answers((struct wish){&mf_predict_kind, "Eve, Jr", {"--best", "1", "--known", known}},
            "Eve, Jr\tx\t3\n");
}

/* What the normal equations have as their solution, in fractions: for (1, 0, 1) and (1/2, 1, 1),
 * 1 and -9/8, with 1/2 on the diagonal it is (73/148, -69/74, 1/37); with 1/4, as coordinate descent
 * has it, whose regularization is in all, (139/216, -43/36, 5/108). */
TEST(predict, mf_has_factors_of_rows_whose_ratings_are_given)
{
    static const struct {
        const char *method, *answers;
    } cases[] = {{"method=sgd", "Fay\tx\t3.52027035\nFay\ty\t2.46621633\nFay\tz\t1.66891909\n"},
                 {"method=cd", "Fay\tx\t3.68981481\nFay\ty\t2.29861116\nFay\tz\t1.01388884\n"}};
    for (size_t i = 0; i < 2; i++) {
        char known[2 * FOLDER_PATH_BYTES];
        write_ratings_by(cases[i].method);
        folder_write(folder, "known", "user,item,rating\nEve,z,3\nFay,x,4\nFay,w,9\nFay,y,2\n", 0);
        snprintf(known, sizeof known, "%s/known", folder);
        answers((struct wish){&mf_predict_kind, "Fay x\nFay y\nFay z", {"--known", known}},
                cases[i].answers);
        if (i == 0) /* one rating: (-1, 2, 1), -1 and 1/4 */
            answers((struct wish){&mf_predict_kind, "Eve", {"--best", "1", "--known", known}},
                    "Eve\tx\t3\n");
    }
}

/* MatrixMarket has numbers from 1. */
TEST(predict, mf_counts_rows_without_names_from_1)
{
    write_model(NOTES("model=factors", "rank=1", "mean=0"),
                PARTS(FLOATS("rows", 2, 1, 2, 3), FLOATS("columns", 1, 1, 5)));
    answers((struct wish){&mf_predict_kind, "1 1\n2 1\n0 1", {0}},
            "1\t1\t10\n2\t1\t15\n0\t1\t0\n"
            "locus-x: 1 line with a name that the model does not know\n");
    answers((struct wish){&mf_predict_kind, "2", {0}}, "2\t1\t15\n");
    refuses((struct wish){&mf_predict_kind, "1 1 1", {0}}, "stdin:1: has more than 2 fields");
    refuses((struct wish){&mf_predict_kind, "1 1\n\n2", {0}},
            "stdin:3: has 1 field, and the lines before have 2");
}

/* Numbers of one complex each: a = 1, b = i, c = 2; r multiplies by i. i a conj(b) = 1. */
static void write_graph(const char *reciprocal, unsigned relations)
{
    write_model(NOTES("model=complex", "dim=2", reciprocal),
                PARTS(FLOATS("entities", 3, 2, 1, 0, 0, 1, 2, 0),
                      FLOATS("relations", relations, 2, 0, 1, 3, 0),
                      NAMES("entity_names", "a\nb\nthe c\n"), NAMES("relation_names", "r\n")));
}

TEST(predict, kge_scores_facts_and_answers_questions)
{
    write_graph("reciprocal=false", 1);
    answers((struct wish){&kge_predict_kind, "a\tr\tb\nb\tr\ta\nthe c\tr\tb\na\tr\td", {0}},
            "a\tr\tb\t1\nb\tr\ta\t-1\nthe c\tr\tb\t2\na\tr\td\tnan\n"
            "locus-x: 1 line with a name that the model does not know\n");
    answers((struct wish){&kge_predict_kind, "a\tr\t?\n?\tr\tb", {"--best", "2"}},
            "a\tr\tb\t1\na\tr\ta\t0\nthe c\tr\tb\t2\na\tr\tb\t1\n");
    answers((struct wish){&kge_predict_kind, "b", {"--best", "2"}}, "b\ta\t0\nb\tthe c\t0\n");
    answers((struct wish){&kge_predict_kind, " the c", {"--best", "1"}}, "the c\ta\t1\n");
    refuses((struct wish){&kge_predict_kind, "a\tr", {0}},
            "stdin:1: has 2 fields: must be subject");
    /* A question for subjects has the second row, times 3: the score of b for a is that of 3 a. */
    write_graph("reciprocal=true", 2);
    answers((struct wish){&kge_predict_kind, "?\tr\ta", {"--best", "1", "--json"}},
            "{\"event\":\"prediction\",\"subject\":\"the c\",\"relation\":\"r\",\"object\":\"a\","
            "\"score\":6}\n");
}

/* RESCAL: s' R o. */
TEST(predict, kge_knows_rescal)
{
    write_model(NOTES("model=rescal", "dim=2", "reciprocal=false"),
                PARTS(FLOATS("entities", 2, 2, 1, 2, 3, 4), FLOATS("relations", 1, 4, 1, 2, 3, 4),
                      NAMES("entity_names", "a\nb\n"), NAMES("relation_names", "r\n")));
    answers((struct wish){&kge_predict_kind, "a r b\nb r a\n? r b", {"--best", "1"}},
            "a\tr\tb\t61\nb\tr\ta\t59\nb\tr\tb\t133\n");
}

TEST(predict, wv_finds_near_words_and_analogies)
{
    write_model(NOTES("model=skip-gram", "dim=2"),
                PARTS(FLOATS("inputs", 4, 2, 2, 0, 0, 3, 3, 4, -1, 0),
                      NAMES("word_names", "east\nnorth\nne\n#west\n")));
    answers((struct wish){&wv_predict_kind, "east", {"--best", "2"}},
            "east\tne\t0.600000024\neast\tnorth\t0\n");
    answers((struct wish){&wv_predict_kind, "\n#west north east", {0}},
            "#west\tnorth\teast\tne\t0.894427191\n");
    answers((struct wish){&wv_predict_kind, "east ne\nne me", {0}},
            "east\tne\t0.600000024\nne\tme\tnan\n"
            "locus-wv: 1 line with a name that the model does not know\n");
}

/* Vectors (2, 0), (0, 3), (3, 4), as word2vec writes them and as others do. */
TEST(predict, wv_reads_word2vec)
{
    static const struct {
        const char *bytes;
        size_t length;
    } files[] = {
#define FILE_OF(text) {text, sizeof(text) - 1}
        FILE_OF("3 2\neast 2 0\nnorth 0 3.0\nne 3 4 \n"),
        FILE_OF("east 2 0\nnorth 0 3.0 \n\nne 3  4"),
        FILE_OF("east\t2\t0\r\nnorth\t0\t3.0\r\nne\t3\t4\r\n"),
        FILE_OF("3 2\r\neast 2 0\r\nnorth 0 3e0\r\nne 3 4"),
        FILE_OF(
            "3 2\neast \0\0\0\x40\0\0\0\0\nnorth \0\0\0\0\0\0\x40\x40\nne \0\0\x40\x40\0\0\x80\x40\n"),
        FILE_OF(
            "3 2\neast \0\0\0\x40\0\0\0\0north \0\0\0\0\0\0\x40\x40ne \0\0\x40\x40\0\0\x80\x40"),
    };
    static const char *const wrong[][2] = {
        {"9 2\na 1 2\n", "is cut off: 9 vectors of 2"},
        {"2 2\na 1 2\nb 3\n", "has no word and 2 numbers at place 2 of 2"},
        {"2 2\na 1 2 3\nb 3 4 5\n", "has no word and 2 numbers at place 2 of 2"},
        {"2 1\na 1\na 2\n", "are not the names of 2 rows"},
        {"2 1 1\na 1\na 2\na 3\n", "has no word and 2 numbers at place 2 of 4"},
        {"a b\t1\t2\nc d 1 2\n", "has no word and 2 numbers at place 2 of 2"},
        {"PK\3\4 an archive of numbers", "is no archive of NumPy, or is cut off or damaged"},
        {"-2 -3\na 1 2 3 4 5 6 7 8 9\n", "is no model in safetensors"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        folder_new(folder);
        snprintf(path, sizeof path, "%s/model", folder);
        folder_write(folder, "model", files[i].bytes, files[i].length);
        answers((struct wish){&wv_predict_kind, "east", {0}},
                "east\tne\t0.600000024\neast\tnorth\t0\n");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        folder_new(folder);
        snprintf(path, sizeof path, "%s/model", folder);
        folder_write(folder, "model", wrong[i][0], 0);
        refuses((struct wish){&wv_predict_kind, "east", {0}}, wrong[i][1]);
    }
}

/* Whatever program: rows with their names, as other tools read them. */
TEST(predict, exports_rows_as_text)
{
    static const char binary[] = "2 2\nAnna \0\0\x80\x3f\0\0\0\x40\nBob \0\0\0\0\0\0\x80\x3f\n";
    write_ratings();
    answers((struct wish){&mf_predict_kind, "", {"--export", "tsv"}}, "Anna\t1\t2\nBob\t0\t1\n");
    answers((struct wish){&mf_predict_kind, "", {"--export", "tsv", "--tensor", "column_biases"}},
            "x\t0\ny\t0.125\nz\t1\n");
    answers((struct wish){&mf_predict_kind, "", {"--export", "text", "--tensor", "columns"}},
            "3 2\nx 1 0\ny 0.5 1\nz -1 2\n");
    struct wish w = {&mf_predict_kind, "", {"--export", "binary"}};
    CHECK_EQ(ending_of(run, &w, said, sizeof said), 0);
    CHECK(memcmp(said, binary, sizeof binary) == 0);
    refuses((struct wish){&mf_predict_kind, "", {"--export", "tsv", "--tensor", "row_names"}},
            "its tensor \"row_names\" has the type U8, and is no table of numbers");
    refuses((struct wish){&mf_predict_kind, "", {"--export", "tsv", "--tensor", "none"}},
            "has no tensor \"none\" (--tensor)");
    w = (struct wish){&mf_predict_kind, "", {"--export", "tsv", "--json"}};
    CHECK_EQ(ending_of(run, &w, said, sizeof said), 2);
    CHECK_STR(said, "--json has no effect with --export: leave it out");
    write_model(NOTES("model=lasso", "intercept=1"),
                PARTS(DOUBLES("coefficients", 3, 0, 2, 0, 0.1)));
    answers((struct wish){&lasso_predict_kind, "", {"--export", "tsv"}},
            "0\t2\n1\t0\n2\t0.10000000000000001\n");
    refuses((struct wish){&lasso_predict_kind, "", {"--export", "text"}}, "are doubles");
    write_model(NOTES("model=wide & deep"),
                PARTS(NAMES("columns", "age\n"), FLOATS("wide", 2, 0, 3, 4)));
    answers((struct wish){&ctr_predict_kind, "", {"--export", "tsv"}}, "0\t3\n1\t4\n");
    write_model(NOTES("model=complex"), PARTS(FLOATS("relations", 4, 1, 1, 2, 3, 4),
                                              NAMES("relation_names", "a b\na_b\n")));
    answers((struct wish){&kge_predict_kind, "", {"--export", "text"}},
            "4 1\na_b 1\na_b_2 2\na_b_3 3\na_b_4 4\n");
    write_model(NOTES("model=complex"),
                PARTS(FLOATS("relations", 4, 1, 1, 2, 3, 4), NAMES("relation_names", "a\n")));
    refuses((struct wish){&kge_predict_kind, "", {"--export", "text"}},
            "\"relation_names\" are not the names of \"relations\"");
    write_model(NOTES("model=complex"), PARTS(FLOATS("others", 1, 1, 1)));
    refuses((struct wish){&kge_predict_kind, "", {"--export", "text"}},
            "has no tensor whose rows may have names: --tensor says which to export");
}

/* 1 + 2 x1 - x3, and before it in the path 5 + x2. */
static void write_lasso(const char *loss)
{
    write_model(NOTES("model=lasso", loss, "intercept=1"),
                PARTS(DOUBLES("coefficients", 3, 0, 2, 0, -1),
                      {"path.starts", TENSORS_I64, 3, 0, (const int64_t[]){0, 1, 3}},
                      {"path.columns", TENSORS_I64, 3, 0, (const int64_t[]){1, 0, 2}},
                      DOUBLES("path.values", 3, 0, 1, 2, -1),
                      DOUBLES("path.intercepts", 2, 0, 5, 1)));
}

TEST(predict, lasso_adds_coefficients_times_values)
{
    write_lasso("loss=squared");
    answers((struct wish){&lasso_predict_kind, "7 1:2 3:0.5\n1:3 2:9 4:8\n0\n", {0}},
            "4.5\n7\n1\n");
    answers((struct wish){&lasso_predict_kind, "1:3 2:9 4:8", {"--step", "1"}}, "14\n");
    refuses((struct wish){&lasso_predict_kind, "", {"--step", "3"}}, "a path of 2 steps");
    refuses((struct wish){&lasso_predict_kind, "1 0:1", {0}}, "stdin:1: must have index:value");
    refuses((struct wish){&lasso_predict_kind, "1:2\na,b,2", {0}}, ":2: \"a,b,2\" is no label");
    write_lasso("loss=logistic");
    answers((struct wish){&lasso_predict_kind, "1:-0.5\n1:0.5", {0}}, "0.5\n0.880797078\n");
}

/* A word of each of two topics, which is all that the topic has, and alpha 0.5: of a, a, b the
 * shares are (2.5, 1.5) / 4. */
TEST(predict, lda_finds_shares_of_topics)
{
    write_model(NOTES("model=lda", "alpha=0.5", "beta=0"),
                PARTS(FLOATS("word_topics", 2, 2, 8, 0, 0, 4), FLOATS("topic_totals", 2, 0, 8, 4),
                      NAMES("words", "a\n#b\n")));
    answers((struct wish){&lda_predict_kind, "a a  #b c\n# and then\n2 0:2 1:1\nc", {0}},
            "0.625\t0.375\n0.625\t0.375\n0.5\t0.5\n");
    answers((struct wish){&lda_predict_kind, "1 1:3\na", {"--best", "1", "--json"}},
            "{\"event\":\"prediction\",\"document\":1,\"topic\":1,\"share\":0.875}\n"
            "{\"event\":\"prediction\",\"document\":2,\"topic\":0,\"share\":0.75}\n");
    refuses((struct wish){&lda_predict_kind, "a\n#b a", {0}}, ":2: is a comment, or a document");
}

TEST(predict, ctr_reads_libsvm)
{
    write_model(NOTES("model=wide & deep", "format=libsvm", "dim=1", "fields=2", "hash_bits=0"),
                PARTS(FLOATS("wide", 2, 0, 0.5F, -1), FLOATS("vectors", 2, 1, 1, 2),
                      FLOATS("layer0.weight", 2, 1, 0.25F, 0.125F),
                      FLOATS("layer0.bias", 1, 0, 0.25F)));
    /* 0.5 - 2, and 0.25 * 1 + 0.125 * 4 + 0.25; nothing known; then -1 - 0.5,
     * and 0.125 * 2 - 0.25 + 0.25. */
    answers((struct wish){&ctr_predict_kind, "1 0:1 1:2\n1:2:0 0:7:1\n1:1:1 0:0:-1", {0}},
            "0.377540669\n0.562176501\n0.222700139\n");
    refuses((struct wish){&ctr_predict_kind, "0:1 1:1 0:1", {0}}, "in field 2: the model has 2");
}

/* Without layers that say anything: weights of city x, and of an age below 5 and above. */
TEST(predict, ctr_finds_columns_by_name)
{
    is_file = true;
    write_model(NOTES("model=wide & deep", "format=csv", "dim=1", "fields=2", "hash_bits=0"),
                PARTS({"column_kinds", TENSORS_I64, 3, 0, (const int64_t[]){2, 0, 1}},
                      DOUBLES("column_cuts", 1, 2, 0, 5), FLOATS("wide", 3, 0, -1, 1, 0.5F),
                      FLOATS("vectors", 3, 1, 0, 0, 0), FLOATS("layer0.weight", 2, 1, 0, 0),
                      FLOATS("layer0.bias", 1, 0, 0),
                      NAMES("features", "1=[-inf,5)\n1=[5,inf)\n3=x\n"),
                      NAMES("columns", "age\nclick\ncity\n")));
    answers((struct wish){&ctr_predict_kind, "city,age\nx,7\ny,2\nx,\n", {0}},
            "0.817574476\n0.268941421\n0.622459331\n");
    answers((struct wish){&ctr_predict_kind, "age,click,city\n4.5,1,x\n", {0}}, "0.377540669\n");
    refuses((struct wish){&ctr_predict_kind, "age,town\n1,x\n", {0}},
            "no column \"city\" in its heading");
}

/* Of a - b - c the hidden values are the mean of the embeddings less 1; the second layer says as
 * much of "yes" as their mean, and 0.5 of "no". */
TEST(predict, gnn_sums_over_neighbours)
{
    is_file = true;
    char features[2 * FOLDER_PATH_BYTES];
    write_model(NOTES("model=graph convolution", "average=mean"),
                PARTS(FLOATS("embeddings", 2, 1, 2, 7), FLOATS("layer1.weight", 1, 1, 1),
                      FLOATS("layer1.bias", 1, 0, -1), FLOATS("layer2.weight", 1, 2, 1, 0),
                      FLOATS("layer2.bias", 2, 0, 0, 0.5F), NAMES("nodes", "a\nb\n"),
                      NAMES("classes", "yes\nno\n")));
    /* inputs 2, 7, 0: sums 4.5, 3, 3.5: hidden 3.5, 2, 2.5: means 2.75, 8 / 3, 2.25 */
    answers((struct wish){&gnn_predict_kind, "a b\nb c\n", {0}},
            "a\tyes\t0.904650509\nb\tyes\t0.897215975\nc\tyes\t0.851952791\n");
    /* Symmetric, with features: a's value is 1, and the weight of the edge 1 / 2. */
    write_model(NOTES("model=graph convolution", "average=symmetric"),
                PARTS(FLOATS("layer1.weight", 2, 1, 4, -4), FLOATS("layer2.weight", 1, 2, 1, 0),
                      FLOATS("layer2.bias", 2, 0, 0, 1)));
    folder_write(folder, "features", "x 0:3 9:1\nx 1:1\n", 0);
    snprintf(features, sizeof features, "%s/features", folder);
    /* 0.75 * 4 and -4: hidden 0 both; then features the other way round. */
    answers((struct wish){&gnn_predict_kind, "0 1\n", {"--features", features}},
            "0\t1\t0.731058598\n1\t1\t0.731058598\n");
}

/* ---- files that are no models ---- */

static void write_header(const char *header, const char *body)
{
    char text[1024];
    uint64_t length = strlen(header);
    memcpy(text, &length, sizeof length);
    snprintf(text + sizeof length, sizeof text - sizeof length, "%s%s", header, body);
    folder_new(folder);
    snprintf(path, sizeof path, "%s/model", folder);
    folder_write(folder, "model", text, sizeof length + length + strlen(body));
}

TEST(predict, what_is_no_model_is_refused)
{
    static const struct {
        const char *header, *part;
    } cases[] = {
        {"{}", "header is not to be understood"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}", "not to be understood"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]}}", "is cut off"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,0]}}", "is cut off"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", "another size"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387906],\"data_offsets\":[0,8]}}",
         "another size"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[999999999999999999,999999999999999999],"
         "\"data_offsets\":[0,8]}}",
         "another size"},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}}", "type BF16"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}}", "not aligned"},
        {"{\"__metadata__\":{\"model\":\"lda\"}}     ",
         "no model of locus-x: it says that it is \"lda\""},
        {"{\"__metadata__\":{\"rank\":\"2\"}}",
         "no model of locus-x: its metadata have no \"model\""},
        {"{\"__metadata__\":{\"model\":\"fact\\u006frs\"}}", "says nothing of \"rank\""},
        {"{\"__metadata__\":{\"model\":\"\\ud800\"}}", "not to be understood"},
        {"{\"__metadata__\":{\"model", "not to be understood"},
        {"{\"__metadata__\":{\"model\":\"lda\",\"model\":\"factors\"}}", "not to be understood"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         "not to be understood"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[256];
        size_t length = strlen(cases[i].header), padded = (length + 7) / 8 * 8;
        snprintf(header, sizeof header, "%-*s", (int)padded, cases[i].header);
        write_header(header, "12345678");
        refuses((struct wish){&mf_predict_kind, "", {0}}, cases[i].part);
    }
}

TEST(predict, parts_of_a_model_must_fit_each_other)
{
    write_model(NOTES("model=factors", "rank=2", "mean=0"),
                PARTS(FLOATS("rows", 2, 1, 1, 2), FLOATS("columns", 1, 2, 1, 2)));
    refuses((struct wish){&mf_predict_kind, "", {0}}, "\"rows\" has 2 rows and 1 columns");
    write_model(NOTES("model=factors", "rank=1", "mean=0"),
                PARTS(FLOATS("rows", 2, 1, 1, 2), FLOATS("columns", 1, 1, 1),
                      NAMES("row_names", "a\na\n")));
    refuses((struct wish){&mf_predict_kind, "", {0}}, "are not the names of 2 rows");
}
