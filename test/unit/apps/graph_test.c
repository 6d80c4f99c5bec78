/* A knowledge graph: from files, and what is known of it. */
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

TEST(graph, load_takes_names_as_they_are)
{
    CLOSED_BY(graph_fini) struct graph g;
    new_graph(SPLITS("\"a\"\tis a\t# b, c\n\"a\"\tis\t7\n", "7\tis a\t\"a\"\n",
                     "7\tis\t# b, c\n# b, c\tis\t07"));
    graph_load(&g, folder);
    CHECK(g.entities.count == 4 && g.relations.count == 2);
    static const char *const names[] = {"\"a\"", "# b, c", "7", "07"};
    for (uint32_t i = 0; i < 4; i++) CHECK_STR(names_get(&g.entities, i), names[i]);
    struct fact f = g.splits[GRAPH_VALID].list[0];
    CHECK(f.subject == 2 && f.relation == 0 && f.object == 0);
    CHECK_EQ(g.splits[GRAPH_TRAIN].count, 2);
}

TEST(graph, facts_of_unknown_entities_are_counted_and_told_apart)
{
    uint64_t digests[3];
    for (int i = 0; i < 3; i++) {
        CLOSED_BY(graph_fini) struct graph g;
        new_graph(SPLITS("dog\tis a\tanimal\n", i < 2 ? "dog\tis a\tdog\n" : "animal\tis a\tdog\n",
                         "12\tis a\t13\ndog\tis a\tdog"));
        graph_load(&g, folder);
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
    graph_load(&g, folder);
}

#define GOOD "a\tr\tb\n"

TEST(graph, wrong_files_are_refused_with_their_line)
{
    static const char *const cases[][4] = {
        {GOOD "a\tr\n", GOOD, GOOD,
         "/train.txt:2: has 2 fields with tabs between, not 3. A line must be \"head TAB relation TAB "
         "tail\"; \"locus prepare"},
        {GOOD, "a\tr\tb\tc\n", GOOD, "/valid.txt:1: has 4 fields"},
        {GOOD "\tr\tb\n", GOOD, GOOD, "/train.txt:2: has an empty field"},
        {"a r b\n", GOOD, GOOD, "/train.txt:1: has 1 field with"},
        {GOOD "\n", GOOD, GOOD, "/train.txt:2: is empty"},
        {GOOD, GOOD, NULL, "/test.txt: No such file"},
        {NULL, GOOD, GOOD,
         " is no folder with train.txt, valid.txt and test.txt in it. A line must be \"head TAB"},
        {"", GOOD, GOOD, "/train.txt is empty. A line must be"},
        {GOOD, "c\tr\td\n", GOOD, "/valid.txt has no fact of which both entities"},
        {GOOD, GOOD, "a\tq\tb\n", "/test.txt:1: no fact to train with has the relation \"q\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        new_graph(cases[i]);
        ends_with(load, NULL, 1, cases[i][3]);
    }
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
    graph_load(&g, folder);
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
