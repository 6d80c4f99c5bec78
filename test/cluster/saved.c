/* What a training program saves is what it reports: a script that knows the model alone computes
 * the same figure from the file. */
#include "program.h"
#include "test.h"
#include "trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;
static char folder[PROGRAM_FOLDER_BYTES];

static void set_up(void)
{
    trainer_needs_python(&c);
    program_folder(folder);
}

/* Trains with --out model; returns the number behind the last `part` on stdout. */
static double reported(const char *start, const char *program, const char *options,
                       const char *part)
{
    command_must(&c, "cd %s && %s %s %s --json --out model", folder, start, program_path(program),
                 options);
    const char *at = strstr(c.out.text, part), *last = at;
    for (; at; at = strstr(at + 1, part)) last = at;
    return trainer_number(last, part);
}

/* What the script says of that file. */
static double computed(const char *program, const char *arguments, const char *part)
{
    command_must(&c, "cd %s && python3 %s %s model %s", folder, trainer_script("saved.py"), program,
                 arguments);
    return trainer_number(c.out.text, part);
}

static void are_equal(double a, double b, const char *what)
{
    if (!(fabs(a - b) <= 1e-4 * fabs(b)))
        test_fail(__FILE__, __LINE__, "%s: %.9g was reported, %.9g is saved", what, a, b);
}

/* Labels that follow nothing: what is learned by heart makes validation worse, and the best epoch
 * is not the last. */
static const char write_noise[] =
    "cd %s && awk 'BEGIN {srand(5); for (i = 0; i < 900; i++) printf \"%%d %%d:1 %%d:1 %%d:0.5\\n\", "
    "rand() < 0.4, rand() * 40, 40 + rand() * 60, 100 + rand() * 9}' > all && "
    "head -n 600 all > train && tail -n 300 all > test";

TEST(saved, ctr_tests_and_saves_the_epoch_that_was_validated_best)
{
    const char *options = "--data train --test test --epochs 6 --dim 4 --hidden 8 --lr 0.3 "
                          "--reg 0 --batch 16";
    const char *starts[] = {"", trainer_nodes(2)};
    set_up();
    command_must(&c, write_noise, folder);
    for (int i = 0; i < 2; i++) {
        double loss = reported(starts[i], "ctr", options, "\"log_loss\":");
        CHECK(trainer_number(c.out.text, "{\"event\":\"best\",\"epoch\":") < 6 || i > 0);
        are_equal(loss, computed("ctr", "test", "log_loss "), "log loss");
    }
}

/* Planted examples to train with are the same with others to validate with and without. */
TEST(saved, ctr_tests_the_model_of_the_epoch_that_it_names)
{
    const char *options = "--zipf 8x400x600 --dim 4 --hidden 8 --lr 0.5 --reg 0 --epochs 6";
    char all[160], part[64];
    set_up();
    snprintf(all, sizeof all, "%s --validate 0.5", options);
    double loss = reported("", "ctr", all, "\"log_loss\":");
    double best = trainer_number(c.out.text, "{\"event\":\"best\",\"epoch\":");
    CHECK(best < 6);
    snprintf(all, sizeof all, "%s --validate 0", options);
    (void)reported("", "ctr", all, "\"log_loss\":");
    snprintf(part, sizeof part, "\"split\":\"test\",\"epoch\":%.0f,", best);
    are_equal(loss, trainer_number(strstr(c.out.text, part), "\"log_loss\":"), "log loss");
}

/* Without validation the last epoch's model is tested, and saved. */
TEST(saved, ctr_saves_the_last_epoch_where_none_is_chosen)
{
    const char *options = "--data train --test test --epochs 3 --dim 4 --hidden 8 --validate 0";
    set_up();
    command_must(&c, write_noise, folder);
    double loss = reported("", "ctr", options, "\"log_loss\":");
    CHECK(strstr(c.out.text, "\"event\":\"best\"") == NULL);
    are_equal(loss, computed("ctr", "test", "log_loss "), "log loss");
}

TEST(saved, kge_finds_what_it_said)
{
    const char *options = "--data graph --dim 32 --batch 16 --negatives 20 --epochs 8 --lr 0.2 "
                          "--reg 0.001 --reciprocal --text entities.txt";
    set_up();
    double mrr = reported(trainer_nodes(2), "kge", options, "\"split\":\"test\",\"mrr\":");
    are_equal(mrr, computed("kge", "graph", "mrr "), "MRR");
    CHECK_EQ(computed("entities", "entities.txt", "same "), 60);
    CHECK_STR(c.out.text, "same 60 of 60");
    command_must(&c,
                 "cd %s && mkdir twins && printf 'a b\\tr\\ta_b\\na_b\\tr\\ta_b_2\\n' | "
                 "tee twins/train.txt twins/valid.txt > twins/test.txt && "
                 "%s --data twins --epochs 1 --text twins.txt && cut -d' ' -f1 twins.txt",
                 folder, program_path("kge"));
    CHECK_STR(c.out.text, "3\na_b\na_b_2\na_b_2_2\n");
}

/* Two circles with edges between them, of which every fourth node has the other's class: what is
 * learned by heart makes validation worse. */
static const char write_circles[] =
    "cd %s && awk 'BEGIN {srand(7); for (i = 0; i < 120; i++) {c = i < 60; "
    "print \"n\" i, \"n\" (c ? (i + 1) %% 60 : 60 + (i - 59) %% 60), 1 + i %% 3 > \"edges\"; "
    "if (i %% 5 == 0) print \"n\" i, \"n\" (i + 60) %% 120, 0.5 > \"edges\"; "
    "print \"n\" i, (rand() < 0.25) != c ? \"x\" : \"y\" > \"classes\"; "
    "print \"n\" i, i %% 3 == 0 ? \"train\" : i %% 3 == 1 ? \"val\" : \"test\" > \"split\"}}'";

#define GNN_OPTIONS \
    "--data edges --labels classes --split split --dim 8 --hidden 8 --neighbours 0 " \
    "--test-neighbours 0 --epochs 12 --eval-every 1 --batch 8"

TEST(saved, gnn_finds_the_classes_that_it_said)
{
    static const char *const options[] = {GNN_OPTIONS,
                                          GNN_OPTIONS " --weights --average symmetric"};
    const char *starts[] = {"", trainer_nodes(2)};
    set_up();
    command_must(&c, write_circles, folder);
    for (int i = 0; i < 2; i++) {
        double accuracy = reported(starts[i], "gnn", options[i], "\"accuracy\":");
        CHECK(trainer_number(c.out.text, "{\"event\":\"best\",\"epoch\":") < 12 || i > 0);
        are_equal(accuracy, computed("gnn", "edges classes split", "accuracy "), "accuracy");
    }
}

TEST(saved, mf_predicts_as_it_said)
{
    static const char *const more[] = {"", "--bias", "--method cd"};
    char options[128];
    set_up();
    command_must(&c,
                 "cd %s && awk 'NR %% 5 == 0' ratings > test && "
                 "awk '{$1 = \"u\" $1; print}' ratings > train && "
                 "sed -i 's/^/u/' test",
                 folder);
    for (int i = 0; i < 3; i++) {
        snprintf(options, sizeof options, "--data train --test test --rank 4 --epochs 5 %s",
                 more[i]);
        double rmse = reported(trainer_nodes(2), "mf", options, "\"rmse\":");
        are_equal(rmse, computed("mf", "test", "rmse "), "RMSE");
    }
}

/* Times of one hour in milliseconds, beside a column of small numbers and a sparse one of large
 * ones: what has to be taken off again is a thousand million times what is left. */
static const char write_times[] =
    "cd %s && awk 'BEGIN {srand(9); for (i = 0; i < 200; i++) {"
    "t = 1.7e12 + int(4e6 * rand()); x = rand(); s = rand() < 0.2 ? 1e9 + int(1e6 * rand()) : 0; "
    "printf \"%%.9f 1:%%.0f 2:%%.9f\", 5 + 1e-6 * (t - 1.7e12) + 2 * x + 1e-9 * s, t, x; "
    "if (s) printf \" 3:%%.0f\", s; print \"\"}}' > times";

/* NumPy's archive has what safetensors have, of any type. */
TEST(saved, an_archive_for_numpy_has_the_same)
{
    set_up();
    command_must(&c, write_times, folder);
    command_must(&c,
                 "cd %s && for out in model m.npz; do %s --data times --path 3 --out $out; "
                 "done && python3 %s model m.npz",
                 folder, program_path("lasso"), trainer_script("tensors.py"));
    CHECK_STR(c.out.text, "the same: 6");
    command_must(&c,
                 "cd %s && for out in model m.npz; do %s --data ratings --rank 4 --epochs 1 "
                 "--out $out; done && python3 %s model m.npz",
                 folder, program_path("mf"), trainer_script("tensors.py"));
    CHECK_STR(c.out.text, "the same: 4");
    if (command_run(
            &c, "cd %s && python3 -c 'import numpy; print(numpy.load(\"m.npz\")[\"rows\"].shape)'",
            folder) == 0)
        CHECK_STR(c.out.text, ", 4)");
}

/* With sizes of 32 bits, as savez() writes small ones, and compressed. */
TEST(saved, an_archive_of_numpy_s_own_is_read)
{
    static const char *const kinds[] = {"STORED", "DEFLATED"};
    set_up();
    command_must(&c, "cd %s && %s --data ratings --rank 4 --epochs 1 --out m.npz", folder,
                 program_path("mf"));
    for (int i = 0; i < 2; i++)
        command_must(&c,
                     "cd %s && python3 -c 'import sys, zipfile as z; a = z.ZipFile(\"m.npz\")\n"
                     "with z.ZipFile(\"%s\", \"w\", z.ZIP_%s) as b:\n"
                     "  for n in a.namelist(): b.writestr(n, a.read(n))'",
                     folder, kinds[i], kinds[i]);
    command_must(&c,
                 "cd %s && cut -d' ' -f1,2 ratings > q && %s predict m.npz q > x && "
                 "%s predict STORED q > y && cmp x y && [ -s x ]",
                 folder, program_path("mf"), program_path("mf"));
    CHECK_EQ(command_run(&c, "cd %s && %s predict DEFLATED q", folder, program_path("mf")), 1);
    CHECK_STR(c.err.text, "\"notes.json\" is compressed in it: write the archive by numpy.savez()");
    command_must(&c,
                 "cd %s && python3 -W ignore -c 'import zipfile as z\n"
                 "with z.ZipFile(\"STORED\", \"a\") as b: b.writestr(\"notes.json\", \"{}\")'",
                 folder);
    CHECK_EQ(command_run(&c, "cd %s && %s predict STORED q", folder, program_path("mf")), 1);
    CHECK_STR(c.err.text, "is no model: its header is not to be understood");
}

/* No epoch, and the first values are those of the model: byte for byte the same model again. */
TEST(saved, a_training_begins_with_what_another_one_saved)
{
    static const struct {
        const char *program, *options;
    } cases[] = {
        {"kge", "--data graph --dim 8 --batch 16 --negatives 4 --reciprocal"},
        {"mf", "--data ratings --rank 4 --bias"},
        {"ctr", "--data train --test test --dim 4 --hidden 8,4"},
        {"gnn", "--data edges --labels classes --dim 8 --hidden 4"},
    };
    program_folder(folder);
    command_must(&c, write_noise, folder);
    command_must(&c, write_circles, folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = program_path(cases[i].program), *options = cases[i].options;
        command_must(&c,
                     "cd %s && %s %s --epochs 2 --out model && "
                     "%s run -n 2 -- %s %s --epochs 0 --from model --out m.npz && "
                     "%s %s --epochs 0 --from m.npz --out again && cmp model again",
                     folder, path, options, locus_path(), path, options, path, options);
    }
}

/* Numbers are cut as the model has them, though there are others now, which would be cut elsewhere:
 * what it says of the old ones stays as it was. */
TEST(saved, ctr_cuts_numbers_as_the_model_that_it_begins_with)
{
    program_folder(folder);
    command_must(
        &c,
        "cd %s && awk 'BEGIN {srand(3); print \"x,c,click\"; for (i = 0; i < 900; i++) {"
        "x = 1000 * rand(); printf \"%%.6g,%%d,%%d\\n\", x, rand() * 4, rand() * 1000 < x}}' > old && "
        "cp old new && awk 'BEGIN {for (i = 0; i < 900; i++) print rand() \",1,0\"}' >> new && "
        "%s --data old --bins 8 --dim 4 --hidden 4 --epochs 2 --out model && "
        "%s --data new --dim 4 --hidden 4 --epochs 0 --workers 2 --from model --out again && "
        "%s predict model old > a && %s predict again old > b && cmp a b",
        folder, program_path("ctr"), program_path("ctr"), program_path("ctr"), program_path("ctr"));
    CHECK_EQ(command_run(&c, "cd %s && sed 's/^x/z/' new > other && %s --data other --from model",
                         folder, program_path("ctr")),
             1);
    CHECK_STR(c.err.text, "other has other columns, or in another order, than the model");
    CHECK_EQ(command_run(&c, "cd %s && %s --data new --from model --bins 8", folder,
                         program_path("ctr")),
             1);
    CHECK_STR(c.err.text, "--bins has no effect with --from");
}

/* Documents of three words each, of one of 5 topics. */
static const char write_documents[] =
    "cd %s && awk 'BEGIN {srand(3); for (d = 0; d < 200; d++) {t = int(5 * rand()); "
    "for (i = 0; i < 20; i++) printf \"w%%d \", 3 * t + int(3 * rand()); print \"\"}}' > documents";

TEST(saved, lda_has_the_topics_that_it_showed)
{
    set_up();
    command_must(&c, write_documents, folder);
    command_must(
        &c,
        "cd %s && %s %s --data documents --topics 5 --alpha 0.1 --epochs 40 --top 3 --out model "
        "| awk '/^topic/ {print \"topic\", $2, $(NF - 2), $(NF - 1), $NF}' > shown && "
        "python3 %s lda model 3 | awk '{$2 = $2 + 0; print}' > saved && diff shown saved",
        folder, trainer_nodes(2), program_path("lda"), trainer_script("saved.py"));
}

/* ---- lasso ---- */

TEST(saved, lasso_predicts_as_it_was_trained)
{
    const char *options = "--data times --lambda 0.001 --tolerance 1e-7 --width 1";
    const char *starts[] = {"", trainer_nodes(2)};
    set_up();
    command_must(&c, write_times, folder);
    for (int i = 0; i < 2; i++) {
        double objective = reported(starts[i], "lasso", options, "\"objective\":");
        are_equal(objective, computed("lasso", "times", "objective "), "objective");
    }
}

TEST(saved, lasso_takes_an_absolute_lambda)
{
    char options[128];
    set_up();
    command_must(&c, write_times, folder);
    double objective =
               reported("", "lasso", "--data times --lambda 0.2 --width 1", "\"objective\":"),
           lambda = trainer_number(strstr(c.out.text, "{\"event\":\"lambda\""), "\"lambda\":");
    snprintf(options, sizeof options, "--data times --absolute --lambda %.9g --width 1", lambda);
    are_equal(reported("", "lasso", options, "\"objective\":"), objective, "objective");
}

/* Other rows, with a column that the model does not have. */
enum { STEPS = 6, NEW = 50 };
static const char write_new[] =
    "cd %s && awk 'NR %% 4 == 1 {$1 = $1 + NR %% 3; print $0, \"9:5\"}' times > new";

/* The script says the same of all models: sums, of which what was reported is the root of the mean
 * where there are rows. */
static void compare(const double *reported, const char *data, const char *part, int rows)
{
    char *at = c.out.text;
    (void)computed("lasso", data, part);
    for (int i = 0; i < STEPS; i++, at++) {
        at = strstr(at, part);
        double sum = trainer_number(at, part);
        are_equal(reported[i], rows > 1 ? sqrt(sum / rows) : sum, part);
    }
    CHECK(strstr(at, part) == NULL);
}

/* All lambdas, also where the run goes on from a checkpoint on the way. */
static void check_path(const char *start, const char *more)
{
    char options[256], part[64], *at = c.out.text;
    double wanted[STEPS], errors[STEPS];
    snprintf(options, sizeof options,
             "--data times --test new --lambda 0.001 --path 6 --tolerance 1e-7 --width 1 %s", more);
    (void)reported(start, "lasso", options, "\"objective\":");
    for (int i = 0; i < STEPS; i++) {
        snprintf(part, sizeof part, "{\"event\":\"lambda\",\"step\":%d", i + 1);
        at = strstr(c.out.text, part);
        wanted[i] = trainer_number(at, "\"objective\":");
    }
    char *test = strstr(c.out.text, "\"event\":\"eval\"");
    for (int i = 0; i < STEPS; i++, test = test ? strstr(test + 1, "\"event\":\"eval\"") : NULL)
        errors[i] = trainer_number(test, "\"rmse\":");
    compare(wanted, "times", "objective ", 1);
    compare(errors, "new", "squares ", NEW);
}

TEST(saved, lasso_has_all_of_its_path)
{
    set_up();
    command_must(&c, write_times, folder);
    command_must(&c, write_new, folder);
    check_path("", "");
    check_path("", "--baseline");
    check_path(trainer_nodes(2), "--schedulers 2 --workers 2");
}
