/* A WordNet of a few synsets. The real one, where it is installed, is looked at, too. */
#include "common/folder.h"
#include "ending.h"
#include "kge/wordnet.h"
#include "test.h"

#include <stdio.h>
#include <unistd.h>

static char folder[FOLDER_PATH_BYTES];

static const char header[] = "  1 This line is a header, like the one below.  \n  2 @ 1 n  \n";

/* Offset 00000100 animal, 00000200 dog, 00000300 "dog" in another sense, 00000400 wing. */
static const char nouns[] =
    "00000100 03 n 01 animal 0 003 ~ 00000200 n 0000 %p 00000400 n 0000 + 00000100 a 0101 | a being\n"
    "00000200 05 n 02 dog 0 hound 2 002 @ 00000100 n 0000 + 00000100 v 0101 | barks | loudly\n"
    "00000300 05 n 01 Dog 1 001 @i 00000100 n 0000 | a star\n"
    "00000400 05 n 0a wing 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 001 #p 00000100 n 0000 | flaps\n";
static const char verbs[] =
    "00000100 29 v 01 dog 0 002 + 00000200 n 0101 ^ 00000200 v 0000 01 + 02 00 | follows\n"
    "00000200 29 v 01 chase 0 001 ^ 00000100 v 0000 01 + 02 00 | follows fast\n";
static const char adjectives[] =
    "00000100 00 s 01 beastly(p) 0 001 + 00000100 n 0101 | like an animal\n";
static const char adverbs[] =
    "00000100 02 r 01 wildly 0 001 \\ 00000100 a 0101 | in the manner of a beast\n";

static void write_wordnet(const char *data_noun)
{
    char text[2048];
    folder_new(folder);
    snprintf(text, sizeof text, "%s%s", header, data_noun);
    folder_write(folder, "data.noun", text, 0);
    folder_write(folder, "data.verb", verbs, 0);
    folder_write(folder, "data.adj", adjectives, 0);
    folder_write(folder, "data.adv", adverbs, 0);
    folder_write(
        folder, "index.noun",
        "  header  \nanimal n 1 2 ~ %p 1 1 00000100  \ndog n 2 2 @ @i 2 1 00000200 00000300  \nhound n 1 1 @ 1 0 "
        "00000200  \nwing n 1 1 #p 1 0 00000400  \n",
        0);
    folder_write(folder, "index.verb",
                 "chase v 1 1 ^ 1 0 00000200  \ndog v 1 2 + ^ 1 1 00000100  \n", 0);
    folder_write(folder, "index.adj", "beastly a 1 1 + 1 0 00000100  \n", 0);
    folder_write(folder, "index.adv", "wildly r 1 1 \\ 1 0 00000100  \n", 0);
}

static void load(const void *order)
{
    CLOSED_BY(graph_fini) struct graph g;
    graph_load(&g, folder, order, 1);
}

/* Too few facts for three splits are an error, so their number is counted from the message. */
TEST(wordnet, too_few_facts_to_split_are_refused)
{
    write_wordnet(nouns);
    ends_with(load, NULL, 1, "has too few facts (7) to be split into train, valid and test");
    ends_with(load, "trh", 1, "--format is for columns");
}

/* Many synsets below one, each with a second link, so that some facts may be held back. */
static void write_many(int count)
{
    static const char *const others[][2] = {
        {"data.verb", "00000100 29 v 01 chase 0 000 01 + 02 00 | follows\n"},
        {"index.verb", "chase v 1 0 1 0 00000100\n"},
        {"data.adj", "00000100 00 a 01 big 0 000 | large\n"},
        {"index.adj", "big a 1 0 1 0 00000100\n"},
        {"data.adv", "00000100 02 r 01 well 0 000 | good\n"},
        {"index.adv", "well r 1 0 1 0 00000100\n"}};
    static char data[1 << 20], index[1 << 20];
    char *d = data, *i = index;
    for (int n = 0; n < count; n++) {
        d += sprintf(d, "%08d 03 n 01 w%d 0 002 @ %08d n 0000 = %08d n 0000 | gloss\n", n + 1, n,
                     n / 2 + 1, (n * 7 + 3) % count + 1);
        i += sprintf(i, "w%d n 1 1 @ 1 0 %08d  \n", n, n + 1);
    }
    folder_new(folder);
    folder_write(folder, "data.noun", data, 0);
    folder_write(folder, "index.noun", index, 0);
    for (int k = 0; k < 6; k++) folder_write(folder, others[k][0], others[k][1], 0);
}

TEST(wordnet, splits_train_every_entity)
{
    static bool is_trained[1000];
    CLOSED_BY(graph_fini) struct graph g;
    write_many(1000);
    graph_load(&g, folder, NULL, 5);
    /* 999 hypernyms (the first is its own), and as many attributes less those that are the same
     * pair the other way round. */
    const struct facts *train = &g.splits[GRAPH_TRAIN];
    size_t valid = g.splits[GRAPH_VALID].count, total = train->count + 2 * valid;
    CHECK(total > 1900 && total < 2000 && valid == total / GRAPH_PART);
    CHECK_EQ(g.splits[GRAPH_TEST].count, valid);
    for (size_t i = 0; i < train->count; i++)
        is_trained[train->list[i].subject] = is_trained[train->list[i].object] = true;
    for (uint32_t e = 0; e < g.entities.count; e++) CHECK(is_trained[e]);
}

TEST(wordnet, installed_database_is_read)
{
    CLOSED_BY(graph_fini) struct graph g;
    if (access("/usr/share/wordnet/data.noun", R_OK) != 0)
        SKIP("WordNet (wordnet-base) is not installed");
    graph_load(&g, "/usr/share/wordnet", NULL, 1);
    CHECK(names_find(&g.entities, "canine.n.02", 11) != NAMES_NONE);
    CHECK_EQ(names_find(&g.relations, "hyponym", 7), NAMES_NONE); /* no fact the other way round */
    CHECK(g.relations.count == 18 && g.splits[GRAPH_TRAIN].count > 150000);
}

static void load_nouns(const void *text)
{
    write_wordnet(text);
    load(NULL);
}

TEST(wordnet, wrong_entries_are_refused_with_file_and_line)
{
    static const char *const cases[][2] = {
        {"00000100 03 n 01 animal 0 001 @ 00000200 n\n",
         "/data.noun:3: ends before the entry is complete"},
        {"00000100 03 n 01 animal 0 001 ? 00000100 n 0000 | x\n",
         "/data.noun:3: \"?\" is no kind of pointer"},
        {"00000100 03 n 01 animal 0 001 @ 00000999 n 0000 | x\n",
         "a pointer leads to offset 00000999 of data.noun, where no synset is"},
        {"", "/data.noun has no synsets"}};
    ENDS_EACH(load_nouns, 1, cases);
}
