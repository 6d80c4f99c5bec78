/* The program ctr from end to end, on planted clicks: alone, on a cluster, and with wrong input. */
#include "common/folder.h"
#include "test.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;

/* The planted model has an AUC of 0.80; who knows nothing has 0.5. */
static const char small[] = "--zipf 6x100x3000 --dim 4 --hidden 8,4 --epochs 3 --lr 0.1 "
                            "--batch 32 --hold-back 0.25 --eval-every 0";
static const double AUC_MIN = 0.72;

static double auc_of(const char *split)
{
    char event[64];
    snprintf(event, sizeof event, "{\"event\":\"eval\",\"split\":\"%s\"", split);
    const char *at = strstr(c.out.text, event);
    return trainer_number(at ? at : "", "\"auc\":");
}

static void learns(const char *start, const char *more)
{
    command_must(&c, "%s %s %s %s --json", start, program_path("ctr"), small, more);
    CHECK_STR(c.out.text, "{\"event\":\"epoch\",\"epoch\":3,");
    double auc = auc_of("test"), planted = auc_of("planted");
    if (!(auc > AUC_MIN && auc < planted + 0.02))
        test_fail(__FILE__, __LINE__, "%s %s: AUC %f, planted %f", start, more, auc, planted);
}

TEST(ctr, learns_alone)
{
    learns("", "");
    CHECK_STR(c.out.text, "\"event\":\"stats\"");
    learns("", "--workers 2 --eval-every 1");
    CHECK_STR(c.out.text, "{\"event\":\"best\",\"epoch\":");
    CHECK_STR(c.out.text, "\"split\":\"valid\",\"epoch\":2,");
    learns("", "--baseline");
    CHECK(strstr(c.out.text, "\"event\":\"stats\"") == NULL);
}

/* What is not trained foretells nothing. */
TEST(ctr, needs_its_epochs)
{
    command_must(&c, "%s %s --json --epochs 0", program_path("ctr"), small);
    CHECK(auc_of("test") > 0.4 && auc_of("test") < 0.6);
    CHECK(strstr(c.out.text, "{\"event\":\"epoch\"") == NULL);
}

TEST(ctr, learns_on_a_cluster)
{
    const char *start = trainer_nodes(2);
    learns(start, "--technique adaptive");
    learns(start, "--technique static");
    learns(start, "--technique full");
    learns(start, "--technique nups --hot 4");
    start = trainer_nodes(3);
    learns(start, "--workers 2 --eval-every 1 --reg 1e-6");
}

/* Whether somebody clicks follows from the second feature. */
static const char write_formats[] =
    "cd %s && for i in 1 2 3 4 5 6 7 8 9; do "
    "echo \"1 $i:1 20:1\"; echo \"-1 $i:1 21:1\"; done > libsvm && "
    "sed 's/^-1/no/; s/^1/yes/; s/ \\([0-9]*\\):1/,w\\1/g; s/^\\([^,]*\\),\\(.*\\)/\\2,\\1/' "
    "libsvm > csv && "
    "awk '{ l = ($1 > 0) \"\"; for (i = 0; i < 13; i++) l = l \"\\t\"; "
    "l = l \"\\t\" $2 \"\\t\" $3; for (i = 0; i < 24; i++) l = l \"\\t\"; print l }' libsvm > criteo";

TEST(ctr, reads_three_formats)
{
    char folder[FOLDER_PATH_BYTES];
    static const char *const inputs[] = {"libsvm", "csv --positive yes", "criteo",
                                         "criteo --hash 10 --format criteo"};
    folder_new(folder);
    command_must(&c, write_formats, folder);
    for (int i = 0; i < 4; i++) {
        const char *run = "cd %s && %s --data %s --test %s --epochs 50 --dim 2 --hidden 4 --lr 0.1 "
                          "--batch 4 --validate 0 --out model";
        char train[] = "libsvm";
        snprintf(train, sizeof train, "%.*s", (int)strcspn(inputs[i], " "), inputs[i]);
        command_must(&c, run, folder, program_path("ctr"), inputs[i], train);
        CHECK_STR(c.out.text, "18 examples to train with, 0 to validate with, 18 to test with");
        CHECK_STR(c.out.text, "AUC 1.00000");
    }
    command_must(&c, "head -c 700 %s/model | tail -c 692", folder);
    CHECK_STR(c.out.text, "\"wide\":{\"dtype\":\"F32\",\"shape\":[1024]");
    CHECK_STR(c.out.text, "\"vectors\":{\"dtype\":\"F32\",\"shape\":[1024,2]");
    CHECK_STR(c.out.text, "\"layer1.bias\":{\"dtype\":\"F32\",\"shape\":[1]");
}

TEST(ctr, has_no_auc_where_all_examples_to_test_with_are_alike)
{
    static const char *const labels[] = {"1", "0"};
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    for (int i = 0; i < 2; i++) {
        for (int json = 0; json < 2; json++) {
            command_must(&c,
                         "cd %s && for i in 1 2 3 4; do echo 1 $i:1; echo 0 $i:1; done > train "
                         "&& echo %s 2:1 > test && %s --data train --test test --epochs 1 %s",
                         folder, labels[i], program_path("ctr"), json ? "--json" : "");
            CHECK_STR(c.out.text, json ? "\"auc\":null" : "   AUC -   ");
            CHECK(strstr(c.out.text, "nan") == NULL && strstr(c.out.text, "inf") == NULL);
            if (i == 1)
                CHECK_STR(c.out.text, json ? "\"calibration\":null" : "   calibration -   ");
        }
    }
}

TEST(ctr, refuses_wrong_input_with_a_sentence)
{
    trainer_refuses(&c, "ctr", 2, "--json", "--data is missing");
    trainer_refuses(&c, "ctr", 2, "--zipf 10x10", "--zipf takes FIELDSxCATEGORIESxEXAMPLES");
    trainer_refuses(&c, "ctr", 2, "--zipf 100x10000x5", "fields must be from 1 to 64");
    trainer_refuses(&c, "ctr", 2, "--zipf 4x100x50 --hidden 4,,2", "--hidden takes 1 to 7 numbers");
    trainer_refuses(&c, "ctr", 1, "--data /no/such", "/no/such: No such file");
    trainer_refuses_text(&c, "ctr", "", "", "has no examples");
    trainer_refuses_text(&c, "ctr", "hello\n", "",
                         ":1: has 1 field, with blanks between; must have at least 2");
    trainer_refuses_text(&c, "ctr", "1 2:1\n2 2:1\n", "",
                         ":2: \"2\" is no label: must be 1 for a click");
    trainer_refuses_text(&c, "ctr", "1 2:1\n0 2:1 x:1\n", "", ":2: \"x\" is no feature");
    trainer_refuses_text(&c, "ctr", "1 2:1\n0 qid:1 2:1\n", "", ":2: \"qid\" is no feature");
    trainer_refuses_text(&c, "ctr", "1 2:1\n? 2:1\n", "",
                         ":2: \"?\" is no label: must be a number");
    trainer_refuses_text(&c, "ctr", "label features\n1 2:1\n", "",
                         ":2: is LIBSVM, and lines before it are not");
    trainer_refuses_text(&c, "ctr", "1 2:1\n0 2:1 x:1\n", "--format libsvm",
                         ":2: \"x\" is no feature");
    trainer_refuses_text(&c, "ctr", "1 2:1\n0 2:y\n", "--format libsvm",
                         ":2: \"y\" is no value: must be a number");
    trainer_refuses_text(&c, "ctr", "1 2:1\n0 1:2:1\n", "",
                         ":2: feature 2: either all features have a field");
    trainer_refuses_text(&c, "ctr", "1\t2\t3\n", "--format criteo", ":1: has 3 fields; must be 40");
    trainer_refuses_text(&c, "ctr", "a,b,1\na,1\n", "", ":2: has 2 fields; the first row has 3");
    trainer_refuses_text(&c, "ctr", "a,b,0\na,c,0\n", "",
                         "no example has the label \"1\": --positive");
    trainer_refuses_text(&c, "ctr", "a,b\nx,1\n", "--label z", "no column has the name \"z\"");
}
