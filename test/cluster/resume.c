/* Training programs with --checkpoint: one that goes on where another stopped ends as
 * if nothing had happened. */
#include "command.h"
#include "program.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;
static char folder[PROGRAM_FOLDER_BYTES];

/* ---- one worker: the same bits in every run, stopped or not ---- */

struct trained {
    const char *program, *options;
};

static const struct trained programs[] = {
    {"kge", "--data graph --dim 16 --batch 16 --negatives 20 --lr 0.2"},
    {"kge", "--data graph --dim 16 --batch 1 --negatives 5 --sampling bounded --reciprocal"},
    {"wv", "--data text --dim 12 --min-count 1 --batch 8"},
    {"wv", "--data text --dim 12 --min-count 1 --optimizer adagrad --sampling long-term"},
    {"mf", "--data ratings --rank 6 --batch 16"},
    {"mf", "--data ratings --rank 6 --visit blocks --technique relocate"},
    {"mf", "--data ratings --rank 6 --method cd"},
    {"ctr", "--zipf 6x200x3000 --dim 4 --hidden 8,4"},
    {"ctr", "--data clicks --dim 4 --hidden 8 --batch 16"},
    {"gnn", "--planted 300x8x3 --dim 8 --hidden 8 --neighbours 4 --dropout 0.5"},
    {"lda", "--generate 60x90x40x5 --topics 6 --learn-priors 2"},
    {"lda", "--generate 60x90x40x5 --topics 50 --sampler plain --visit copies"},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* With checkpoints and without, and from the first of them on. */
static void check_bits(const struct trained *t)
{
    const char *path = program_path(t->program);
    command_must(&c,
                 "cd %s && rm -rf all one && "
                 "%s %s --epochs 4 --out plain && "
                 "%s %s --epochs 4 --out whole --checkpoint all --checkpoint-every 3 && "
                 "cmp plain whole && mkdir one && mv all/checkpoint-000001 one && "
                 "%s %s --epochs 4 --out resumed --checkpoint one --resume && "
                 "cmp plain resumed",
                 folder, path, t->options, path, t->options, path, t->options);
    CHECK_STR(c.out.text, "goes on behind epoch 3 (");
}

TEST(resume, one_worker_that_stops_and_goes_on_gives_the_bits_of_one_that_does_not)
{
    program_folder(folder);
    /* A sanitizer is slow: each program once or twice. */
    for (int i = 0; i < PROGRAMS; i += IS_SANITIZED ? 2 : 1) check_bits(&programs[i]);
}

/* lasso's schedule begins anew at each checkpoint, so that another run without is another one. */
static const char *const regressions[] = {
    "--generate 200x300x9 --lambda 0.1 --width 8 --order round-robin --schedulers 2",
    "--generate 200x300x9 --lambda 0.01 --width 8 --path 2 --tolerance 1e-3 --depth 0",
    "--data clicks --loss logistic --lambda 0.1 --width 4 --depth 0 --order random --passes 30",
    "--generate 200x300x9 --lambda 0.01 --width 8 --path 3 --tolerance 1e-4 --order random",
};

/* Killed as soon as the second checkpoint is there, wherever it is then. */
static void check_regression(const char *options)
{
    const char *path = program_path("lasso");
    command_must(&c,
                 "cd %s && rm -rf all one && "
                 "LOCUS_CHECKPOINTS=100 %s %s --out whole --checkpoint all --checkpoint-every 7 && "
                 "{ LOCUS_CHECKPOINTS=100 %s %s --checkpoint one --checkpoint-every 7 & }; "
                 "until [ -e one/checkpoint-000002 ]; do kill -0 $! || exit; sleep 0.01; done; "
                 "kill -9 $!; wait; "
                 "%s %s --out resumed --checkpoint one --checkpoint-every 7 --resume && "
                 "cmp whole resumed",
                 folder, path, options, path, options, path, options);
    CHECK_STR(c.out.text, "goes on behind epoch ");
}

TEST(resume, a_lasso_that_is_killed_and_goes_on_gives_the_bits_of_one_that_does_not)
{
    program_folder(folder);
    for (size_t i = 0; i < sizeof regressions / sizeof *regressions; i++)
        check_regression(regressions[i]);
}

/* The line of the last lambda, without the time that it took. */
static void last_lambda(char line[256])
{
    const char *last = c.out.text;
    for (const char *at = strstr(c.out.text, "lambda "); at; at = strstr(at + 1, "lambda "))
        if (strstr(at, "objective")) last = at;
    const char *end = strstr(last, "updates");
    CHECK(last != c.out.text && end != NULL);
    snprintf(line, 256, "%.*s", (int)(end - last), last);
}

static void run_lasso(const char *more)
{
    static const char options[] = "--generate 200x300x9 --lambda 0.01 --path 2 --width 8 --depth 0 "
                                  "--order round-robin --correlation 0.3 --checkpoint model";
    command_must(&c, "cd %s && %s %s %s", folder, program_path("lasso"), options, more);
}

TEST(resume, a_lasso_that_was_over_says_its_result_and_goes_on_with_more_passes)
{
    char before[256], after[256];
    double objective, better;
    program_folder(folder);
    run_lasso("--passes 20 --out first");
    CHECK_STR(c.out.text, "not converged");
    last_lambda(before);
    run_lasso("--passes 20 --out again --resume");
    CHECK_STR(c.out.text, "not converged");
    last_lambda(after);
    if (strcmp(before, after) != 0) test_fail(__FILE__, __LINE__, "%s, then %s", before, after);
    command_must(&c, "cd %s && cmp first again", folder);
    run_lasso("--resume");
    CHECK(strstr(c.out.text, "not converged") == NULL);
    last_lambda(after);
    CHECK(sscanf(strstr(before, "objective"), "objective %lf", &objective) == 1);
    CHECK(sscanf(strstr(after, "objective"), "objective %lf", &better) == 1);
    CHECK(better < objective);
    run_lasso("--passes 100000 --resume");
    last_lambda(before);
    if (strcmp(before, after) != 0) test_fail(__FILE__, __LINE__, "%s, then %s", after, before);
    run_lasso("--tolerance 1e-6 --resume"); /* what rested goes on */
    last_lambda(after);
    CHECK(sscanf(strstr(after, "objective"), "objective %lf", &objective) == 1);
    CHECK(strcmp(before, after) != 0 && objective <= better);
}

TEST(resume, any_number_of_nodes_goes_on_with_a_lasso)
{
    static const char *const others[] = {"-n 1", "-n 3"};
    /* Workers' order differs, and with it the passes, a hundred or two: the oldest checkpoint that
     * is kept. A sanitizer is slow, and there are thousands of rounds. */
    const char *options = IS_SANITIZED
                              ? "--generate 100x120x5 --lambda 0.02 --width 8 --schedulers 2 "
                                "--workers 2 --checkpoint model"
                              : "--generate 200x300x9 --lambda 0.05 --width 8 --schedulers 2 "
                                "--workers 2 --checkpoint model";
    double whole, again;
    int oldest, newest;
    program_folder(folder);
    command_must(&c,
                 "cd %s && LOCUS_CHECKPOINTS=100 %s run -n 2 -- %s %s "
                 "--checkpoint-every 2",
                 folder, locus_path(), program_path("lasso"), options);
    const char *at = strstr(c.out.text, "objective ");
    CHECK(at && sscanf(at, "objective %lf", &whole) == 1);
    command_must(&c, "ls %s/model | sed -n '1p;$p'", folder);
    CHECK_EQ(sscanf(c.out.text, "checkpoint-%d checkpoint-%d", &oldest, &newest), 2);
    CHECK(oldest < newest); /* so much is left to train */
    for (int k = 0; k < 2; k++) {
        command_must(&c,
                     "cd %s && rm -rf one && mkdir one && cp -r model/checkpoint-%06d "
                     "one && %s run %s -- %s %s --checkpoint one --resume",
                     folder, oldest, locus_path(), others[k], program_path("lasso"), options);
        CHECK_STR(c.out.text, "goes on behind epoch ");
        at = strstr(c.out.text, "objective ");
        CHECK(at && sscanf(at, "objective %lf", &again) == 1);
        if (!(again < whole * 1.0001 && again > whole * 0.9999))
            test_fail(__FILE__, __LINE__, "%f, then %f", whole, again);
    }
}

/* By time there are checkpoints within an epoch, here behind each of its parts. */
TEST(resume, a_training_goes_on_within_an_epoch)
{
    static const char options[] = "--data graph --dim 16 --batch 24 --negatives 20 --lr 0.2 "
                                  "--epochs 2";
    static const struct {
        int number;
        const char *place;
    } kept[] = {{1, "behind epoch 0 and 1/12 of"},
                {7, "behind epoch 0 and 7/12 of"},
                {12, "behind epoch 1 ("},
                {17, "behind epoch 1 and 5/12 of"},
                {24, "behind epoch 2 ("}};
    const char *kge = program_path("kge");
    program_folder(folder);
    command_must(&c,
                 "cd %s && LOCUS_CHECKPOINTS=100 %s %s --checkpoint all "
                 "--checkpoint-every 0.000001s --out whole",
                 folder, kge, options);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        command_must(&c,
                     "cd %s && rm -rf one && mkdir one && cp -r all/checkpoint-%06d one && "
                     "%s %s --checkpoint one --checkpoint-every 1000s --resume "
                     "--out resumed && cmp whole resumed",
                     folder, kept[i].number, kge, options);
        CHECK_STR(c.out.text, kept[i].place);
    }
}

/* ---- several nodes ---- */

/* What is printed of the model, without the time that it took. */
static void judged_line(const char *start, char line[256])
{
    const char *at = strstr(c.out.text, start);
    CHECK(at != NULL);
    size_t length = strcspn(at, "(");
    CHECK(length < 256);
    snprintf(line, 256, "%.*s", (int)length, at);
}

TEST(resume, any_number_of_nodes_goes_on_with_the_same_quality)
{
    static const char options[] = "--data graph --dim 32 --batch 16 --negatives 20 --lr 0.2 "
                                  "--reg 0.001 --checkpoint model";
    enum { EPOCHS = IS_SANITIZED ? 5 : 15 };
    char before[256], after[256], line[64];
    const char *kge = program_path("kge");
    double mrr;
    program_folder(folder);
    command_must(&c, "cd %s && %s run -n 2 -- %s %s --epochs %d", folder, locus_path(), kge,
                 options, EPOCHS);
    judged_line("\ntest ", before);
    /* Nothing is left to train: evaluated only. */
    command_must(&c, "cd %s && %s run -n 4 -- %s %s --epochs %d --resume", folder, locus_path(),
                 kge, options, EPOCHS);
    judged_line("\ntest ", after);
    if (strcmp(before, after) != 0) test_fail(__FILE__, __LINE__, "%s, then %s", before, after);
    command_must(
        &c, "cd %s && %s run -n 3 -- %s %s --technique static --workers 2 --epochs %d --resume",
        folder, locus_path(), kge, options, 2 * EPOCHS);
    judged_line("\ntest ", after);
    CHECK_EQ(sscanf(after, " test MRR %lf", &mrr), 1);
    CHECK(mrr > (IS_SANITIZED ? 0.1 : 0.5));
    snprintf(line, sizeof line, "goes on behind epoch %d (", EPOCHS);
    CHECK_STR(c.out.text, line);
    snprintf(line, sizeof line, "\nepoch %3d ", EPOCHS + 1);
    CHECK_STR(c.out.text, line);
    snprintf(line, sizeof line, "\nepoch %3d ", EPOCHS);
    CHECK(strstr(c.out.text, line) == NULL);
}

/* What has been written by two nodes is the same model for others, however many workers they
 * have. */
TEST(resume, any_number_of_nodes_takes_over_what_a_program_keeps_besides)
{
    static const struct {
        const char *program, *options, *start;
    } judged[] = {
        {"ctr", "--zipf 6x200x3000 --dim 4 --hidden 8,4 --eval-every 0", "\ntest "},
        {"gnn", "--planted 300x8x3 --dim 8 --hidden 8 --neighbours 4 --dropout 0.5", "\naccuracy "},
        {"lda", "--generate 60x90x41x5 --topics 6 --patience 3", "\nlog p"},
        {"lda", "--generate 9x90x3x5 --topics 60 --visit copies", "\nlog p"},
    };
    static const char *const others[] = {"-n 1", "-n 4", "-n 3"};
    char before[256], after[256];
    program_folder(folder);
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
        const char *path = program_path(judged[i].program);
        command_must(&c, "cd %s && %s run -n 2 -- %s %s --epochs 3 --checkpoint model%zu", folder,
                     locus_path(), path, judged[i].options, i);
        judged_line(judged[i].start, before);
        for (int k = 0; k < (IS_SANITIZED ? 1 : 3); k++) {
            command_must(&c,
                         "cd %s && %s run %s -- %s %s --epochs 3 --workers 2 "
                         "--checkpoint model%zu --resume",
                         folder, locus_path(), others[k], path, judged[i].options, i);
            CHECK_STR(c.out.text, "goes on behind epoch 3 (");
            judged_line(judged[i].start, after);
            if (strcmp(before, after) != 0)
                test_fail(__FILE__, __LINE__, "%s, then %s", before, after);
        }
    }
}

/* What is printed of a model is no part of it. */
TEST(resume, an_lda_goes_on_and_shows_its_topics)
{
    const char *options = "--generate 60x90x40x5 --topics 6 --epochs 3 --checkpoint model";
    program_folder(folder);
    command_must(&c, "cd %s && %s %s", folder, program_path("lda"), options);
    command_must(&c, "cd %s && %s %s --top 2 --resume", folder, program_path("lda"), options);
    CHECK_STR(c.out.text, "goes on behind epoch 3 (");
    CHECK_STR(c.out.text, "topic    0");
}

/* ---- what is refused ---- */

/* Before the training, by all nodes that would write. */
TEST(resume, a_folder_that_cannot_be_had_is_refused_before_the_training)
{
    const char *starts[] = {"", "run -n 2 --"};
    program_folder(folder);
    for (int i = 0; i <= PROGRAMS; i++) {
        const char *program = i < PROGRAMS ? programs[i].program : "lasso";
        const char *options = i < PROGRAMS ? programs[i].options : "--generate 200x300x9";
        if (i > 0 && i < PROGRAMS && strcmp(program, programs[i - 1].program) == 0) continue;
        for (int k = 0; k < 2; k++) {
            CHECK(command_run(&c, "cd %s && %s %s %s %s --checkpoint no/such", folder,
                              k ? locus_path() : "", starts[k], program_path(program),
                              options) != 0);
            CHECK_STR(c.err.text, "no/such: the folder no: No such file or directory");
            if (k == 0) CHECK_EQ(c.out.length, 0);
            CHECK(strstr(c.out.text, "epoch") == NULL && strstr(c.out.text, "node") == NULL);
        }
    }
    CHECK_EQ(command_run(&c, "cd %s && ls -d model no", folder), 2);
    CHECK_EQ(command_run(&c, "cd %s && ulimit -f 1 && %s %s --checkpoint full", folder,
                         program_path("kge"), programs[0].options),
             1);
    CHECK_STR(c.err.text, "File too large");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    CHECK_EQ(command_run(&c, "cd %s && %s --data graph --dim 16 --epochs 1 %s", folder,
                         program_path("kge"), arguments),
             status);
    CHECK_STR(c.err.text, part);
}

/* What judges or ends a training may be another one; what is trained may not. */
TEST(resume, only_what_was_trained_must_be_the_same)
{
    static const struct {
        const char *program, *options, *first, *other, *wrong;
    } rows[] = {
        {"kge", "--dim 4 --negatives 2 --epochs 1", "--data graph",
         "--data fewer-tests --patience 1", "--data fewer-facts"},
        {"wv", "--data text --dim 4 --epochs 1", "",
         "--analogies questions --analogy-words 9 --similarity pairs", "--window 3"},
        {"mf", "--data ratings --rank 2 --epochs 1", "--test few", "--test some --patience 1",
         "--test few --reg 1"},
        {"ctr", "--data clicks --dim 2 --hidden 4 --epochs 1", "", "--eval-every 0", "--reg 0.5"},
        {"gnn", "--data edges --labels classes --dim 4 --hidden 4 --epochs 1", "--split parts",
         "--split fewer --test-neighbours 2 --eval-every 1", "--split parts --neighbours 3"},
        {"gnn", "--data edges --labels classes --dim 4 --hidden 4 --epochs 1", "--split parts",
         "--split parts --seconds 9", "--split others"},
        {"lda", "--data docs --topics 4 --epochs 1", "--test docs", "--test asked --patience 1",
         "--test docs --alpha 0.1"},
        {"lasso", "--generate 100x120x5 --lambda 0.1", "--tolerance 1e-2", "--tolerance 1e-4",
         "--correlation 0.2"},
    };
    program_folder(folder);
    command_must(
        &c,
        "cd %s && cp -r graph fewer-tests && sed -i 1d fewer-tests/test.txt && "
        "cp -r graph fewer-facts && sed -i 1d fewer-facts/train.txt && "
        "head -n 20 ratings > few && head -n 30 ratings > some && head -n 60 text > docs && "
        "head -n 9 text > asked && "
        "printf ': a\\nw1 w2 w3 w4\\n' > questions && printf 'w1 w2 5\\nw3 w4 2\\n' > pairs && "
        "for i in $(seq 0 39); do echo $i $(((i + 1) %% 40)); echo $i $(((i + 7) %% 40)); done > edges && "
        "for i in $(seq 0 39); do echo $i $((i %% 2)); done > classes && "
        "for i in $(seq 0 39); do echo $i $(echo train val test | cut -d ' ' -f $((1 + i %% 3))); "
        "done > parts && sed '3s/test/none/' parts > fewer && sed '1s/train/none/' parts > others",
        folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *path = program_path(rows[i].program);
        command_must(&c, "cd %s && rm -rf model && %s %s %s --checkpoint model", folder, path,
                     rows[i].options, rows[i].first);
        CHECK_EQ(command_run(&c, "cd %s && %s %s %s --checkpoint model --resume", folder, path,
                             rows[i].options, rows[i].wrong),
                 2);
        CHECK_STR(c.err.text, "is of other data, or of other options than these: only what ends");
        command_must(&c, "cd %s && %s %s %s --checkpoint model --resume", folder, path,
                     rows[i].options, rows[i].other);
        CHECK_STR(c.out.text, "goes on behind epoch ");
    }
}

TEST(resume, what_would_be_another_training_is_refused)
{
    program_folder(folder);
    is_refused(2, "--resume", "--resume needs --checkpoint DIR");
    is_refused(2, "--checkpoint-every 3", "--checkpoint-every needs --checkpoint DIR");
    is_refused(2, "--checkpoint model --baseline", "--baseline writes no checkpoints");
    is_refused(2, "--checkpoint model --checkpoint-every 0", "takes a number of epochs");
    is_refused(2, "--checkpoint model --checkpoint-every 2m", "not \"2m\"");
    is_refused(2, "--checkpoint model --checkpoint-every 1.5", "not \"1.5\"");
    is_refused(2, "--checkpoint model --checkpoint-every -1s", "not \"-1s\"");
    is_refused(0, "--checkpoint model --resume", "");
    CHECK_STR(c.out.text, "no checkpoint in model yet: from the beginning");
    is_refused(2, "--checkpoint model", "there are checkpoints in model already");
    is_refused(2, "--checkpoint model --resume --lr 0.3", "is of other data, or of other options");
    is_refused(2, "--checkpoint model --resume --seed 2", "is of other data, or of other options");
    is_refused(2, "--checkpoint model --resume --dim 32", "has rows of 32 floats here, of 16 in");
    is_refused(0, "--checkpoint model --resume --technique static --epochs 2", "");
    setenv("LOCUS_RESTART", "1", 1);
    is_refused(0, "--checkpoint model", "");
    CHECK_STR(c.out.text, "goes on behind epoch ");
    unsetenv("LOCUS_RESTART");
}
