/* The program wv from end to end, on a text of a few thousand words: alone, on a cluster, and with
 * wrong input. */
#include "common/folder.h"
#include "test.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = FOLDER_PATH_BYTES, PLACES = 12, SENTENCES = 3000 };

static char folder[PATH_BYTES];
static struct command c;

/* Each sentence is of one place: its words are alike, and those of different places are not. */
static void make_text(void)
{
    char path[2 * PATH_BYTES];
    folder_new(folder);
    snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (unsigned i = 0; i < SENTENCES; i++) {
        unsigned place = i % PLACES, x = i / PLACES;
        fprintf(file, "near%u-%u near%u-%u middle%u near%u-%u\n", place, x % 3, place, x / 3 % 3,
                place, place, x / 9 % 3);
    }
    CHECK_EQ(fclose(file), 0);
    snprintf(path, sizeof path, "%s/pairs", folder);
    CHECK((file = fopen(path, "w")) != NULL);
    for (int i = 0; i < PLACES; i++) {
        fprintf(file, "near%d-0 near%d-1 9\nnear%d-0 near%d-1 1\n", i, i, i, (i + 1) % PLACES);
    }
    CHECK_EQ(fclose(file), 0);
    snprintf(path, sizeof path, "%s/questions", folder);
    CHECK((file = fopen(path, "w")) != NULL);
    fprintf(file, ": places\nnear0-0 near0-1 near1-0 near1-1\nnear2-0 near2-1 near3-0 nowhere\n");
    CHECK_EQ(fclose(file), 0);
}

static const char small[] = "--dim 16 --min-count 2 --subsample 0 --epochs 5 --lr 0.1";

/* Words of one place are alike: the rank correlation with a rating that says so. */
static void learns(const char *start, const char *more)
{
    command_must(&c,
                 "%s %s --data %s/text --similarity %s/pairs --analogies %s/questions %s %s --json",
                 start, program_path("wv"), folder, folder, folder, small, more);
    CHECK_STR(c.out.text, "{\"event\":\"epoch\",\"epoch\":5,");
    CHECK_STR(c.out.text, "\"task\":\"analogies\",\"accuracy\":");
    CHECK_STR(c.out.text, "\"answerable\":1,\"questions\":2");
    double rho = trainer_number(c.out.text, "\"spearman\":");
    if (!(rho > 0.7)) test_fail(__FILE__, __LINE__, "%s %s: Spearman %f", start, more, rho);
    double loss = trainer_number(strstr(c.out.text, "\"epoch\":5"), "\"loss\":");
    CHECK(loss > 0 && loss < trainer_number(c.out.text, "\"loss\":"));
}

TEST(wv, learns_alone)
{
    make_text();
    learns("", "");
    CHECK_STR(c.out.text, "\"event\":\"stats\"");
    learns("", "--baseline");
    CHECK(strstr(c.out.text, "\"event\":\"stats\"") == NULL);
}

TEST(wv, learns_by_other_steps_and_samples)
{
    make_text();
    learns("", "--optimizer adagrad --workers 2");
    learns("", "--shared-negatives --sampling bounded");
}

/* A few trainings each: a sanitizer is slow. */
TEST(wv, learns_on_a_cluster)
{
    const char *start = trainer_nodes(2);
    make_text();
    learns(start, "--technique adaptive");
    learns(start, "--technique static");
    learns(start, "--technique relocate");
}

TEST(wv, learns_on_a_cluster_within_a_staleness)
{
    const char *start = trainer_nodes(2);
    make_text();
    learns(start, "--technique essp --staleness 1 --workers 2");
    learns(start, "--technique ssp --staleness 0 --clocks 5");
}

TEST(wv, learns_on_a_cluster_from_other_samples)
{
    const char *start = trainer_nodes(2);
    make_text();
    learns(start, "--sampling long-term");
    learns(start, "--sampling non-conform");
    learns(start, "--sampling non-conform --shared-negatives");
    learns(start, "--sampling non-conform --technique static");
}

/* Both formats of word2vec have the same vectors, of as many words as their heads say. */
TEST(wv, writes_the_same_in_three_formats)
{
    trainer_needs_python(&c);
    make_text();
    command_must(
        &c,
        "%s run -n 2 %s --data %s/text %s --text %s/t --binary %s/b --out %s/m > %s/out && "
        "python3 %s wv %s/m %s/t %s/b",
        locus_path(), program_path("wv"), folder, small, folder, folder, folder, folder,
        trainer_script("saved.py"), folder, folder, folder);
    double same = trainer_number(c.out.text, "same ");
    CHECK(same > 10 && same >= trainer_number(c.out.text, "of ") &&
          same >= trainer_number(strstr(c.out.text, "of ") + 3, " "));
}

static void is_refused(int status, const char *arguments, const char *part)
{
    trainer_refuses(&c, "wv", status, arguments, part);
}

TEST(wv, refuses_wrong_input_with_a_sentence)
{
    char arguments[3 * PATH_BYTES];
    is_refused(2, "--json", "--data is missing");
    is_refused(2, "--data x --optimizer adam",
               "--optimizer takes one of sgd, adagrad, not \"adam\"");
    is_refused(2, "--data x --batch 10000 --negatives 1000",
               "make up to 100000000 negatives in a step");
    is_refused(1, "--data /no/such", "/no/such: No such file");
    make_text();
    snprintf(arguments, sizeof arguments, "--data %s/text --json --analogies %s/text", folder,
             folder);
    is_refused(1, arguments, "/text:1: ");
}

/* Who gives up waits for nobody, not even for a loader that has ended: ThreadSanitizer would call
 * that a leak. */
TEST(wv, a_loss_that_is_no_number_ends_the_training)
{
    make_text();
    int status = command_run(
        &c,
        "TSAN_OPTIONS=\"$TSAN_OPTIONS report_thread_leaks=0\" %s --data %s/text --json --dim 16 %s",
        program_path("wv"), folder, "--min-count 2 --lr 100");
    CHECK_EQ(status, 1);
    CHECK_STR(c.err.text, "wv: the loss is no number any more in epoch 1: choose a smaller --lr");
    CHECK_EQ(c.out.length, 0);
}
