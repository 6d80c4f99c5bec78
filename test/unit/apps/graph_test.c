#include "common/folder.h"
#include "ending.h"
#include "kge/graph.h"
#include "kge/plant.h"
#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[FOLDER_PATH_BYTES];

static void new_graph(const char *train, const char *valid, const char *test)
{
    folder_new(folder);
    if (train) folder_write(folder, "train.txt", train, 0);
    if (valid) folder_write(folder, "valid.txt", valid, 0);
    if (test) folder_write(folder, "test.txt", test, 0);
}

static void load(const void *unused)
{
    CLOSED_BY(graph_fini) struct graph g;
    (void)unused;
    graph_load(&g, folder, NULL, 1);
}

static void is_fact(const struct graph *g, enum graph_split split, size_t i, const char *s,
                    const char *r, const char *o)
{
    CHECK(i < g->splits[split].count);
    struct fact f = g->splits[split].list[i];
    CHECK(strcmp(names_get(&g->entities, f.subject), s) == 0);
    CHECK(strcmp(names_get(&g->relations, f.relation), r) == 0);
    CHECK(strcmp(names_get(&g->entities, f.object), o) == 0);
}

TEST(graph, is_read_from_a_folder)
{
    CLOSED_BY(graph_fini) struct graph g;
    new_graph("dog\tis a\tanimal\r\ncat\tis a\tanimal\r\n", "dog\tis a\tcat\n",
              "12\tis a\t13\ndog\tis a\tanimal");
    graph_load(&g, folder, NULL, 1);
    CHECK_EQ(g.entities.count, 5);
    CHECK_EQ(g.relations.count, 1);
    is_fact(&g, GRAPH_TRAIN, 0, "dog", "is a", "animal");
    is_fact(&g, GRAPH_TRAIN, 1, "cat", "is a", "animal");
    is_fact(&g, GRAPH_VALID, 0, "dog", "is a", "cat");
    is_fact(&g, GRAPH_TEST, 0, "12", "is a", "13");
    CHECK(g.splits[GRAPH_VALID].unknown == 0 && g.splits[GRAPH_TEST].unknown == 1);
}

/* Three entities in any of them: headings, blank lines, comments and quotation marks are none. */
TEST(graph, is_its_facts_alone)
{
    static const char *const texts[][3] = {
        {"head\trelation\ttail\na\tr\tb\nb\tr\tc\nc\tr\ta\n", "head\trelation\ttail\na\tr\tc\n",
         "head\trelation\ttail\nb\tr\ta\n"},
        {"a\tr\tb\nb\tr\tc\nc\tr\ta\n\n", "a\tr\tc\n", "b\tr\ta\n"},
        {"\n# facts\na\tr\tb\n  \nb\tr\tc \r\n% more\nc\tr\ta", "\t\na\tr\tc\n", "b\tr\ta\n#\n"},
        {"# of CSV\nSubject,Predicate,Object\na,r,b\n\"b\",r,c\nc,r,a\n", "\"a\",\"r\",\"c\"\n",
         "b,r,a\n"},
        {"head,tail,relation\na,b,r\nb,c,r\nc,a,r\n", "rel,Entity 1,Entity 2\nr,a,c\n",
         "Object,Predicate,Subject\na,r,b\n"},
        {"\xEF\xBB\xBFsource relation target\na r b\nb  r c # yes\nc r a\n", "a r c\n", "b r a\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct graph g;
        new_graph(texts[i][0], texts[i][1], texts[i][2]);
        graph_load(&g, folder, NULL, 1);
        CHECK_EQ(g.entities.count, 3);
        CHECK_EQ(g.relations.count, 1);
        CHECK_EQ(g.splits[GRAPH_TRAIN].count, 3);
        is_fact(&g, GRAPH_TRAIN, 1, "b", "r", "c");
        is_fact(&g, GRAPH_VALID, 0, "a", "r", "c");
        is_fact(&g, GRAPH_TEST, 0, "b", "r", "a");
        graph_fini(&g);
    }
}

/* What is said counts, and not what a heading seems to say. */
TEST(graph, columns_come_in_the_order_that_is_said)
{
    static const struct {
        const char *order, *train, *one;
    } cases[] = {{"hrt", "a\tr\tb\nb\tr\tc\n", "a\tr\tb\n"},
                 {"htr", "a\tb\tr\nb\tc\tr\n", "a\tb\tr\n"},
                 {"rth", "r\tb\ta\nr\tc\tb\n", "r\tb\ta\n"},
                 {"trh", "head,relation,tail\nb,r,a\nc,r,b\n", "b,r,a\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct graph g;
        new_graph(cases[i].train, cases[i].one, cases[i].one);
        graph_load(&g, folder, cases[i].order, 1);
        CHECK_EQ(g.splits[GRAPH_TRAIN].count, 2);
        is_fact(&g, GRAPH_TRAIN, 1, "b", "r", "c");
        is_fact(&g, GRAPH_TEST, 0, "a", "r", "b");
        graph_fini(&g);
    }
}

/* Nothing of the first row comes again in its file. */
TEST(graph, a_first_fact_of_known_names_is_no_heading)
{
    CLOSED_BY(graph_fini) struct graph g;
    new_graph("a\tr\tb\nb\tq\tc\nc\tr\ta\n", "a\tr\tc\n", "b\tq\ta\nc\tr\tc\nc\tr\tc\n");
    graph_load(&g, folder, NULL, 1);
    CHECK_EQ(g.splits[GRAPH_TEST].count, 3);
    is_fact(&g, GRAPH_TEST, 0, "b", "q", "a");
}

TEST(graph, digests_tell_graphs_apart)
{
    struct graph g;
    uint64_t digests[3];
    static const char *const trains[] = {"a\tr\tb\nb\tr\tc\n", "a\tr\tb\nb\tr\tc\n",
                                         "a\tr\tb\nc\tr\tb\n"};
    for (int i = 0; i < 3; i++) {
        new_graph(trains[i], "a\tr\tc\n", "b\tr\ta\n");
        graph_load(&g, folder, NULL, 1);
        digests[i] = graph_digest(&g, GRAPH_TRAIN, GRAPH_SPLITS);
        graph_fini(&g);
    }
    CHECK(digests[0] == digests[1]);
    CHECK(digests[0] != digests[2]);
}

static void is_refused(const char *train, const char *valid, const char *test, const char *part)
{
    new_graph(train, valid, test);
    ends_with(load, NULL, 1, part);
}

TEST(graph, errors_name_file_and_line)
{
    const char *good = "a\tr\tb\n";
    is_refused("a\tr\tb\na\tr\n", good, good, "/train.txt:2: has 2 fields");
    is_refused(good, "a\tr\tb\tc\n", good,
               "/valid.txt:1: has 4 fields; a fact is subject, relation");
    is_refused(good, good, "a,b\n",
               "/test.txt:1: has 2 fields, with commas between; must have at least 3");
    is_refused("a\tr\tb\n\nb\tr\n", good, good, "/train.txt:3: has 2 fields");
    is_refused("a\tr\tb\n\tr\tb\n", good, good, "/train.txt:2: the subject is empty");
    is_refused("1\tr\t2\n2\tr\tNA\n", good, good, "/train.txt:2: the object is missing");
    is_refused("a\t\tb\n", good, good, "/train.txt:1: the relation is empty");
    is_refused("a\tr\t\r\n", good, good, "/train.txt:1: the object is empty");
    is_refused("", good, good, "/train.txt is empty");
    is_refused(good, "", good, "/valid.txt is empty");
    is_refused(good, good, NULL, "/test.txt: No such file");
    is_refused(NULL, good, good, "has none of train.txt, train.tsv, PyKEEN's");
    is_refused("\"a\nb\",r,b\n", good, good, "/train.txt:1: the subject has a line end in it");
    is_refused("x,y,z\n1,2,3\n4,2,5\n6,2,7\n", good, good, "/train.txt: its heading does not tell");
    is_refused("<a>\t<r>\t<b> .\n", good, good, "/train.txt:1: ends with a dot");
    is_refused("<a> <r> <b>.\n", good, good, "/train.txt:1: ends with a dot");
    is_refused(good, good, "a\tq\tb\n",
               "/test.txt:1: no fact to train with has the relation \"q\"");
}

TEST(graph, facts_that_cannot_be_as_they_seem_are_refused)
{
    const char *good = "a\tr\tb\n", *other = "x\tr\ty\nx\tr\tb\n";
    is_refused(good, other, good, "/valid.txt has no fact of which both entities are in facts to");
    is_refused(good, good, other, "/test.txt has no fact of which both entities are in facts to");
    is_refused("a\tb\tr\nb\tc\tr\nc\ta\ts\n", good, good, "entities where relations should be");
    is_refused("r\ta\tb\nr\tb\tc\ns\tc\ta\n", good, good, "entities where relations should be");
    is_refused("% tail rel head\na r b\nb r c\n", good, good, "a comment names its columns");
    is_refused("0,1,0\n1,2,0\n2,0,1\n", good, good, "entities where relations should be");
}

/* ---- other tools' folders ---- */

static void add_meanings(const char *entities, const char *relations)
{
    if (entities) folder_write(folder, "entities.dict", entities, 0);
    if (relations) folder_write(folder, "relations.dict", relations, 0);
}

static void is_of_animals(void)
{
    CLOSED_BY(graph_fini) struct graph g;
    graph_load(&g, folder, NULL, 1);
    CHECK(g.entities.count == 3 && g.relations.count == 2);
    is_fact(&g, GRAPH_TRAIN, 0, "/m/cat", "is a", "/m/animal");
    is_fact(&g, GRAPH_VALID, 0, "/m/dog", "is a", "/m/animal");
    is_fact(&g, GRAPH_TEST, 0, "/m/cat", "eats", "/m/animal");
}

static const char by_number[] = "2\t0\t0\n1\t1\t2\n", valid_number[] = "1\t0\t0\n",
                  test_number[] = "2\t1\t0\n",
                  by_name[] = "/m/cat\tis a\t/m/animal\n/m/dog\teats\t/m/cat\n",
                  valid_name[] = "/m/dog\tis a\t/m/animal\n",
                  test_name[] = "/m/cat\teats\t/m/animal\n";

/* DGL-KE's: udd has numbers of either order of columns, built-in data and raw_udd names. */
TEST(graph, numbers_are_what_dictionaries_say)
{
    new_graph(by_number, valid_number, test_number);
    add_meanings("0\t/m/animal\n1\t/m/dog\n2\t/m/cat\n3\t/m/fish\n", "0\tis a\n1\teats\n");
    is_of_animals();
    add_meanings("/m/dog\t1\n/m/cat\t2\n/m/animal\t0\n", "eats\t1\nis a\t0\n");
    is_of_animals();
    new_graph(by_name, valid_name, test_name);
    add_meanings("0\t/m/animal\n1\t/m/dog\n2\t/m/cat\n", "0\tis a\n1\teats\n");
    is_of_animals();
    folder_new(folder);
    folder_write(folder, "train.tsv", by_name, 0);
    folder_write(folder, "valid.tsv", valid_name, 0);
    folder_write(folder, "test.tsv", test_name, 0);
    is_of_animals();
}

TEST(graph, one_dictionary_alone_is_read)
{
    new_graph("2\tis a\t0\n1\teats\t2\n", "1\tis a\t0\n", "2\teats\t0\n");
    add_meanings("0\t/m/animal\n1\t/m/dog\n2\t/m/cat\n", NULL);
    is_of_animals();
    new_graph("/m/cat\t0\t/m/animal\n/m/dog\t1\t/m/cat\n", "/m/dog\t0\t/m/animal\n",
              "/m/cat\t1\t/m/animal\n");
    add_meanings(NULL, "0\tis a\n1\teats\n");
    is_of_animals();
}

TEST(graph, pykeens_datasets_are_read)
{
    static const char *const names[] = {"training", "validation", "testing"}, *const facts[] = {
                                                                                  by_number,
                                                                                  valid_number,
                                                                                  test_number};
    char path[FOLDER_PATH_BYTES + 16], text[128];
    folder_new(folder);
    for (int i = 0; i < GRAPH_SPLITS; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CHECK_EQ(mkdir(path, 0700), 0);
        snprintf(text, sizeof text, "head\trelation\ttail\n%s", facts[i]);
        folder_write(path, "numeric_triples.tsv.gz", text, 0);
        folder_write(path, "entity_to_id.tsv.gz", "id\tlabel\n0\t/m/animal\n1\t/m/dog\n2\t/m/cat\n",
                     0);
        folder_write(path, "relation_to_id.tsv.gz", "id\tlabel\n0\tis a\n1\teats\n", 0);
    }
    is_of_animals();
}

TEST(graph, dictionaries_that_do_not_fit_are_refused)
{
    static const char *const wrong[][2] = {
        {"0\ta\n1\tb\n", "/entities.dict has neither numbers nor names of all facts, such as 2"},
        {"0\ta\n1\tb\n2\ta\n", "/entities.dict:3: has what an earlier line has"},
        {"1\ta\n2\tb\n3\tc\n", "/entities.dict: its rows must be a number, from 0 on"},
        {"0\t1\n1\t2\n2\t0\n", "/entities.dict: facts may have its numbers or its names"},
    };
    new_graph(by_number, valid_number, test_number);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        add_meanings(wrong[i][0], "0\tis a\n1\teats\n");
        ends_with(load, NULL, 1, wrong[i][1]);
    }
}

TEST(graph, tells_the_files_that_it_reads)
{
    const char *good = "a\tr\tb\n";
    char path[PATH_MAX], list[4 * PATH_MAX] = "";
    new_graph(good, good, good);
    for (unsigned i = 0; graph_file(folder, i, path); i++) strcat(list, strrchr(path, '/'));
    CHECK_STR(list, "/train.txt/valid.txt/test.txt");
    add_meanings("0\ta\n1\tb\n", NULL);
    CHECK(graph_file(folder, GRAPH_SPLITS, path) && !graph_file(folder, GRAPH_SPLITS + 1, path));
    add_meanings("0\ta\n1\tb\n", "0\tr\n");
    for (unsigned i = GRAPH_SPLITS; graph_file(folder, i, path); i++)
        strcat(list, strrchr(path, '/'));
    CHECK_STR(list, "/train.txt/valid.txt/test.txt/entities.dict/relations.dict");
    new_graph(NULL, good, good);
    list[0] = '\0';
    folder_write(folder, "train.txt.gz", good, 0);
    folder_write(folder, "test.txt.xz", good, 0);
    for (unsigned i = 0; graph_file(folder, i, path); i++) strcat(list, strrchr(path, '/'));
    CHECK_STR(list, "/train.txt.gz/valid.txt/test.txt");
    load(NULL);
    new_graph(NULL, NULL, NULL);
    list[0] = '\0';
    CHECK(!graph_file(folder, 0, path));
    folder_write(folder, "data.noun", good, 0);
    for (unsigned i = 0; graph_file(folder, i, path); i++) strcat(list, strrchr(path, '/'));
    CHECK_STR(list,
              "/data.noun/data.verb/data.adj/data.adv/index.noun/index.verb/index.adj/index.adv");
}

TEST(graph, a_zero_byte_is_refused)
{
    new_graph(NULL, "a\tr\tb\n", "a\tr\tb\n");
    folder_write(folder, "train.txt", "a\0c\tr\tb\n", 8);
    ends_with(load, NULL, 1, "/train.txt:1: has a zero byte");
}

static void load_path(const void *path)
{
    struct graph g;
    graph_load(&g, path, NULL, 1);
}

TEST(graph, says_when_there_is_no_folder)
{
    ends_with(load_path, "/no/such/folder", 1, "/no/such/folder: No such file");
    ends_with(load_path, "/dev/null", 1, "/dev/null: it is not a regular file");
}

/* A fact that comes twice is not both learned and asked for; what is asked for is known. */
TEST(graph, of_one_file_is_divided_by_the_seed)
{
    enum { ENTITIES_OF_EACH = 10, FACTS = ENTITIES_OF_EACH * ENTITIES_OF_EACH };
    CLOSED_BY(graph_fini) struct graph g;
    char path[2 * FOLDER_PATH_BYTES], text[32 * FACTS] = "";
    for (int i = 0; i < 2 * FACTS; i++)
        sprintf(text + strlen(text), "a%d\tr\tb%d\n", i % FACTS / ENTITIES_OF_EACH,
                i % ENTITIES_OF_EACH);
    new_graph(NULL, NULL, NULL);
    folder_write(folder, "facts", text, 0);
    snprintf(path, sizeof path, "%s/facts", folder);
    graph_load(&g, path, NULL, 1);
    CHECK_EQ(g.splits[GRAPH_VALID].count, FACTS / GRAPH_PART);
    CHECK_EQ(g.splits[GRAPH_TEST].count, FACTS / GRAPH_PART);
    CHECK_EQ(g.splits[GRAPH_TRAIN].count, FACTS - 2 * (FACTS / GRAPH_PART));
    CLOSED_BY(graph_fini) struct graph other;
    graph_load(&other, path, NULL, 2);
    CHECK(graph_digest(&g, GRAPH_TRAIN, GRAPH_VALID) !=
          graph_digest(&other, GRAPH_TRAIN, GRAPH_VALID));
    folder_write(folder, "facts", "a\tr\tb\nb\tr\ta\n", 0);
    ends_with(load_path, path, 1, "facts has too few facts (2) to be split");
}

/* ---- the generated graph ---- */

TEST(graph, a_planted_one_is_as_large_as_asked_for_and_of_its_seed)
{
    CLOSED_BY(graph_fini) struct graph g;
    uint64_t digests[3];
    for (int i = 0; i < 3; i++) {
        plant_generate(&g, "400x8x4000", i < 2 ? 5 : 6);
        digests[i] = graph_digest(&g, GRAPH_TRAIN, GRAPH_SPLITS);
        CHECK_EQ(g.entities.count, 400);
        CHECK_EQ(g.relations.count, 8);
        CHECK_EQ(g.splits[GRAPH_VALID].count, 4000 / PLANT_PART);
        CHECK_EQ(g.splits[GRAPH_TEST].count, 4000 / PLANT_PART);
        CHECK_EQ(g.splits[GRAPH_TRAIN].count, 4000 - 2 * (4000 / PLANT_PART));
        graph_fini(&g);
    }
    CHECK(digests[0] == digests[1]);
    CHECK(digests[0] != digests[2]);
    plant_generate(&g, "400x8x100000", 1);
    CHECK_EQ(g.splits[GRAPH_TEST].count, PLANT_HELD_BACK_MAX);
}

static int by_fact(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct fact));
}

/* As many as there may be, so that most draws are in vain. */
TEST(graph, no_planted_fact_comes_twice)
{
    CLOSED_BY(graph_fini) struct graph g;
    plant_generate(&g, "100x3x3000", 2);
    struct facts *all = &g.splits[GRAPH_TRAIN];
    for (int split = GRAPH_VALID; split < GRAPH_SPLITS; split++)
        for (size_t i = 0; i < g.splits[split].count; i++) facts_add(all, g.splits[split].list[i]);
    CHECK_EQ(all->count, 3000);
    qsort(all->list, all->count, sizeof *all->list, by_fact);
    for (size_t i = 1; i < all->count; i++) CHECK(by_fact(&all->list[i - 1], &all->list[i]) != 0);
}

/* What an entity's name says. */
static void place(const struct graph *g, uint32_t entity, unsigned *type, unsigned *group)
{
    unsigned rank;
    CHECK_EQ(sscanf(names_get(&g->entities, entity), "t%u.g%u.e%u", type, group, &rank), 3);
}

/* From one type to one, and by as many groups further on; but one fact in ten. */
TEST(graph, planted_relations_lead_from_group_to_group)
{
    enum { RELATIONS = 6, TYPES = 25, GROUPS = 4 };
    static unsigned seen[RELATIONS][TYPES][TYPES][GROUPS];
    CLOSED_BY(graph_fini) struct graph g;
    memset(seen, 0, sizeof seen);
    plant_generate(&g, "100000x6x20000", 3);
    const struct facts *f = &g.splits[GRAPH_TRAIN];
    unsigned most_of_all = 0;
    for (size_t i = 0; i < f->count; i++) {
        unsigned from, group, to, other;
        place(&g, f->list[i].subject, &from, &group);
        place(&g, f->list[i].object, &to, &other);
        seen[f->list[i].relation][from][to][(other + GROUPS - group) % GROUPS]++;
    }
    for (int r = 0; r < RELATIONS; r++) {
        unsigned most = 0, *all = &seen[r][0][0][0];
        for (int i = 0; i < TYPES * TYPES * GROUPS; i++)
            if (all[i] > most) most = all[i];
        most_of_all += most;
    }
    CHECK(most_of_all > 0.88 * (double)f->count && most_of_all < 0.93 * (double)f->count);
}

/* The most frequent one of a group of 100: a sixth of its subjects, where all alike would have a
 * hundredth. */
TEST(graph, planted_entities_are_of_zipfs_law)
{
    CLOSED_BY(graph_fini) struct graph g;
    size_t frequent = 0;
    plant_generate(&g, "10000x200x50000", 4);
    const struct facts *f = &g.splits[GRAPH_TRAIN];
    for (size_t i = 0; i < f->count; i++)
        frequent += strstr(names_get(&g.entities, f->list[i].subject), ".e0") != NULL;
    CHECK((double)frequent > 0.1 * (double)f->count && (double)frequent < 0.3 * (double)f->count);
}

/* ---- filter ---- */

static size_t answers(const struct graph *g, enum filter_side side, const char *given,
                      const char *relation, const char *expected)
{
    struct filter f;
    size_t count;
    char text[256] = "";
    filter_init(&f, g);
    const struct fact *known =
        filter_answers(&f, side, names_find(&g->entities, given, strlen(given)),
                       names_find(&g->relations, relation, strlen(relation)), &count);
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s", names_get(&g->entities, known[i].object));
        if (i > 0) CHECK(known[i].object > known[i - 1].object);
    }
    CHECK_STR(text, expected);
    CHECK_EQ(strlen(text), strlen(expected));
    filter_fini(&f);
    return count;
}

TEST(graph, known_answers_come_from_all_splits_once_each)
{
    CLOSED_BY(graph_fini) struct graph g;
    new_graph("a\tr\tb\na\tr\tc\na\tq\td\nb\tr\tc\n", "a\tr\td\na\tr\tb\n", "d\tr\tc\na\tr\te\n");
    graph_load(&g, folder, NULL, 1);
    CHECK_EQ(answers(&g, FILTER_OBJECTS, "a", "r", "bcde"), 4);
    CHECK_EQ(answers(&g, FILTER_OBJECTS, "a", "q", "d"), 1);
    CHECK_EQ(answers(&g, FILTER_OBJECTS, "e", "r", ""), 0);
    CHECK_EQ(answers(&g, FILTER_OBJECTS, "b", "q", ""), 0);
    CHECK_EQ(answers(&g, FILTER_SUBJECTS, "c", "r", "abd"), 3);
    CHECK_EQ(answers(&g, FILTER_SUBJECTS, "e", "r", "a"), 1);
}
