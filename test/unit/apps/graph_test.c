/* A knowledge graph: from files, and what is known of it. What all files of rows have is
 * fields_test.c's. */
#include "common/folder.h"
#include "ending.h"
#include "kge/graph.h"
#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[FOLDER_PATH_BYTES];

static void new_graph(const char *const splits[3])
{
    static const char *const names[] = {"train.txt", "valid.txt", "test.txt"};
    folder_new(folder);
    for (int i = 0; i < 3; i++)
        if (splits[i]) folder_write(folder, names[i], splits[i], 0);
}

#define SPLITS(...) ((const char *const[3]){__VA_ARGS__})

/* Facts as "s r o/" with | between the splits. */
static void is_graph_of(const char *order, const char *expected)
{
    CLOSED_BY(graph_fini) struct graph g;
    char text[512] = "";
    graph_load(&g, folder, order, 1);
    for (int split = 0; split < GRAPH_SPLITS; split++) {
        for (size_t i = 0; i < g.splits[split].count; i++) {
            struct fact f = g.splits[split].list[i];
            sprintf(text + strlen(text), "%s %s %s/", names_get(&g.entities, f.subject),
                    names_get(&g.relations, f.relation), names_get(&g.entities, f.object));
        }
        if (split + 1 < GRAPH_SPLITS) strcat(text, "|");
    }
    if (strcmp(text, expected) != 0)
        test_fail(__FILE__, __LINE__, "read as %s, not %s", text, expected);
}

TEST(graph, files_of_a_folder_have_facts)
{
    static const char three[] = "a r b/b r c/c r a/|a r c/|b r a/",
                      two[] = "a r b/b r c/|a r b/|a r b/";
    static const char *const cases[][5] = {
        {NULL, "a\tr\tb\nb\tr\tc\nc\tr\ta\n\n", "a\tr\tc\n", "b\tr\ta\n", three},
        {NULL, "head\trelation\ttail\na\tr\tb\nb\tr\tc\nc\tr\ta\n",
         "head\trelation\ttail\na\tr\tc\n", "head\trelation\ttail\nb\tr\ta\n", three},
        {NULL, "# of CSV\nSubject,Predicate,Object\na,r,b\n\"b\",r,c\nc,r,a\n",
         "\"a\",\"r\",\"c\"\n", "b,r,a\n", three},
        {NULL, "head,tail,relation\na,b,r\nb,c,r\nc,a,r\n", "rel,Entity 1,Entity 2\nr,a,c\n",
         "Object,Predicate,Subject\na,r,b\n", three},
        {NULL, "\xEF\xBB\xBFsource relation target\na r b\nb  r c # yes\nc r a\n", "a r c\n",
         "b r a\n", three},
        /* nothing of the first row comes again in its file, and yet it is no heading */
        {NULL, "a\tr\tb\nb\tq\tc\nc\tr\ta\n", "a\tr\tc\n", "b\tq\ta\nc\tr\tc\n",
         "a r b/b q c/c r a/|a r c/|b q a/c r c/"},
        /* the order that is said counts, and not what a heading seems to say */
        {"hrt", "a\tr\tb\nb\tr\tc\n", "a\tr\tb\n", "a\tr\tb\n", two},
        {"trh", "head,relation,tail\nb,r,a\nc,r,b\n", "b,r,a\n", "b,r,a\n", two}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        new_graph(&cases[i][1]);
        is_graph_of(cases[i][0], cases[i][4]);
    }
}

TEST(graph, facts_of_unknown_entities_are_counted_and_told_apart)
{
    uint64_t digests[3];
    for (int i = 0; i < 3; i++) {
        CLOSED_BY(graph_fini) struct graph g;
        new_graph(SPLITS("dog\tis a\tanimal\r\n",
                         i < 2 ? "dog\tis a\tdog\n" : "animal\tis a\tdog\n",
                         "12\tis a\t13\ndog\tis a\tdog"));
        graph_load(&g, folder, NULL, 1);
        CHECK(g.entities.count == 4 && g.relations.count == 1 && g.splits[GRAPH_TEST].count == 2);
        CHECK(g.splits[GRAPH_VALID].unknown == 0 && g.splits[GRAPH_TEST].unknown == 1);
        digests[i] = graph_digest(&g, GRAPH_TRAIN, GRAPH_SPLITS);
    }
    CHECK(digests[0] == digests[1] && digests[0] != digests[2]);
}

static void load(const void *unused)
{
    CLOSED_BY(graph_fini) struct graph g;
    (void)unused;
    graph_load(&g, folder, NULL, 1);
}

#define GOOD "a\tr\tb\n"

TEST(graph, wrong_files_are_refused_with_their_line)
{
    static const char *const cases[][4] = {
        {GOOD "a\tr\n", GOOD, GOOD, "/train.txt:2: has 2 fields"},
        {GOOD, "a\tr\tb\tc\n", GOOD, "/valid.txt:1: has 4 fields; a fact is subject, relation"},
        {GOOD "\tr\tb\n", GOOD, GOOD, "/train.txt:2: the subject is empty"},
        {GOOD, GOOD, NULL, "/test.txt: No such file"},
        {NULL, GOOD, GOOD, "has none of train.txt, train.tsv, PyKEEN's"},
        {GOOD, GOOD, "a\tq\tb\n", "/test.txt:1: no fact to train with has the relation \"q\""},
        {"a\tb\tr\nb\tc\tr\nc\ta\ts\n", GOOD, GOOD, "entities where relations should be"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        new_graph(cases[i]);
        ends_with(load, NULL, 1, cases[i][3]);
    }
}

/* ---- other tools' folders ---- */

#define NUMBERS "2\t0\t0\n1\t1\t2\n", "1\t0\t0\n", "2\t1\t0\n"
#define NAMES \
    "/m/cat\tis a\t/m/animal\n/m/dog\teats\t/m/cat\n", "/m/dog\tis a\t/m/animal\n", \
        "/m/cat\teats\t/m/animal\n"
static const char entities[] = "0\t/m/animal\n1\t/m/dog\n2\t/m/cat\n",
                  relations[] = "0\tis a\n1\teats\n",
                  animals[] = "/m/cat is a /m/animal//m/dog eats /m/cat/|/m/dog is a /m/animal/|"
                              "/m/cat eats /m/animal/";

/* DGL-KE's: udd has numbers of either order of columns, built-in data and raw_udd names; or one
 * dictionary alone. */
TEST(graph, numbers_are_what_dictionaries_say)
{
    static const char *const cases[][5] = {
        {NUMBERS, entities, relations},
        {NUMBERS, "/m/dog\t1\n/m/cat\t2\n/m/animal\t0\n", "eats\t1\nis a\t0\n"},
        {NAMES, entities, relations},
        {"2\tis a\t0\n1\teats\t2\n", "1\tis a\t0\n", "2\teats\t0\n", entities, NULL},
        {"/m/cat\t0\t/m/animal\n/m/dog\t1\t/m/cat\n", "/m/dog\t0\t/m/animal\n",
         "/m/cat\t1\t/m/animal\n", NULL, relations}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        new_graph(cases[i]);
        if (cases[i][3]) folder_write(folder, "entities.dict", cases[i][3], 0);
        if (cases[i][4]) folder_write(folder, "relations.dict", cases[i][4], 0);
        is_graph_of(NULL, animals);
    }
}

TEST(graph, pykeens_datasets_are_read)
{
    static const char *const names[] = {"training", "validation", "testing"};
    static const char *const splits[] = {NUMBERS};
    char path[FOLDER_PATH_BYTES + 16], text[128];
    folder_new(folder);
    for (int i = 0; i < GRAPH_SPLITS; i++) {
        const char *const files[][3] = {
            {"numeric_triples.tsv.gz", "head\trelation\ttail", splits[i]},
            {"entity_to_id.tsv.gz", "id\tlabel", entities},
            {"relation_to_id.tsv.gz", "id\tlabel", relations}};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CHECK_EQ(mkdir(path, 0700), 0);
        for (int k = 0; k < 3; k++) {
            snprintf(text, sizeof text, "%s\n%s", files[k][1], files[k][2]);
            folder_write(path, files[k][0], text, 0);
        }
    }
    is_graph_of(NULL, animals);
}

TEST(graph, dictionaries_that_do_not_fit_are_refused)
{
    static const char *const splits[] = {NUMBERS};
    static const char *const wrong[][2] = {
        {"0\ta\n1\tb\n", "/entities.dict has neither numbers nor names of all facts, such as 2"},
    };
    new_graph(splits);
    folder_write(folder, "relations.dict", relations, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        folder_write(folder, "entities.dict", wrong[i][0], 0);
        ends_with(load, NULL, 1, wrong[i][1]);
    }
}

static void has_files(const char *expected)
{
    char path[PATH_MAX], list[4 * PATH_MAX] = "";
    for (unsigned i = 0; graph_file(folder, i, path); i++) strcat(list, strrchr(path, '/'));
    CHECK_EQ(strcmp(list, expected), 0);
}

TEST(graph, graph_file_names_the_files_that_are_read)
{
    new_graph(SPLITS(GOOD, GOOD, GOOD));
    folder_write(folder, "entities.dict", "0\ta\n1\tb\n", 0);
    folder_write(folder, "relations.dict", "0\tr\n", 0);
    has_files("/train.txt/valid.txt/test.txt/entities.dict/relations.dict");
    new_graph(SPLITS(NULL, GOOD, NULL));
    folder_write(folder, "train.txt.gz", GOOD, 0);
    folder_write(folder, "test.txt.xz", GOOD, 0);
    has_files("/train.txt.gz/valid.txt/test.txt.xz");
    folder_new(folder);
    has_files("");
    folder_write(folder, "data.noun", GOOD, 0);
    has_files("/data.noun/data.verb/data.adj/data.adv/index.noun/index.verb/index.adj/index.adv");
}

static void load_path(const void *path)
{
    struct graph g;
    graph_load(&g, path, NULL, 1);
}

/* A fact that comes twice is not both learned and asked for; what is asked for is known. */
TEST(graph, one_file_is_divided_by_the_seed)
{
    enum { FACTS = 100 };
    CLOSED_BY(graph_fini) struct graph g;
    CLOSED_BY(graph_fini) struct graph other;
    char path[2 * FOLDER_PATH_BYTES], text[32 * FACTS] = "";
    for (int i = 0; i < 2 * FACTS; i++)
        sprintf(text + strlen(text), "a%d\tr\tb%d\n", i % FACTS / 10, i % 10);
    snprintf(path, sizeof path, "%s", folder_file(text, 0));
    graph_load(&g, path, NULL, 1);
    CHECK_EQ(g.splits[GRAPH_VALID].count, FACTS / GRAPH_PART);
    CHECK_EQ(g.splits[GRAPH_TEST].count, FACTS / GRAPH_PART);
    CHECK_EQ(g.splits[GRAPH_TRAIN].count, FACTS - 2 * (FACTS / GRAPH_PART));
    graph_load(&other, path, NULL, 2);
    CHECK(graph_digest(&g, GRAPH_TRAIN, GRAPH_VALID) !=
          graph_digest(&other, GRAPH_TRAIN, GRAPH_VALID));
    ends_with(load_path, folder_file("a\tr\tb\nb\tr\ta\n", 0), 1,
              "has too few facts (2) to be split");
    ends_with(load_path, "/no/such/folder", 1, "/no/such/folder: No such file");
}

/* ---- filter ---- */

TEST(graph, known_answers_come_from_all_splits_once_each)
{
    static const struct {
        enum filter_side side;
        const char *given, *relation, *expected;
    } cases[] = {{FILTER_OBJECTS, "a", "r", "bcde"}, {FILTER_OBJECTS, "a", "q", "d"},
                 {FILTER_OBJECTS, "e", "r", ""},     {FILTER_OBJECTS, "b", "q", ""},
                 {FILTER_SUBJECTS, "c", "r", "abd"}, {FILTER_SUBJECTS, "e", "r", "a"}};
    CLOSED_BY(graph_fini) struct graph g;
    CLOSED_BY(filter_fini) struct filter f;
    new_graph(
        SPLITS("a\tr\tb\na\tr\tc\na\tq\td\nb\tr\tc\n", "a\tr\td\na\tr\tb\n", "d\tr\tc\na\tr\te\n"));
    graph_load(&g, folder, NULL, 1);
    filter_init(&f, &g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count;
        char text[16] = "";
        const struct fact *known =
            filter_answers(&f, cases[i].side, names_find(&g.entities, cases[i].given, 1),
                           names_find(&g.relations, cases[i].relation, 1), &count);
        for (size_t k = 0; k < count; k++) strcat(text, names_get(&g.entities, known[k].object));
        if (strcmp(text, cases[i].expected) != 0)
            test_fail(__FILE__, __LINE__, "%s %s: %s", cases[i].given, cases[i].relation, text);
    }
}
