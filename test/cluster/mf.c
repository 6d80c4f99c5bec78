/* The program mf from end to end, on generated matrices of a few thousand cells: alone, on a
 * cluster, and with wrong input. */
#include "common/folder.h"
#include "test.h"
#include "trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct command c;

#define MATRIX "--zipf 300x100x8000 --zipf-rank 3 --rank 6 --epochs 15"
static const char small[] = MATRIX " --lr 0.1 --reg 0.01 --batch 32";

/* Values have the standard deviation 1, so an RMSE of 1 is that of knowing nothing; the noise is
 * 0.1. Returns the RMSE. */
static double learns(const char *start, const char *more)
{
    command_must(&c, "%s %s %s %s --json", start, program_path("mf"), small, more);
    CHECK_STR(c.out.text, "{\"event\":\"epoch\",\"epoch\":15,");
    double rmse = trainer_number(c.out.text, "\"split\":\"test\",\"rmse\":");
    if (!(rmse > 0 && rmse < 0.5))
        test_fail(__FILE__, __LINE__, "%s %s: RMSE %f", start, more, rmse);
    return rmse;
}

TEST(mf, learns_alone)
{
    learns("", "");
    CHECK_STR(c.out.text, "\"event\":\"stats\"");
    learns("", "--baseline");
    CHECK(strstr(c.out.text, "\"event\":\"stats\"") == NULL);
    learns("", "--bias --workers 2");
    learns("", "--visit blocks --workers 3");
}

TEST(mf, learns_on_a_cluster)
{
    const char *start = trainer_nodes(2);
    learns(start, "--technique adaptive");
    learns(start, "--technique static");
    learns(start, "--technique full");
    learns(start, "--visit blocks --technique relocate --workers 2");
    learns(start, "--visit blocks --seconds 100 --eval-every 5");
}

/* A block has one writer at a time: whoever waits for copies in which nothing is missing trains
 * with what is moved to it otherwise. */
TEST(mf, keeps_step_with_copies_that_lack_nothing)
{
    static const char *const bounds[] = {"essp", "ssp"};
    char more[128];
    const char *start = trainer_nodes(2);
    double moved = learns(start, "--visit blocks --technique relocate --workers 2");
    for (int i = 0; i < 2; i++) {
        snprintf(more, sizeof more, "--visit blocks --technique %s --staleness 0 --workers 2",
                 bounds[i]);
        double copied = learns(start, more);
        if (!(fabs(copied - moved) < 1e-4))
            test_fail(__FILE__, __LINE__, "%s: RMSE %.6f, not %.6f", more, copied, moved);
    }
}

/* Workers that have more to do, or less, than others; and with whom nobody waits. */
TEST(mf, learns_from_stale_copies)
{
    const char *start = trainer_nodes(3);
    learns(start, "--technique ssp --staleness 1 --clocks 7");
    CHECK(trainer_number(c.out.text, "\"replicas_created\":") > 0);
    learns(start, "--technique essp --staleness 2 --clocks 100");
    learns(start, "--visit blocks --technique essp --staleness 1");
    learns("", "--technique essp --workers 3");
    learns("", "--technique ssp --baseline");
}

/* Coordinate descent: each sweep's objective, which never rises, is the same whoever does it. */
enum { SWEEPS = 15 };

static void descends(const char *start, const char *more, double *objectives)
{
    command_must(&c, "%s %s %s --method cd --reg 1 %s --json", start, program_path("mf"), MATRIX,
                 more);
    const char *at = c.out.text;
    for (int i = 0; i < SWEEPS; i++) {
        double objective = trainer_number(at, "\"objective\":");
        at = strstr(at, "\"objective\":") + 1;
        CHECK(i == 0 || objective <= objectives[i - 1] * (1 + 1e-6) || start[0] || more[0]);
        if (!start[0] && !more[0]) objectives[i] = objective;
        double difference = objective / objectives[i] - 1;
        if (!(difference < 1e-5 && difference > -1e-5))
            test_fail(__FILE__, __LINE__, "%s %s: sweep %d: %.9g, not %.9g", start, more, i + 1,
                      objective, objectives[i]);
    }
    CHECK(trainer_number(at, "\"split\":\"test\",\"rmse\":") < 0.3);
}

TEST(mf, coordinate_descent_is_the_same_whoever_does_it)
{
    static const char *const techniques[] = {"adaptive", "static", "full"};
    double objectives[SWEEPS];
    char more[64];
    descends("", "", objectives);
    descends("", "--baseline", objectives);
    descends("", "--workers 3", objectives);
    const char *start = trainer_nodes(2);
    for (int i = 0; i < 3; i++) {
        snprintf(more, sizeof more, "--technique %s --workers %d", techniques[i], 1 + i % 2);
        descends(start, more, objectives);
    }
    CHECK_EQ(command_run(&c, "%s %s --method cd", program_path("mf"), small), 2);
    CHECK_STR(c.err.text, "--method cd has no --batch: leave it out");
    CHECK_EQ(command_run(&c, "%s " MATRIX " --method cd --technique essp", program_path("mf")), 2);
    CHECK_STR(c.err.text, "--method cd bounds no staleness");
}

/* What was generated can be read again; with the test set of its own it is learnt as well. */
TEST(mf, reads_what_it_wrote)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    command_must(&c, "%s %s --epochs 0 --write %s/m.mtx", program_path("mf"), small, folder);
    command_must(&c,
                 "%s --data %s/m.mtx --test %s/m.mtx --rank 6 --lr 0.1 --epochs 15 --out %s/model",
                 program_path("mf"), folder, folder, folder);
    CHECK_STR(c.out.text, "300 rows, 100 columns");
    CHECK(trainer_number(c.out.text, "test        RMSE") < 0.5);
    command_must(&c, "head -c 300 %s/model | tail -c 292", folder);
    CHECK_STR(c.out.text, "\"rank\":\"6\"");
    CHECK_EQ(command_run(&c, "printf 'a b 1\\na b x\\n' > %s/bad; %s --data %s/bad", folder,
                         program_path("mf"), folder),
             1);
    CHECK_STR(c.err.text, "/bad:2: \"x\" is no rating");
}

/* Nothing is learned of a row, or a column, that the test alone has. */
TEST(mf, foretells_the_mean_of_what_nothing_is_known_about)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    command_must(&c,
                 "cd %s && printf 'a,x,1\na,y,2\nb,x,3\nb,y,4\n' > train && "
                 "printf 'a,y,2\nc,z,5\n' > test && "
                 "%s --data train --test test --rank 4 --init 9 --out model && "
                 "printf 'c,x\na,z\nc,z\n' | %s predict model",
                 folder, program_path("mf"), program_path("mf"));
    CHECK_STR(c.out.text, "c\tx\t2.5\na\tz\t2.5\nc\tz\t2.5\n");
}

/* The defaults follow the ratings' deviation: ratings that are 64 times as large are learned as
 * well, and errors are 64 times as large. */
TEST(mf, learns_the_same_whatever_ratings_are_measured_in)
{
    char folder[FOLDER_PATH_BYTES];
    double rmse[2];
    folder_new(folder);
    command_must(&c,
                 "cd %s && %s %s --epochs 0 --write 1.mtx && "
                 "awk 'NR > 2 {$3 = sprintf(\"%%.9g\", $3 * 64)} 1' 1.mtx > 64.mtx",
                 folder, program_path("mf"), small);
    for (int i = 0; i < 2; i++) {
        command_must(&c, "%s --data %s/%d.mtx --rank 6 --epochs 5", program_path("mf"), folder,
                     i == 0 ? 1 : 64);
        rmse[i] = trainer_number(c.out.text, "test        RMSE");
    }
    CHECK(rmse[0] < 0.8 && fabs(rmse[1] / rmse[0] - 64) < 0.02);
}

/* 40 users like seven of the ten items of their kind each. What is held back of one is an item of
 * four, among 14 in all: by chance a precision of 0.07, of 0.25 at most. */
TEST(mf, pairs_without_ratings_tell_what_comes_next)
{
    char folder[FOLDER_PATH_BYTES];
    folder_new(folder);
    CHECK_EQ(command_run(
                 &c,
                 "cd %s && awk 'BEGIN {for (u = 0; u < 40; u++) for (i = 0; i < 10; i++) "
                 "if ((7 * u + 3 * i) %% 10 < 7) print \"u\" u, \"i\" i + u %% 2 * 10}' > pairs && "
                 "%s --data pairs --implicit 3 --split row --best 4 --rank 4 --epochs 40 "
                 "--out model && echo u0 | %s predict --best 20 --known pairs model > best && "
                 "grep -c . best && head -n 3 best | cut -f2 | sort | tr '\\n' ' '",
                 folder, program_path("mf"), program_path("mf")),
             0);
    CHECK(trainer_number(c.out.text, "test        precision") > 0.2);
    CHECK_STR(c.out.text, "\n13\ni3 i6 i9 ");
}

static void is_refused(int status, const char *arguments, const char *part)
{
    trainer_refuses(&c, "mf", status, arguments, part);
}

TEST(mf, refuses_wrong_input_with_a_sentence)
{
    is_refused(2, "--json", "--data is missing");
    is_refused(2, "--zipf 10x10", "--zipf takes ROWSxCOLUMNSxCELLS");
    is_refused(2, "--data x --implicit 4 --best 0", "--best must be 1 or more");
    is_refused(2, "--zipf 10x10x10 --test x", "--test is given with --zipf");
    is_refused(2, "--zipf 10x10x10 --hold-back 0 --eval-every 1", "has nothing to evaluate by");
    is_refused(2, "--zipf 10x10x10 --hold-back 0 --best 3", "--best has no cells to test with");
    is_refused(2, "predict x y --json", "--json is behind MODEL: options come before it");
    is_refused(1, "--data /no/such", "/no/such: No such file");
}
