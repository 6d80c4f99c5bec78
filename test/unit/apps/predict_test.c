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
static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES], known[2 * FOLDER_PATH_BYTES];

/* ---- a model ---- */

struct part {
    const char *name;
    enum tensors_type type;
    unsigned rows, columns;
    const void *values;
};

static void begin(void)
{
    folder_new(folder);
    snprintf(path, sizeof path, "%s/model", folder);
    snprintf(known, sizeof known, "%s/known", folder);
}

/* Notes: "name=value" one after the other, NULL at the end; parts likewise. */
static void write_model(const char *const *notes, const struct part *parts)
{
    CLOSED_BY(tensors_close) struct tensors t;
    begin();
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
    ((struct part){name, TENSORS_F32, rows, columns, (const float[]){__VA_ARGS__}})
#define DOUBLES(name, rows, columns, ...) \
    ((struct part){name, TENSORS_F64, rows, columns, (const double[]){__VA_ARGS__}})
#define NAMES(name, text) ((struct part){name, TENSORS_U8, sizeof(text) - 1, 0, text})
#define NOTES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PARTS(...) ((const struct part[]){__VA_ARGS__, {0}})

/* ---- questions ---- */

struct question {
    const char *lines, *wanted; /* all that is answered, or part of what is complained of */
    const char *options;        /* with blanks between; KNOWN is that file */
    int status;
};

struct asked {
    const struct predict_kind *kind;
    const struct question *question;
};

static void run(const void *asked)
{
    const struct asked *a = asked;
    char words[128], *argv[16] = {(char *)(uintptr_t) "predict"};
    int argc = 1;
    snprintf(words, sizeof words, "%s", a->question->options);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = strcmp(word, "KNOWN") == 0 ? known : word;
    argv[argc++] = path;
    folder_write(folder, "lines", a->question->lines, 0);
    if (is_file) argv[argc++] = (char *)(uintptr_t)folder_path(folder, "lines");
    CHECK_EQ(dup2(open(folder_path(folder, "lines"), O_RDONLY), STDIN_FILENO), STDIN_FILENO);
    int status =
        predict_run(a->kind == &wv_predict_kind ? "locus-wv" : "locus-x", a->kind, argc, argv);
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

static void ask_all(const struct predict_kind *kind, const struct question *q, size_t count)
{
    char said[8192];
    for (size_t i = 0; i < count; i++, q++) {
        int status = ending_of(run, &(struct asked){kind, q}, said, sizeof said);
        if (status != q->status ||
            (status ? !strstr(said, q->wanted) : !are_alike(said, q->wanted)))
            test_fail(__FILE__, __LINE__, "%s: status %d:\n%s\nnot %d:\n%s", q->lines, status, said,
                      q->status, q->wanted);
    }
}

#define SAYS(lines, said, options) ((struct question){lines, said, options, 0})
#define REFUSES(lines, part, options) ((struct question){lines, part, options, 1})
#define ASK(kind, ...) \
    ask_all(&(kind), (const struct question[]){__VA_ARGS__}, \
            sizeof((const struct question[]){__VA_ARGS__}) / sizeof(struct question))

/* ---- the programs ---- */

/* Anna's factor is (1, 2), Bob's (0, 1); x, y and z have (1, 0), (0.5, 1) and (-1, 2). */
static void write_ratings(const char *method)
{
    write_model(
        NOTES("model=factors", "rank=2", "mean=3", "regularization=0.25", method),
        PARTS(FLOATS("rows", 2, 2, 1, 2, 0, 1), FLOATS("columns", 3, 2, 1, 0, 0.5F, 1, -1, 2),
              FLOATS("row_biases", 2, 0, 0.25F, -0.5F), FLOATS("column_biases", 3, 0, 0, 0.125F, 1),
              NAMES("row_names", "Anna\nBob\n"), NAMES("column_names", "x\ny\nz\n")));
}

TEST(predict, mf_adds_mean_biases_and_product)
{
    write_ratings("method=sgd");
    folder_write(folder, "known",
                 "user,item,rating\nBob,y,1\nAnna,z,2\n\"Eve, Jr\",z,3\nAnna,w,1\n", 0);
    ASK(mf_predict_kind,
        SAYS("Anna\tx\n\n# nobody\nBob,z\r\n  Bob   y\nEve x\nBob w",
             "Anna\tx\t4.25\nBob\tz\t5.5\nBob\ty\t3.625\nEve\tx\t3\nBob\tw\t2.5\n"
             "locus-x: 2 lines with a name that the model does not know\n",
             ""),
        SAYS("Anna x",
             "{\"event\":\"prediction\",\"row\":\"Anna\",\"column\":\"x\",\"rating\":4.25}\n",
             "--json"),
        SAYS("Anna\nBob", "Anna\tz\t7.25\nAnna\ty\t5.875\nBob\tz\t5.5\nBob\ty\t3.625\n",
             "--best 2"),
        SAYS("Anna\nBob", "Anna\ty\t5.875\nAnna\tx\t4.25\nBob\tz\t5.5\nBob\tx\t2.5\n",
             "--best 2 --known KNOWN"),
        SAYS("Eve, Jr", "Eve, Jr\tx\t3\n", "--best 1 --known KNOWN"));
}

/* What the normal equations have as their solution, in fractions: for (1, 0, 1) and (1/2, 1, 1),
 * 1 and -9/8, with 1/2 on the diagonal it is (73/148, -69/74, 1/37); with 1/4, as coordinate descent
 * has it, whose regularization is in all, (139/216, -43/36, 5/108). */
TEST(predict, mf_finds_factors_of_rows_whose_ratings_are_given)
{
    static const struct {
        const char *method, *answers;
    } cases[] = {{"method=sgd", "Fay\tx\t3.52027035\nFay\ty\t2.46621633\nFay\tz\t1.66891909\n"},
                 {"method=cd", "Fay\tx\t3.68981481\nFay\ty\t2.29861116\nFay\tz\t1.01388884\n"}};
    for (size_t i = 0; i < 2; i++) {
        write_ratings(cases[i].method);
        folder_write(folder, "known", "user,item,rating\nEve,z,3\nFay,x,4\nFay,w,9\nFay,y,2\n", 0);
        ASK(mf_predict_kind, SAYS("Fay x\nFay y\nFay z", cases[i].answers, "--known KNOWN"));
    }
}

/* MatrixMarket has numbers from 1. */
TEST(predict, mf_counts_rows_without_names_from_1)
{
    write_model(NOTES("model=factors", "rank=1", "mean=0"),
                PARTS(FLOATS("rows", 2, 1, 2, 3), FLOATS("columns", 1, 1, 5)));
    ASK(mf_predict_kind,
        SAYS("1 1\n2 1\n0 1",
             "1\t1\t10\n2\t1\t15\n0\t1\t0\n"
             "locus-x: 1 line with a name that the model does not know\n",
             ""),
        SAYS("2", "2\t1\t15\n", ""), REFUSES("1 1 1", "stdin:1: has more than 2 fields", ""),
        REFUSES("1 1\n\n2", "stdin:3: has 1 field, and the lines before have 2", ""));
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
    ASK(kge_predict_kind,
        SAYS("a\tr\tb\nb\tr\ta\nthe c\tr\tb\na\tr\td",
             "a\tr\tb\t1\nb\tr\ta\t-1\nthe c\tr\tb\t2\na\tr\td\tnan\n"
             "locus-x: 1 line with a name that the model does not know\n",
             ""),
        SAYS("a\tr\t?\n?\tr\tb", "a\tr\tb\t1\na\tr\ta\t0\nthe c\tr\tb\t2\na\tr\tb\t1\n",
             "--best 2"),
        SAYS("b", "b\ta\t0\nb\tthe c\t0\n", "--best 2"),
        SAYS(" the c", "the c\ta\t1\n", "--best 1"),
        REFUSES("a\tr", "stdin:1: has 2 fields: must be subject", ""));
    /* A question for subjects has the second row, times 3: the score of b for a is that of 3 a. */
    write_graph("reciprocal=true", 2);
    ASK(kge_predict_kind,
        SAYS("?\tr\ta",
             "{\"event\":\"prediction\",\"subject\":\"the c\",\"relation\":\"r\",\"object\":\"a\","
             "\"score\":6}\n",
             "--best 1 --json"));
    /* s' R o */
    write_model(NOTES("model=rescal", "dim=2", "reciprocal=false"),
                PARTS(FLOATS("entities", 2, 2, 1, 2, 3, 4), FLOATS("relations", 1, 4, 1, 2, 3, 4),
                      NAMES("entity_names", "a\nb\n"), NAMES("relation_names", "r\n")));
    ASK(kge_predict_kind,
        SAYS("a r b\nb r a\n? r b", "a\tr\tb\t61\nb\tr\ta\t59\nb\tr\tb\t133\n", "--best 1"));
}

TEST(predict, wv_finds_near_words_and_analogies)
{
    write_model(NOTES("model=skip-gram", "dim=2"),
                PARTS(FLOATS("inputs", 4, 2, 2, 0, 0, 3, 3, 4, -1, 0),
                      NAMES("word_names", "east\nnorth\nne\n#west\n")));
    ASK(wv_predict_kind, SAYS("east", "east\tne\t0.600000024\neast\tnorth\t0\n", "--best 2"),
        SAYS("\n#west north east", "#west\tnorth\teast\tne\t0.894427191\n", ""),
        SAYS("east ne\nne me",
             "east\tne\t0.600000024\nne\tme\tnan\n"
             "locus-wv: 1 line with a name that the model does not know\n",
             ""));
}

/* Vectors (2, 0), (0, 3), (3, 4), as word2vec writes them and as others do. */
TEST(predict, wv_reads_word2vec)
{
#define EAST "east \0\0\0\x40\0\0\0\0"
#define NORTH "north \0\0\0\0\0\0\x40\x40"
#define NE "ne \0\0\x40\x40\0\0\x80\x40"
#define RIGHT(text) \
    { \
        text, sizeof(text) - 1, "east\tne\t0.600000024\neast\tnorth\t0\n" \
    }
    static const struct {
        const char *bytes;
        size_t length;
        const char *wanted;
    } files[] = {
        RIGHT("3 2\neast 2 0\nnorth 0 3.0\nne 3 4 \n"),
        RIGHT("east 2 0\nnorth 0 3.0 \n\nne 3  4"),
        RIGHT("east\t2\t0\r\nnorth\t0\t3.0\r\nne\t3\t4\r\n"),
        RIGHT("3 2\n" EAST "\n" NORTH "\n" NE "\n"),
        RIGHT("3 2\n" EAST NORTH NE),
        {"2 1\na 1\nb 1e39\n", 0, "has no word and 1 numbers at place 2 of 2"},
        {"2 1\na 1\na 2\n", 0, "are not the names of 2 rows"},
        {"PK\3\4 an archive of numbers", 0, "is no archive of NumPy, or is cut off or damaged"},
        {"-2 -3\na 1 2 3 4 5 6 7 8 9\n", 0, "is no model in safetensors"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        begin();
        folder_write(folder, "model", files[i].bytes, files[i].length);
        ASK(wv_predict_kind, {"east", files[i].wanted, "", files[i].length == 0});
    }
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
    ASK(lasso_predict_kind, SAYS("7 1:2 3:0.5\n1:3 2:9 4:8\n0\n", "4.5\n7\n1\n", ""),
        SAYS("1:3 2:9 4:8", "14\n", "--step 1"), REFUSES("", "a path of 2 steps", "--step 3"),
        REFUSES("1 0:1", "stdin:1: must have index:value", ""),
        REFUSES("1:2\na,b,2", ":2: \"a,b,2\" is no label", ""));
    write_lasso("loss=logistic");
    ASK(lasso_predict_kind, SAYS("1:-0.5\n1:0.5", "0.5\n0.880797078\n", ""));
}

/* A word of each of two topics, which is all that the topic has, and alpha 0.5: of a, a, b the
 * shares are (2.5, 1.5) / 4. */
TEST(predict, lda_finds_shares_of_topics)
{
    write_model(NOTES("model=lda", "alpha=0.5", "beta=0"),
                PARTS(FLOATS("word_topics", 2, 2, 8, 0, 0, 4), FLOATS("topic_totals", 2, 0, 8, 4),
                      NAMES("words", "a\n#b\n")));
    ASK(lda_predict_kind,
        SAYS("a a  #b c\n# and then\n2 0:2 1:1\nc", "0.625\t0.375\n0.625\t0.375\n0.5\t0.5\n", ""),
        SAYS("1 1:3\na",
             "{\"event\":\"prediction\",\"document\":1,\"topic\":1,\"share\":0.875}\n"
             "{\"event\":\"prediction\",\"document\":2,\"topic\":0,\"share\":0.75}\n",
             "--best 1 --json"),
        REFUSES("a\n#b a", ":2: is a comment, or a document", ""));
}

/* 0.5 - 2, and 0.25 * 1 + 0.125 * 4 + 0.25; nothing known; then -1 - 0.5, and
 * 0.125 * 2 - 0.25 + 0.25. */
TEST(predict, ctr_reads_libsvm)
{
    write_model(NOTES("model=wide & deep", "format=libsvm", "dim=1", "fields=2", "hash_bits=0"),
                PARTS(FLOATS("wide", 2, 0, 0.5F, -1), FLOATS("vectors", 2, 1, 1, 2),
                      FLOATS("layer0.weight", 2, 1, 0.25F, 0.125F),
                      FLOATS("layer0.bias", 1, 0, 0.25F)));
    ASK(ctr_predict_kind,
        SAYS("1 0:1 1:2\n1:2:0 0:7:1\n1:1:1 0:0:-1", "0.377540669\n0.562176501\n0.222700139\n", ""),
        REFUSES("0:1 1:1 0:1", "in field 2: the model has 2", ""));
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
    ASK(ctr_predict_kind,
        SAYS("city,age\nx,7\ny,2\nx,\n", "0.817574476\n0.268941421\n0.622459331\n", ""),
        SAYS("age,click,city\n4.5,1,x\n", "0.377540669\n", ""),
        REFUSES("age,town\n1,x\n", "no column \"city\" in its heading", ""));
}

/* Of a - b - c the hidden values are the mean of the embeddings less 1; the second layer says as
 * much of "yes" as their mean, and 0.5 of "no". */
TEST(predict, gnn_sums_over_neighbours)
{
    is_file = true;
    write_model(NOTES("model=graph convolution", "average=mean"),
                PARTS(FLOATS("embeddings", 2, 1, 2, 7), FLOATS("layer1.weight", 1, 1, 1),
                      FLOATS("layer1.bias", 1, 0, -1), FLOATS("layer2.weight", 1, 2, 1, 0),
                      FLOATS("layer2.bias", 2, 0, 0, 0.5F), NAMES("nodes", "a\nb\n"),
                      NAMES("classes", "yes\nno\n")));
    /* inputs 2, 7, 0: sums 4.5, 3, 3.5: hidden 3.5, 2, 2.5: means 2.75, 8 / 3, 2.25 */
    ASK(gnn_predict_kind,
        SAYS("a b\nb c\n", "a\tyes\t0.904650509\nb\tyes\t0.897215975\nc\tyes\t0.851952791\n", ""));
    write_model(NOTES("model=graph convolution", "average=symmetric"),
                PARTS(FLOATS("layer1.weight", 2, 1, 4, -4), FLOATS("layer2.weight", 1, 2, 1, 0),
                      FLOATS("layer2.bias", 2, 0, 0, 1)));
    folder_write(folder, "known", "x 0:3 9:1\nx 1:1\nx 0:1\n", 0);
    /* Values 3 (0.75 * 4), -4, 4; of 0 - 1 - 2 edges weigh 6^-1/2, nodes 1/2, 1/3, 1/2: hidden 0,
     * 1.5244, 0.3670; sums 0.6223, 0.6580, 0.8058. */
    ASK(gnn_predict_kind,
        SAYS("0 1\n1 2\n", "0\t1\t0.593309658\n1\t1\t0.584684809\n2\t1\t0.548388324\n",
             "--features KNOWN"));
}

/* ---- exports ---- */

/* Whatever program: rows with their names, as other tools read them. */
TEST(predict, export_writes_rows_as_text)
{
    static const char binary[] = "2 2\nAnna \0\0\x80\x3f\0\0\0\x40\nBob \0\0\0\0\0\0\x80\x3f\n";
    const struct question q = {.lines = "", .options = "--export binary"};
    char said[256];
    write_ratings("method=sgd");
    ASK(mf_predict_kind, SAYS("", "Anna\t1\t2\nBob\t0\t1\n", "--export tsv"),
        SAYS("", "x\t0\ny\t0.125\nz\t1\n", "--export tsv --tensor column_biases"),
        SAYS("", "3 2\nx 1 0\ny 0.5 1\nz -1 2\n", "--export text --tensor columns"),
        REFUSES("", "its tensor \"row_names\" has the type U8, and is no table of numbers",
                "--export tsv --tensor row_names"),
        {"", "--json has no effect with --export: leave it out", "--export tsv --json", 2});
    CHECK_EQ(ending_of(run, &(struct asked){&mf_predict_kind, &q}, said, sizeof said), 0);
    CHECK(memcmp(said, binary, sizeof binary) == 0);
    write_model(NOTES("model=lasso", "intercept=1"),
                PARTS(DOUBLES("coefficients", 3, 0, 2, 0, 0.1)));
    ASK(lasso_predict_kind, SAYS("", "0\t2\n1\t0\n2\t0.10000000000000001\n", "--export tsv"),
        REFUSES("", "are doubles", "--export text"));
    write_model(NOTES("model=complex"), PARTS(FLOATS("relations", 4, 1, 1, 2, 3, 4),
                                              NAMES("relation_names", "a b\na_b\n")));
    ASK(kge_predict_kind, SAYS("", "4 1\na_b 1\na_b_2 2\na_b_3 3\na_b_4 4\n", "--export text"));
}

/* ---- files that are no models ---- */

#define F32(shape, offsets) \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}}"

TEST(predict, model_headers_that_are_wrong_are_refused)
{
    static const struct {
        const char *header, *part;
    } cases[] = {
        {"{}", "header is not to be understood"},
        {F32("9", "0,36"), "is cut off"},
        {F32("3", "0,8"), "another size"},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}}", "type BF16"},
        {"{\"__metadata__\":{\"model\":\"lda\"}}     ",
         "no model of locus-x: it says that it is \"lda\""},
        {"{\"__metadata__\":{\"model\":\"fact\\u006frs\"}}", "says nothing of \"rank\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        uint64_t length = (strlen(cases[i].header) + 7) / 8 * 8;
        begin();
        memcpy(text, &length, sizeof length);
        snprintf(text + 8, sizeof text - 8, "%-*s12345678", (int)length, cases[i].header);
        folder_write(folder, "model", text, length + 16);
        ASK(mf_predict_kind, REFUSES(cases[i].header, cases[i].part, ""));
    }
}

TEST(predict, parts_of_a_model_must_fit_each_other)
{
    write_model(NOTES("model=factors", "rank=2", "mean=0"),
                PARTS(FLOATS("rows", 2, 1, 1, 2), FLOATS("columns", 1, 2, 1, 2)));
    ASK(mf_predict_kind, REFUSES("", "\"rows\" has 2 rows and 1 columns", ""));
}
