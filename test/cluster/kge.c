/* The program kge from end to end, on a graph of a few hundred facts: alone, on clusters, and with
 * wrong input. */
#include "test.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[PROGRAM_FOLDER_BYTES];
static struct command c;

static const char small[] = "--dim 32 --batch 16 --negatives 20 --epochs 30 --lr 0.2 --reg 0.001";

/* `start` comes before the program. The lines are checked by the script. */
static void check_json(const char *start, const char *options, int epochs, const char *minimum)
{
    trainer_needs_python(&c);
    command_must(&c, "%s %s --data %s/graph --json %s > %s/lines && python3 %s %d %s < %s/lines",
                 start, program_path("kge"), folder, options, folder,
                 trainer_script("json_lines.py"), epochs, minimum, folder);
    CHECK_STR(c.out.text, "test MRR");
}

static void with_options(const char *more, const char *minimum)
{
    char options[512];
    snprintf(options, sizeof options, "%s %s", small, more);
    check_json("", options, 30, minimum);
}

TEST(kge, learns_alone)
{
    program_folder(folder);
    with_options("", "0.5");
    CHECK_STR(c.out.text, "stats True");
    with_options("--eval-every 10", "0.5");
    with_options("--reciprocal --workers 2", "0.5");
    with_options("--baseline", "0.5");
    CHECK_STR(c.out.text, "stats False");
    with_options("--loss logistic --own-negatives", "0.3");
    with_options("--loss logistic --batch 1 --negatives 5", "0.3");
    with_options("--model rescal --dim 16", "0.2");
}

/* Whatever the technique, and however many nodes: the same quality. Storms prove all techniques; here
 * are those that ask something of the program. */
TEST(kge, learns_on_a_cluster)
{
    static const char *const techniques[] = {"adaptive", "static", "nups", "ssp --staleness 1",
                                             "essp --staleness 0 --clocks 9"};
    char options[256];
    program_folder(folder);
    for (int i = 0; i < 5; i++) {
        snprintf(options, sizeof options, "%s --technique %s", small, techniques[i]);
        check_json(trainer_nodes(i == 0 ? 3 : 2), options, 30, "0.4");
    }
}

/* Who knows nothing has an MRR of 0.02. */
TEST(kge, learns_a_planted_graph)
{
    static const char start[] = "%s run -n 2 %s --planted 400x8x4000 %s --epochs 12 --json > %s";
    static const char planted[] = "--dim 32 --batch 16 --negatives 20 --lr 0.2 --reg 0.001";
    trainer_needs_python(&c);
    program_folder(folder);
    char lines[2 * PROGRAM_FOLDER_BYTES];
    snprintf(lines, sizeof lines, "%s/lines", folder);
    command_must(&c, start, locus_path(), program_path("kge"), planted, lines);
    command_must(&c, "python3 %s 12 0.3 < %s", trainer_script("json_lines.py"), lines);
    CHECK_STR(c.out.text, "test MRR");
    command_must(&c, "%s --planted 400x8x4000 %s --epochs 1", program_path("kge"), planted);
    CHECK_STR(c.out.text, "400x8x4000: 400 entities, 8 relations; 3758 facts");
}

TEST(kge, writes_a_model_that_python_reads)
{
    program_folder(folder);
    trainer_needs_python(&c);
    command_must(
        &c, "%s --data %s/graph %s --epochs 2 --reciprocal --out %s/model && python3 %s %s/model",
        program_path("kge"), folder, small, folder, trainer_script("tensors.py"), folder);
    CHECK_STR(c.out.text, "dim=32 model=complex reciprocal=true\n");
    CHECK_STR(c.out.text, "entities F32 [60, 32]\n");
    CHECK_STR(c.out.text, "relations F32 [12, 32]\n");
    CHECK_STR(c.out.text, "entity_names U8 60 entity ");
    CHECK_STR(c.out.text, "relation_names U8 6 next_");
    /* A model of a cluster is that of rank 0, and whole. */
    command_must(
        &c,
        "%s run -n 2 %s --data %s/graph %s --epochs 2 --technique static --model rescal --dim 8 --out %s/model "
        "&& python3 %s %s/model",
        locus_path(), program_path("kge"), folder, small, folder, trainer_script("tensors.py"),
        folder);
    CHECK_STR(c.out.text, "entities F32 [60, 8]\n");
    CHECK_STR(c.out.text, "relations F32 [6, 64]\n");
}

/* The same digits, but for the time that it took. */
TEST(kge, evaluates_a_saved_model)
{
    program_folder(folder);
    command_must(
        &c,
        "cd %s && kge='%s --data graph %s' && told='sed -n s/(.*//;/^test/p' && "
        "$kge --epochs 2 --out model | $told > trained && "
        "$kge --epochs 0 --from model | $told > saved && test -s saved && cmp trained saved",
        folder, program_path("kge"), small);
}

TEST(kge, divides_the_facts_of_stdin_as_those_of_a_file)
{
    program_folder(folder);
    command_must(&c,
                 "cd %s && kge=%s && $kge %s --epochs 1 --out a --data - < graph/train.txt && "
                 "$kge %s --epochs 1 --out b --data graph/train.txt && "
                 "for m in a b; do $kge predict --export tsv $m > $m.tsv; done && cmp a.tsv b.tsv",
                 folder, program_path("kge"), small, small);
    CHECK_STR(c.out.text, "-: 60 entities");
}

TEST(kge, shows_people_what_happens)
{
    program_folder(folder);
    command_must(
        &c,
        "%s --data %s/graph %s --epochs 2 --report %s/page.html && grep '>MRR, valid, filtered<' "
        "%s/page.html",
        program_path("kge"), folder, small, folder, folder);
    CHECK_STR(c.out.text, "60 entities, 6 relations");
    CHECK_STR(c.out.text, "epoch   2   loss");
    CHECK_STR(c.out.text, "valid       MRR 0.");
    CHECK_STR(c.out.text, "test        MRR 0.");
    CHECK_STR(c.out.text, ">MRR, valid, filtered<");
    CHECK(strchr(c.err.text, '\r') == NULL);
    /* On a terminal there is a bar, for as long as a step takes. */
    command_start(
        &c, COMMAND_TERMINAL,
        "exec %s --data %s/graph --dim 256 --batch 1 --negatives 2000 --epochs 1000 --seconds 1",
        program_path("kge"), folder);
    CHECK_EQ(command_wait(&c), 0);
    CHECK(strchr(c.out.text, '\r') != NULL);
    CHECK_STR(c.out.text, "facts/s");
    CHECK_STR(c.out.text, "test        MRR");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    trainer_refuses(&c, "kge", status, arguments, part);
}

TEST(kge, refuses_wrong_input_with_a_sentence)
{
    char arguments[512];
    is_refused(2, "--json", "--data is missing: the graph to learn from; or --planted");
    is_refused(2, "--dims 3", "there is no option \"--dims\"");
    is_refused(2, "--data x --dim 3", "--dim 3 is odd");
    is_refused(2, "--data x --model rescal --dim 1000", "--dim 1000 is more than 512");
    is_refused(2, "--data x --negatives 1000000 --batch 100 --own-negatives",
               "make 200000000 of a batch");
    is_refused(2, "--loss hinge", "--loss takes one of logistic, softmax, not \"hinge\"");
    is_refused(2, "--planted 100x5", "--planted takes ENTITIESxRELATIONSxFACTS");
    is_refused(2, "--planted 100x5x1000x2", "--planted takes ENTITIESxRELATIONSxFACTS");
    is_refused(2, "--planted 79x5x1000", "entities must be from 80 to 10000000");
    is_refused(2, "--planted -100x5x1000", "--planted takes ENTITIES");
    is_refused(2, "--planted 100x0x1000", "relations must be from 1 to 100000");
    is_refused(2, "--planted 100x5x99", "facts must be from 100 to");
    is_refused(2, "--planted 100x5x5001", "facts must be from 100 to 5000");
    is_refused(2, "--planted 100x5x5000 --data /tmp", "--data and --planted are both given");
    is_refused(1, "--data /no/such", "/no/such: No such file");
    program_folder(folder);
    snprintf(arguments, sizeof arguments, "--data %s/graph --out %s/no/model %s --epochs 1", folder,
             folder, small);
    CHECK_EQ(command_run(&c, "%s %s", program_path("kge"), arguments), 1);
    CHECK_STR(c.err.text, "/no: No such file or directory");
    command_must(&c,
                 "printf 'entity 1\\tnext_1\\n' >> %s/graph/valid.txt; wc -l < %s/graph/valid.txt",
                 folder, folder);
    snprintf(arguments, sizeof arguments, "--data %s/graph", folder);
    int lines = atoi(c.out.text);
    char part[64];
    snprintf(part, sizeof part, "/valid.txt:%d: has 2 fields, with tabs", lines);
    is_refused(1, arguments, part);
}

TEST(kge, nodes_that_differ_in_their_options_are_refused)
{
    program_folder(folder);
    int status = command_run(
        &c,
        "%s run -n 2 -- sh -c 'exec %s --data %s/graph %s --technique static --seed $LOCUS_RANK'",
        locus_path(), program_path("kge"), folder, small);
    CHECK_EQ(status, 1);
    CHECK_STR(c.err.text, "rank 1 has data and options of fingerprint");
}
