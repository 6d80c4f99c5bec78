/* The program lda from end to end, on generated documents: alone, on a cluster, and with wrong
 * input. Every run checks its counts by itself, and gives up when they are wrong. */
#include "common/folder.h"
#include "test.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;

/* 12 planted topics of 30 words: who finds them foretells a word as one of 90, of which some are
 * likelier; who knows only how frequent words are, as one of nearly 300. */
static const char small[] =
    "--generate 300x360x60x12 --topics 12 --alpha 0.1 --beta 0.05 --epochs 40";
static const double PERPLEXITY_MAX = 100;

static void learns(const char *start, const char *more)
{
    command_must(&c, "%s %s %s %s --json", start, program_path("lda"), small, more);
    CHECK_STR(c.out.text, "{\"event\":\"epoch\",\"epoch\":40,");
    double perplexity = trainer_number(c.out.text, "\"perplexity\":");
    if (!(perplexity > 10 && perplexity < PERPLEXITY_MAX))
        test_fail(__FILE__, __LINE__, "%s %s: perplexity %f", start, more, perplexity);
    CHECK(trainer_number(c.out.text, "\"log_likelihood\":") < 0);
}

TEST(lda, learns_alone)
{
    learns("", "");
    CHECK_STR(c.out.text, "\"event\":\"stats\"");
    CHECK_EQ(trainer_number(c.out.text, "\"s_error\":"), 0);
    learns("", "--sampler plain");
    learns("", "--baseline --workers 3");
    CHECK(strstr(c.out.text, "\"event\":\"stats\"") == NULL);
    learns("", "--workers 2 --top 3");
    CHECK_STR(c.out.text, "{\"event\":\"topic\",\"topic\":11,");
    CHECK(trainer_number(c.out.text, "\"s_error\":") > 0);
}

/* One sweep that learns nothing: knowing nothing is not good enough for these tests. */
TEST(lda, needs_its_sweeps)
{
    command_must(&c, "%s %s --json --epochs 1", program_path("lda"), small);
    CHECK(trainer_number(c.out.text, "\"perplexity\":") > 1.3 * PERPLEXITY_MAX);
}

TEST(lda, learns_on_a_cluster)
{
    const char *start = trainer_nodes(2);
    learns(start, "--technique adaptive");
    learns(start, "--technique static");
    learns(start, "--technique full");
    learns(start, "--visit copies --workers 2");
    start = trainer_nodes(3);
    learns(start, "--workers 2 --eval-every 20");
    learns(start, "--workers 2 --staleness 1 --eval-every 10");
    learns("", "--workers 3 --staleness 2 --technique relocate");
}

/* Documents of three words each, of one of 5 topics: half of one tells the topic, and the other
 * half has one of three words. Who knows nothing foretells one of 15. Of its own words (x) the test
 * has no use. */
static const char write_documents[] =
    "cd %s && awk 'BEGIN {srand(3); for (d = 0; d < 400; d++) {t = int(5 * rand()); "
    "for (i = 0; i < 20; i++) printf \"w%%d \", 3 * t + int(3 * rand()); "
    "print(d < 300 ? \"\" : \"x\")}}' > all && head -n 300 all > text && tail -n 100 all > test";

static double new_perplexity(const char *start, const char *folder, const char *more)
{
    command_must(&c,
                 "%s %s --data %s/text --test %s/test --topics 5 --alpha 0.1 "
                 "--epochs 60 --hold-back 0 --json %s",
                 start, program_path("lda"), folder, folder, more);
    return trainer_number(c.out.text, "\"new_perplexity\":");
}

TEST(lda, foretells_new_documents)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    command_must(&c, write_documents, folder);
    double alone = new_perplexity("", folder, "--seed 2");
    CHECK(alone > 2.9 && alone < 7);
    double plain = new_perplexity("", folder, "--seed 2 --baseline");
    CHECK(plain / alone < 1 + 1e-9 && alone / plain < 1 + 1e-9);
    const char *start = trainer_nodes(3);
    double cluster = new_perplexity(start, folder, "--seed 2");
    CHECK(cluster > 2.9 && cluster < 7);
    /* memory is for the different words of a document, however long it is */
    command_must(&c,
                 "cd %s && printf '1 0:1\\n1 2:1\\n' > ldac && echo 1 1:100000 > test && "
                 "ulimit -v %s && %s --data ldac --test test --topics 2000 --epochs 1 "
                 "--hold-back 0 --baseline",
                 folder, IS_SANITIZED ? "unlimited" : "900000", program_path("lda"));
    CHECK_EQ(command_run(&c, "echo x > %s/test; %s --data %s/text --test %s/test", folder,
                         program_path("lda"), folder, folder),
             1);
    CHECK_STR(c.err.text, "/test has no word of the documents to train with");
}

TEST(lda, a_training_goes_on_with_the_priors_of_its_model)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    command_must(&c,
                 "cd %s && lda=%s && data='--generate 20x30x10x3 --topics 3 --epochs 1' && "
                 "$lda $data --alpha 0.3 --beta 0.05 --out model && $lda $data --from model && "
                 "$lda $data --from model --beta 0.07",
                 folder, program_path("lda"));
    CHECK_STR(c.out.text, "\n3 topics, alpha 0.3, beta 0.05;");
    CHECK_STR(c.out.text, "\n3 topics, alpha 0.3, beta 0.07;");
    CHECK(strstr(strstr(c.out.text, "beta 0.05;") + 1, "beta 0.05;") != NULL);
}

/* The model is the one that a training of so many sweeps gives, and it is judged again. */
TEST(lda, patience_keeps_the_model_that_foretells_best)
{
    static const char options[] =
        "--generate 60x90x40x5 --topics 30 --hold-back 0.3 --learn-priors 2 --json";
    static const char *const others[] = {"", "--baseline", "--checkpoint points"};
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    for (int i = 0; i < 3; i++) {
        command_must(&c,
                     "cd %s && %s %s %s --patience 2 --out best > said && "
                     "grep -q '\"event\":\"best\"' said && ! grep -q '\"epoch\":200,' said && "
                     "n=$(sed -n 's/^{\"event\":\"best\",\"epoch\":\\([0-9]*\\).*/\\1/p' said) && "
                     "%s %s %s --epochs $n --out other > again && cmp best other && "
                     "p='s/.*\"perplexity\":\\([0-9.]*\\).*/\\1/p' && sed -n \"$p\" said > all && "
                     "test $(sort -g all | head -n 1) = $(tail -n 1 all) && "
                     "test $(tail -n 1 all) = $(sed -n \"$p\" again | tail -n 1)",
                     folder, program_path("lda"), options, others[i], program_path("lda"), options,
                     i == 2 ? "" : others[i]);
    }
    command_must(&c,
                 "cd %s && %s %s %s --patience 2 --workers 2 --resume --out again > said; "
                 "cmp best again && ! grep epoch..200, said",
                 folder, program_path("lda"), options, others[2]);
    command_must(&c, "%s %s %s --patience 2 --workers 2", trainer_nodes(2), program_path("lda"),
                 options);
    CHECK_STR(c.out.text, "\"event\":\"best\"");
}

/* The same two documents in three formats. */
static const char write_formats[] =
    "cd %s && printf '3 0:2 1:1 2:1\\n2 0:1 3:3\\n' > ldac && "
    "printf '2\\n4\\n5\\n1 1 2\\n1 2 1\\n1 3 1\\n2 1 1\\n2 4 3\\n' > docword && "
    "printf 'a a b c\\na d d d\\n' > text && printf 'a\\nb\\nc\\nd\\n' > words";

TEST(lda, reads_three_formats)
{
    static char first[COMMAND_TEXT_MAX];
    char folder[FOLDER_PATH_BYTES];
    static const char *const inputs[] = {"--data ldac --vocabulary words",
                                         "--data docword --vocabulary words", "--data text"};
    folder_new(folder);
    command_must(&c, write_formats, folder);
    for (int i = 0; i < 3; i++) {
        const char *run =
            "cd %s && %s %s --topics 2 --epochs 5 --hold-back 0 --top 2 --out model | "
            "grep -v ' s ' | sed 's/^[a-z]*: [^,]*, //; /log p/d'";
        command_must(&c, run, folder, program_path("lda"), inputs[i]);
        CHECK_STR(c.out.text, "2 documents, 4 words, 8 tokens");
        if (i == 0) snprintf(first, sizeof first, "%s", c.out.text);
        CHECK(strcmp(first, c.out.text) == 0);
    }
    command_must(&c,
                 "cd %s && %s --data text --topics 2 --epochs 5 --picture topics.svg && "
                 "cat topics.svg",
                 folder, program_path("lda"));
    CHECK_STR(c.out.text, ">2 of 2 topics</text>");
    CHECK_STR(c.out.text, ">d</text>");
    CHECK_STR(c.out.text, "</svg>");
    command_must(&c, "head -c 300 %s/model | tail -c 292", folder);
    CHECK_STR(c.out.text, "\"word_topics\":{\"dtype\":\"F32\",\"shape\":[4,2]");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    trainer_refuses(&c, "lda", status, arguments, part);
}

static void is_refused_text(const char *text, const char *part)
{
    trainer_refuses_text(&c, "lda", text, "", part);
}

TEST(lda, refuses_wrong_input_with_a_sentence)
{
    is_refused(2, "--json", "--data is missing");
    is_refused(2, "--generate 10x10", "--generate takes DOCUMENTSxWORDSxTOKENSxTOPICS");
    is_refused(2, "--generate 10x10x5x2 --topics 1", "--topics");
    is_refused(2, "--generate 10x10x5x2 --visit copies --baseline --workers 2",
               "lose each other's");
    is_refused(2, "--generate 10x10x5x2 --staleness 1 --baseline", "--staleness is for blocks");
    is_refused(1, "--data /no/such", "/no/such: No such file");
    is_refused_text("", "has no words");
    is_refused_text("2 0:1 1:1\n2 0:1 x:1\n", ":2: \"x\" is no word: must be a whole number");
    is_refused_text("1\n2\n1\n1 3 1\n", ":4: \"3\" is no word: must be a whole number from 1 to 2");
}
