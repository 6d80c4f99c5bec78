/* The program lasso from end to end: against a plain solver written here, alone, on a cluster, and
 * with wrong input. */
#include "common/folder.h"
#include "test.h"
#include "trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = FOLDER_PATH_BYTES, ROWS = 60, COLUMNS = 90 };

static struct command c;
static char folder[PATH_BYTES];
static double matrix[ROWS][COLUMNS], response[ROWS], norms[COLUMNS];

/* ---- a small regression: neighbouring columns are alike, two in three cells are 0 in the first
 * half and none in the second ---- */

static double draw(void)
{
    return rand() / (RAND_MAX + 1.0);
}

static void make_matrix(void)
{
    srand(7);
    for (int r = 0; r < ROWS; r++) {
        response[r] = 3 + 0.1 * draw();
        for (int j = 0; j < COLUMNS; j++) {
            bool is_there = j >= COLUMNS / 2 || draw() < 0.33;
            double like = j > 0 ? 0.5 * matrix[r][j - 1] : 0;
            matrix[r][j] = is_there ? floor(1000 * (like + draw())) / 1000 : 0;
            if (j % 15 == 0) response[r] += (j % 2 ? -1 : 1) * matrix[r][j];
        }
        response[r] = floor(1000 * response[r]) / 1000;
    }
}

static void write_files(void)
{
    char path[2 * PATH_BYTES];
    folder_new(folder);
    snprintf(path, sizeof path, "%s/x.libsvm", folder);
    FILE *libsvm = fopen(path, "w");
    snprintf(path, sizeof path, "%s/x.mtx", folder);
    FILE *x = fopen(path, "w");
    snprintf(path, sizeof path, "%s/y.mtx", folder);
    FILE *y = fopen(path, "w");
    CHECK(libsvm && x && y);
    fprintf(x, "%%%%MatrixMarket matrix array real general\n%% by columns\n%d %d\n", ROWS, COLUMNS);
    fprintf(y, "%%%%MatrixMarket matrix array real general\n%d 1\n", ROWS);
    for (int r = 0; r < ROWS; r++) {
        fprintf(libsvm, "%.3f", response[r]);
        for (int j = 0; j < COLUMNS; j++)
            if (matrix[r][j] != 0) fprintf(libsvm, " %d:%.3f", j + 1, matrix[r][j]);
        fprintf(libsvm, "\n");
        fprintf(y, "%.3f\n", response[r]);
    }
    for (int j = 0; j < COLUMNS; j++)
        for (int r = 0; r < ROWS; r++) fprintf(x, "%.3f\n", matrix[r][j]);
    CHECK(fclose(libsvm) == 0 && fclose(x) == 0 && fclose(y) == 0);
}

/* ---- the same by cyclic coordinate descent in doubles ---- */

static void standardize(void)
{
    double mean = 0;
    for (int r = 0; r < ROWS; r++) mean += response[r] / ROWS;
    for (int r = 0; r < ROWS; r++) response[r] -= mean;
    for (int j = 0; j < COLUMNS; j++) {
        double sum = 0, squares = 0;
        for (int r = 0; r < ROWS; r++) sum += matrix[r][j] / ROWS;
        for (int r = 0; r < ROWS; r++) matrix[r][j] -= sum;
        for (int r = 0; r < ROWS; r++) squares += matrix[r][j] * matrix[r][j];
        norms[j] = sqrt(squares);
        for (int r = 0; r < ROWS; r++) matrix[r][j] /= norms[j];
    }
}

static double product(int j, const double *rows)
{
    double sum = 0;
    for (int r = 0; r < ROWS; r++) sum += matrix[r][j] * rows[r];
    return sum;
}

/* The elastic net's, of glmnet: n times its penalty, of columns with a variance of 1 or as they
 * are, is `first` times the absolute value and `second` times half the square of ours. */
static double objective_at(double ratio, double alpha, bool is_raw)
{
    static double errors[ROWS], b[COLUMNS], first[COLUMNS], second[COLUMNS];
    double largest = 0, squares = 0, penalty = 0;
    memcpy(errors, response, sizeof errors);
    memset(b, 0, sizeof b);
    for (int j = 0; j < COLUMNS; j++) {
        double its = is_raw ? 1 / norms[j] : 1 / sqrt(ROWS);
        first[j] = ROWS * alpha * its;
        second[j] = ROWS * (1 - alpha) * its * its;
        largest = fmax(largest, fabs(product(j, errors)) / first[j]);
    }
    double lambda = ratio * largest;
    for (int sweep = 0; sweep < 5000; sweep++)
        for (int j = 0; j < COLUMNS; j++) {
            double z = product(j, errors) + b[j];
            double now = copysign(fmax(fabs(z) - lambda * first[j], 0), z);
            now /= 1 + lambda * second[j];
            for (int r = 0; r < ROWS; r++) errors[r] -= (now - b[j]) * matrix[r][j];
            b[j] = now;
        }
    for (int r = 0; r < ROWS; r++) squares += errors[r] * errors[r];
    for (int j = 0; j < COLUMNS; j++)
        penalty += first[j] * fabs(b[j]) + second[j] / 2 * b[j] * b[j];
    return squares / 2 + lambda * penalty;
}

/* ---- runs ---- */

static double wanted;

static void reaches(const char *start, const char *data, const char *more)
{
    command_must(&c, "%s %s %s --lambda 0.05 %s --json", start, program_path("lasso"), data, more);
    const char *event = strstr(c.out.text, "{\"event\":\"lambda\"");
    for (const char *next = event; next; next = strstr(next + 1, "{\"event\":\"lambda\""))
        event = next;
    if (!event) event = "";
    double objective = trainer_number(event, "\"objective\":");
    CHECK_EQ(trainer_number(event, "\"converged\":"), 1);
    if (!(fabs(objective - wanted) < 1e-5 * wanted))
        test_fail(__FILE__, __LINE__, "%s %s: objective %.9g, not %.9g", start, more, objective,
                  wanted);
}

static void set_up(char *libsvm, char *market)
{
    make_matrix();
    write_files();
    standardize();
    wanted = objective_at(0.05, 1, false);
    snprintf(libsvm, 3 * PATH_BYTES, "--data %s/x.libsvm", folder);
    snprintf(market, 3 * PATH_BYTES, "--data %s/x.mtx --response %s/y.mtx", folder, folder);
}

TEST(lasso, reaches_the_optimum_alone)
{
    char libsvm[3 * PATH_BYTES], market[3 * PATH_BYTES];
    set_up(libsvm, market);
    reaches("", libsvm, "");
    CHECK_STR(c.out.text, "\"event\":\"waits\"");
    CHECK_STR(c.out.text, "\"event\":\"stats\"");
    reaches("", market, "--order round-robin --schedulers 3 --depth 0");
    reaches("", libsvm, "--order random --workers 2 --width 8");
    reaches("", libsvm, "--path 5 --correlation 0.5 --width 4");
    reaches("", market, "--baseline");
    reaches("", libsvm, "--baseline --workers 3");
    wanted = objective_at(0.05, 0.3, false);
    reaches("", libsvm, "--alpha 0.3 --path 3");
    reaches("", libsvm, "--alpha 0.3 --order random --schedulers 5 --baseline --workers 2");
    wanted = objective_at(0.05, 0.6, true);
    reaches("", market, "--alpha 0.6 --no-standardize --workers 2");
}

TEST(lasso, reaches_the_optimum_on_a_cluster)
{
    char libsvm[3 * PATH_BYTES], market[3 * PATH_BYTES];
    set_up(libsvm, market);
    const char *start = trainer_nodes(2);
    reaches(start, libsvm, "--technique adaptive");
    reaches(start, libsvm, "--technique static");
    start = trainer_nodes(3);
    reaches(start, libsvm, "--schedulers 4 --workers 2 --depth 1");
    reaches(start, market, "--schedulers 2 --staleness 2 --depth 0 --width 8");
}

/* Columns that are alike, all updated at once: each makes up for the whole error. */
TEST(lasso, the_filter_is_what_lets_it_converge)
{
    if (IS_SANITIZED) SKIP("it is the arithmetic of one thread, and slow with a sanitizer");
    const char *run = "%s --generate 100x400x60 --lambda 0.01 --order round-robin --width 128 "
                      "--passes 200 --json --baseline %s";
    command_must(&c, run, program_path("lasso"), "--correlation 0.1");
    const char *last = strstr(c.out.text, "{\"event\":\"lambda\"");
    CHECK(last != NULL);
    double objective = trainer_number(last, "\"objective\":");
    int status = command_run(&c, run, program_path("lasso"), "--correlation 1");
    if (status == 0) {
        last = strstr(c.out.text, "{\"event\":\"lambda\"");
        CHECK(last && trainer_number(last, "\"objective\":") > 100 * objective);
    } else {
        CHECK_STR(c.err.text, "lasso: the coefficients diverge: choose a smaller --width");
    }
}

/* ---- labels ---- */

/* Columns with little in common, but all of it where the loss is curved: one column more has
 * settled the other rows. All updated at once go too far, until they take care. */
static void write_curved(void)
{
    enum { ALIKE = 24, SHARED = 4, OWN = 80, NONE = 400 };
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/curved", folder);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    for (int r = 0; r < SHARED; r++) {
        fprintf(f, "%d", r % 2);
        for (int j = 1; j <= ALIKE; j++) fprintf(f, " %d:1", j);
        fprintf(f, "\n");
    }
    for (int r = 0; r < ALIKE * OWN; r++) fprintf(f, "1 %d:1 %d:1\n", 1 + r / OWN, ALIKE + 1);
    for (int r = 0; r < NONE; r++) fprintf(f, "0 %d:1\n", ALIKE + 2);
    CHECK_EQ(fclose(f), 0);
}

static double curved_objective(const char *more)
{
    static const char options[] =
        "--data curved --loss logistic --lambda 0.001 --order round-robin "
        "--depth 0 --width 24 --passes";
    command_must(&c, "cd %s && %s %s %s", folder, program_path("lasso"), options, more);
    return trainer_number(c.out.text, "objective ");
}

TEST(lasso, coefficients_that_went_too_far_together_take_care)
{
    folder_new(folder);
    write_curved();
    double least = curved_objective("300 --baseline --width 1");
    double together = curved_objective("300 --baseline");
    CHECK(together >= least * 0.999 && together < 2 * least);
    /* What goes on takes as much. */
    curved_objective("30 --out whole --checkpoint all --checkpoint-every 25");
    command_must(&c, "cd %s && mkdir one && mv all/checkpoint-000001 one", folder);
    curved_objective("30 --out resumed --checkpoint one --resume");
    CHECK_STR(c.out.text, "goes on behind epoch ");
    command_must(&c, "cd %s && cmp whole resumed", folder);
}

/* The last objective of a run, which converged. */
static double logistic_objective(const char *start, const char *more)
{
    command_must(&c,
                 "%s %s --data %s/labels --loss logistic --lambda 0.6 --width 16 --correlation 0.6 "
                 "--tolerance 1e-4 %s",
                 start, program_path("lasso"), folder, more);
    CHECK(strstr(c.out.text, "not converged") == NULL);
    return trainer_number(c.out.text, "objective ");
}

/* All find the same, and what they find tells the labels apart. */
static const char judge[] = "import json, struct, sys\n"
                            "data = open(sys.argv[1], 'rb').read()\n"
                            "n = struct.unpack('<Q', data[:8])[0]\n"
                            "head = json.loads(data[8:8 + n])\n"
                            "b = struct.unpack('<90d', data[8 + n:])\n"
                            "at = float(head['__metadata__']['intercept'])\n"
                            "right = 0\n"
                            "for line in open(sys.argv[2]):\n"
                            "    y, *pairs = line.split()\n"
                            "    p = [pair.split(':') for pair in pairs]\n"
                            "    margin = at + sum(b[int(j) - 1] * float(x) for j, x in p)\n"
                            "    right += (margin > 0) == (float(y) > 0)\n"
                            "print(head['__metadata__']['loss'], right)\n";

TEST(lasso, learns_labels)
{
    char libsvm[3 * PATH_BYTES], market[3 * PATH_BYTES];
    set_up(libsvm, market);
    command_must(&c,
                 "awk '{$1 = $1 > 4.2 ? 1 : -1; print}' %s/x.libsvm > %s/labels; "
                 "cut -c 1 %s/labels | sort | uniq -c",
                 folder, folder, folder);
    const char *start = trainer_nodes(2);
    double alone = logistic_objective("", "--baseline");
    CHECK(alone > 0 && alone < ROWS * log(2));
    CHECK(fabs(logistic_objective("", "--order round-robin") / alone - 1) < 1e-4);
    CHECK(fabs(logistic_objective(start, "") / alone - 1) < 1e-4);
    command_must(&c, "%s --data %s/labels --test %s/labels --loss logistic --out %s/model",
                 program_path("lasso"), folder, folder, folder);
    CHECK_STR(c.out.text, "logistic loss; priority");
    double right = ROWS * trainer_number(c.out.text, "accuracy ");
    if (command_run(&c, "command -v python3") != 0) SKIP("there is no python3 here");
    command_must(&c, "python3 -c \"%s\" %s/model %s/labels", judge, folder, folder);
    CHECK(right > 0.8 * ROWS && fabs(trainer_number(c.out.text, "logistic ") - right) < 1e-6);
}

/* ---- a model to begin with ---- */

/* From its own solution there is nothing left to do, whatever scales the data have. */
TEST(lasso, begins_with_its_model)
{
    char libsvm[3 * PATH_BYTES], market[3 * PATH_BYTES], from[2 * PATH_BYTES];
    static const char updates[] = "rounds  ";
    set_up(libsvm, market);
    snprintf(from, sizeof from, "--tolerance 1e-6 --out %s/model", folder);
    reaches("", libsvm, from);
    double whole = trainer_number(c.out.text, "\"updates\":");
    snprintf(from, sizeof from, "--tolerance 1e-6 --from %s/model", folder);
    reaches("", market, from);
    CHECK(trainer_number(c.out.text, "\"updates\":") < whole / 8);
    reaches(trainer_nodes(2), libsvm, strcat(from, " --schedulers 2 --workers 2"));
    CHECK(trainer_number(c.out.text, "\"updates\":") < whole / 8);
    command_must(&c, "awk '{$1 = $1 > 4.2 ? 1 : -1; print}' %s/x.libsvm > %s/labels", folder,
                 folder);
    snprintf(from, sizeof from, "--baseline --out %s/model", folder);
    double alone = logistic_objective("", from);
    whole = trainer_number(c.out.text, updates);
    snprintf(from, sizeof from, "--baseline --from %s/model", folder);
    CHECK(fabs(logistic_objective("", from) / alone - 1) < 1e-6);
    CHECK(trainer_number(c.out.text, updates) < whole / 2);
}

/* Columns are known by their numbers: one that the model has is gone, and there is a new one. */
TEST(lasso, begins_with_the_model_of_other_columns)
{
    char options[3 * PATH_BYTES], market[3 * PATH_BYTES];
    set_up(options, market);
    command_must(&c,
                 "cd %s && awk '{for (i = 2; i <= NF; i++) {split($i, x, \":\"); "
                 "$i = x[1] * 1000000 \":\" 3 * x[2]}; print}' x.libsvm > old && "
                 "sed 's/ 16000000:[^ ]*//' old | awk '{print $0, \"97000000:\" NR %% 7}' > new && "
                 "%s --data old --lambda 0.05 --out model > said && "
                 "%s --data new --lambda 0.05 --tolerance 1e-6",
                 folder, program_path("lasso"), program_path("lasso"));
    wanted = trainer_number(c.out.text, "objective ");
    snprintf(options, sizeof options, "--data %s/new --tolerance 1e-6 --from %s/model", folder,
             folder);
    reaches("", options, "");
    CHECK_EQ(trainer_number(c.err.text, "lasso: ") + 1, trainer_number(c.err.text, " of "));
    CHECK_STR(c.err.text, "; the data have no values in the others' columns");
    command_must(&c, "cd %s && printf '1 999:1\\n2 998:1\\n' > none", folder);
    snprintf(options, sizeof options, "--data %s/none --from %s/model", folder, folder);
    trainer_refuses(&c, "lasso", 1, options, "has no coefficient of a column of the data (--from)");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    trainer_refuses(&c, "lasso", status, arguments, part);
}

static void is_refused_text(const char *text, const char *more, const char *part)
{
    trainer_refuses_text(&c, "lasso", text, more, part);
}

TEST(lasso, refuses_wrong_input_with_a_sentence)
{
    is_refused(2, "--json", "--data is missing");
    is_refused(2, "--generate 10x10", "--generate takes ROWSxCOLUMNSxVALUES");
    is_refused(2, "--generate 10x10x3 --technique full", "--technique takes one of adaptive");
    is_refused(2, "--generate 10x10x3 --schedulers 11", "more than the 10 columns");
    is_refused(2, "--generate 10x10x3 --staleness 1 --baseline", "--staleness is for the squared");
    is_refused(2, "--generate 10x10x3 --staleness 1 --loss logistic", "leave --loss logistic");
    is_refused(2, "--generate 10x10x3 --staleness 3 --depth 60", "are 62 together at most");
    is_refused(1, "--data /no/such", "/no/such: No such file");
    is_refused_text("1 1:2\n2 2:x\n", "", ":2: \"x\" is no value: must be a number");
    is_refused_text("1 0:2\n", "", ":1: has the index 0: they begin with 1");
    is_refused_text("1 1:2 1:3\n2 1:1\n", "", "the value of row 1 and column 1 is given twice");
    is_refused_text("1 1:2\n1 1:2\n", "", "nothing to learn");
    is_refused_text("1 1:2\n2 2:2\n4 2:1\n", "--loss logistic", "row 2 has the response 2");
    is_refused_text("1 1:2\n1 2:2\n", "--loss logistic", "which there are two in all");
    is_refused_text("1 1:2\n0 2:2\n", "--loss logistic --test - < /dev/null", "- has no rows");
    is_refused_text("1 1:2\n0 2:2\n", "--loss logistic --test - <<X\n2 1:1\nX",
                    "row 1 has the response 2: the labels to learn are 0 and 1");
    is_refused_text("1 1:2\n0 2:2\n", "--test-response x --test - <<X\n2 1:1\nX",
                    "- is not MatrixMarket: --test-response is for MatrixMarket");
    is_refused(2, "--generate 10x10x3 --test-response x",
               "--test-response has no effect without --test");
    is_refused_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n",
                    "--response /dev/null", ":3: the file ends after 1 of 2 values");
    is_refused_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n", "",
                    "--response is for MatrixMarket, and must be given with it");
}
