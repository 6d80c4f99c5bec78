/* The program gnn from end to end, on generated graphs: alone, on a cluster, and with wrong
 * input. */
#include "common/folder.h"
#include "test.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;

/* Who knows nothing finds a quarter; who finds the planted classes, nearly all. */
static const char small[] =
    "--planted 400x12x4 --planted-same 0.8 --dim 8 --hidden 16 --neighbours 6 --epochs 4";
static const double ACCURACY_MIN = 0.8;

static void learns(const char *start, const char *more)
{
    command_must(&c, "%s %s %s %s --json", start, program_path("gnn"), small, more);
    CHECK_STR(c.out.text, "{\"event\":\"epoch\",\"epoch\":4,");
    const char *last = strstr(c.out.text, "{\"event\":\"epoch\",\"epoch\":4,");
    double test = trainer_number(last, "\"accuracy\":"),
           validation = trainer_number(last, "\"validation_accuracy\":");
    if (!(test > ACCURACY_MIN && test <= 1 && validation > ACCURACY_MIN))
        test_fail(__FILE__, __LINE__, "%s %s: accuracy %f, %f", start, more, test, validation);
}

TEST(gnn, learns_alone)
{
    learns("", "");
    CHECK_STR(c.out.text, "\"event\":\"stats\"");
    learns("", "--baseline --average symmetric");
    CHECK(strstr(c.out.text, "\"event\":\"stats\"") == NULL);
    learns("", "--workers 2 --eval-every 2 --dropout 0.2 --neighbours 0");
    CHECK_STR(c.out.text, "{\"event\":\"best\",\"epoch\":");
}

/* Nothing learned is not good enough for these tests. */
TEST(gnn, needs_its_epochs)
{
    command_must(&c, "%s %s --json --epochs 0", program_path("gnn"), small);
    CHECK(trainer_number(c.out.text, "\"accuracy\":") < 0.6);
}

TEST(gnn, learns_on_a_cluster)
{
    const char *start = trainer_nodes(2);
    learns(start, "--technique adaptive");
    learns(start, "--technique static");
    learns(start, "--technique nups --hot 20");
    CHECK(trainer_number(c.out.text, "\"edges_between\":") < 0.4);
    start = trainer_nodes(3);
    learns(start, "--workers 2 --partition random");
}

/* It is the model of a run that ends there. */
TEST(gnn, the_epoch_that_validated_best_is_reported_and_saved)
{
    static const char *const more[] = {"", "--baseline"};
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    for (int i = 0; i < 2; i++) {
        const char *run = "cd %s && %s %s --lr 0.3 %s --json --epochs %d --eval-every %d --out %s";
        command_must(&c, run, folder, program_path("gnn"), small, more[i], 12, 1, "best");
        const char *best = strstr(c.out.text, "\"best\"");
        CHECK(best != NULL);
        int epoch = (int)trainer_number(best, "\"epoch\":");
        double test = trainer_number(best, "\"accuracy\":"),
               validation = trainer_number(best, "\"validation_accuracy\":");
        CHECK(epoch > 0 && epoch < 12);
        command_must(&c, run, folder, program_path("gnn"), small, more[i], epoch, 0, "last");
        CHECK(trainer_number(c.out.text, "\"accuracy\":") == test);
        CHECK(trainer_number(c.out.text, "\"validation_accuracy\":") == validation);
        command_must(&c, "cmp %s/best %s/last", folder, folder);
    }
}

/* Two circles of ten with an edge between them; a circle is a class, and a feature says which, but
 * for one node in five. The same as LIBSVM and as tables. */
static const char write_formats[] =
    "cd %s && for i in 0 1 2 3 4 5 6 7 8 9; do echo $i $(((i+1)%%10)); "
    "echo 1$i 1$(((i+1)%%10)); done > edges && echo 3 13 >> edges && "
    "(echo from,to,weight && sed 's/ /,/; s/$/,1/' edges) > edges.csv && "
    "for i in $(seq 0 19); do j=$((i%%5 ? i/10 : 2)); echo c$((i/10)) $j:1; done > nodes && "
    "(echo id,name,class; awk '{printf \"%%d,\\\"node, %%d\\\",%%s\\n\", NR-1, NR-1, $1}' nodes) "
    "> nodes.csv && awk '{print NR %% 2 ? \"train\" : \"test\"}' nodes > split";

TEST(gnn, reads_two_formats_and_writes_a_model)
{
    static char first[COMMAND_TEXT_MAX];
    char folder[FOLDER_PATH_BYTES];
    static const char *const inputs[] = {"--data edges --labels nodes",
                                         "--data edges.csv --labels nodes.csv"};
    folder_new(folder);
    command_must(&c, write_formats, folder);
    for (int i = 0; i < 2; i++) {
        const char *run =
            "cd %s && %s %s --features nodes --split split --epochs 20 --batch 4 --out model | "
            "sed -E 's/^edges[.csv]*: //; s/ [0-9.]+ s.*//'";
        command_must(&c, run, folder, program_path("gnn"), inputs[i]);
        CHECK_STR(c.out.text, "20 nodes, 21 edges, 2 classes; 10 nodes to train with, 0 to val");
        CHECK_STR(c.out.text, "test 1.0000");
        bool has_said = strstr(c.err.text, "edges.csv has more than two nodes of an edge") != NULL;
        CHECK(has_said == (i == 1));
        if (i == 0) snprintf(first, sizeof first, "%s", c.out.text);
        if (strcmp(first, c.out.text) != 0)
            test_fail(__FILE__, __LINE__, "%s is not %s", c.out.text, first);
    }
    command_must(&c, "head -c 600 %s/model | tail -c 592", folder);
    CHECK_STR(c.out.text, "\"layer1.weight\":{\"dtype\":\"F32\",\"shape\":[3,64]");
    CHECK_STR(c.out.text, "\"layer2.bias\":{\"dtype\":\"F32\",\"shape\":[2]");
    command_must(&c, "tail -c 6 %s/model", folder);
    CHECK_STR(c.out.text, "c0\nc1\n");
}

TEST(gnn, refuses_wrong_input_with_a_sentence)
{
    trainer_refuses(&c, "gnn", 2, "--json", "--data is missing");
    trainer_refuses(&c, "gnn", 2, "--data edges", "--labels is missing");
    trainer_refuses(&c, "gnn", 2, "--planted 10x10", "--planted takes NODESxDEGREExCLASSES");
    trainer_refuses(&c, "gnn", 2, "--planted 10x2x2", "nodes must be from 20 to");
    trainer_refuses(&c, "gnn", 2, "--planted 100x60x2", "the mean degree must be from 1 to");
    trainer_refuses(&c, "gnn", 2, "--planted 100x4x2 --features x", "--planted has neither");
    trainer_refuses(&c, "gnn", 2, "--planted 100x4x2 --train 0.9", "are more than all nodes");
    trainer_refuses(&c, "gnn", 1, "--planted 100x4x2 --train 0",
                    "no node with a class to train with");
    trainer_refuses(&c, "gnn", 1, "--data /no/such --labels x", "/no/such: No such file");
    trainer_refuses(&c, "gnn", 1, "--data /dev/null --labels x", "is not a regular file");
}
