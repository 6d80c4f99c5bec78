/* The files of gnn: edges, classes, purposes, features; and what is refused. */
#include "common/folder.h"
#include "ending.h"
#include "gnn/features.h"
#include "gnn/labels.h"
#include "gnn/network.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* A path of four nodes. */
static const char path_edges[] = "a b\tc\nc\t#d\n#d\t\"e\"\n";

static void load_graph(struct network *n, const char *text)
{
    network_init(n);
    network_load(n, folder_file(text, 0));
}

static uint32_t node_of(const struct network *n, const char *name)
{
    return names_find(&n->names, name, strlen(name));
}

static bool has_edge(const struct network *n, uint32_t from, uint32_t to)
{
    for (uint64_t i = n->start[from]; i < n->start[from + 1]; i++)
        if (n->neighbour[i] == to) return true;
    return false;
}

/* ---- edges ---- */

/* Of two ways to say one, and of a node with itself. */
TEST(gnn_files, network_load_edges_have_no_direction)
{
    CLOSED_BY(network_fini) struct network n;
    load_graph(&n, "0\t1\n1\tx y\n1\t0\nx y\t0\n3\t3\n0\t3\n0\t1");
    network_finish(&n);
    CHECK(n.nodes == 4 && n.linked == 4 && network_edges(&n) == 4);
    CHECK_EQ(network_degree(&n, node_of(&n, "0")), 3);
    CHECK(has_edge(&n, node_of(&n, "x y"), node_of(&n, "1")) && has_edge(&n, 3, 0));
    CHECK(!has_edge(&n, 3, 3) && !has_edge(&n, 1, 3));
}

static void read_edges(const void *text)
{
    CLOSED_BY(network_fini) struct network n;
    load_graph(&n, text);
    network_finish(&n);
}

TEST(gnn_files, network_load_refuses_all_that_is_no_edge)
{
    static const char *const cases[][2] = {
        {"0\t1\n1\n",
         "file:2: has 1 field with tabs between, not 2. A line must be \"node TAB node\""},
        {"0\t1\n1\t2\t0.5\n", "file:2: has 3 fields with tabs between"},
        {"0\t1\n1\t\n", "file:2: has an empty field"},
        {"0 1\n1 2\n", "file:1: has 1 field"},
        {"source,target\n0,1\n", "file:1: has 1 field"},
        {"0\t1\n\n1\t2\n", "file:2: is empty"},
        {"0\t1\r\n1\t2\r\n", "file:1: has a carriage return"},
        {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", "file:1: has 1 field"},
        {"", "is empty. A line must be \"node TAB node\""},
        {"0\t0\n", "no edge between different nodes"}};
    ENDS_EACH(read_edges, 1, cases);
}

/* ---- classes ---- */

static void load_classes(struct network *n, struct labels *l, const char *text)
{
    load_graph(n, path_edges);
    labels_init(l);
    labels_load(l, n, folder_file(text, 0));
}

/* A node may have no class, and no edge. */
TEST(gnn_files, labels_load_classes_are_words_as_they_stand)
{
    CLOSED_BY(network_fini) struct network n;
    CLOSED_BY(labels_fini) struct labels l;
    load_classes(&n, &l, "\"e\"\tnew york\na b\t-1\nlone\t-1\nc\tNA\n");
    network_finish(&n);
    labels_reserve(&l, n.nodes);
    CHECK(n.nodes == 5 && n.linked == 4 && l.classes == 3);
    CHECK_STR(names_get(&l.names, l.class_of[node_of(&n, "\"e\"")]), "new york");
    CHECK_STR(names_get(&l.names, l.class_of[node_of(&n, "lone")]), "-1");
    CHECK_STR(names_get(&l.names, l.class_of[node_of(&n, "c")]), "NA");
    CHECK_EQ(l.class_of[node_of(&n, "#d")], LABELS_NONE);
}

static void read_classes(const void *text)
{
    struct network n;
    struct labels l;
    load_classes(&n, &l, text);
}

TEST(gnn_files, labels_load_refuses_all_that_is_no_class)
{
    static const char *const cases[][2] = {
        {"c\tx\n#d\ty\nc\ty\n", "file:3: is the second class of this node"},
        {"c\tx\n#d\tx\n", "has one class: must have two at least"},
        {"c,x\n#d,y\n",
         "file:1: has 1 field with tabs between, not 2. A line must be \"node TAB class\""},
        {"x 1:1\ny 2:1\n", "file:1: has 1 field"},
        {"c\tx\n\ty\n", "file:2: has an empty field"},
        {"0\tx\n1\ty\n", "says nothing of any node of the graph"},
        {"", "is empty. A line must be \"node TAB class\""}};
    ENDS_EACH(read_classes, 1, cases);
}

/* ---- purposes ---- */

/* Node "#d" has no class. */
static void read_purposes(const void *text)
{
    CLOSED_BY(network_fini) struct network n;
    CLOSED_BY(labels_fini) struct labels l;
    load_classes(&n, &l, "a b\tx\nc\ty\n\"e\"\ty\nlone\tx\n");
    labels_load_purposes(&l, &n, folder_file(text, 0));
    network_finish(&n);
    labels_reserve(&l, n.nodes);
    labels_list(&l);
    for (int p = 0; p < LABELS_PURPOSES; p++)
        for (uint32_t i = 0; i < l.count[p]; i++)
            printf("%s%s", names_get(&n.names, l.list[p][i]), i + 1 < l.count[p] ? "," : ";");
    fflush(stdout);
}

TEST(gnn_files, labels_load_purposes_says_one_thing_of_each_node)
{
    static const char *const right[][2] = {
        {"a b\ttrain\n#d\ttrain\n\"e\"\ttest\nlone\tval\n", "a b;lone;\"e\";"},
        {"lone\ttrain\nc\ttrain\nother\ttest\n", "c,lone;"}};
    static const char *const wrong[][2] = {
        {"c\tdev\n", "file:1: \"dev\" is no purpose: must be train, val or test"},
        {"c\tTrain\n", "file:1: \"Train\" is no purpose"},
        {"train\nval\n",
         "file:1: has 1 field with tabs between, not 2. A line must be \"node TAB train|val|test\""},
        {"c\ttrain\na b\ttest\nc\ttrain\n", "file:3: is the second purpose of this node"},
        {"#d\ttrain\nc\ttest\n", "there is no node with a class to train with"}};
    ENDS_EACH(read_purposes, 0, right);
    ENDS_EACH(read_purposes, 1, wrong);
}

/* ---- features ---- */

/* A large number is no size: features are numbered anew, and named. A node of features alone is one
 * of the graph. */
TEST(gnn_files, features_load_has_those_of_each_node)
{
    CLOSED_BY(network_fini) struct network n;
    CLOSED_BY(features_fini) struct features f;
    CLOSED_BY(features_fini) struct features large;
    load_graph(&n, "2\t1\n1\tx y\n");
    features_load(&f, &n, folder_file("x y\t1:1 5:3\n1\t\nlone\t0:2\n2\t2:-2\n", 0));
    uint64_t first = f.start[node_of(&n, "x y")], two = f.start[node_of(&n, "2")];
    CHECK(f.nodes == 4 && n.linked == 3 && f.count == 6 && f.start[4] == 4);
    CHECK_EQ(f.start[node_of(&n, "1") + 1] - f.start[node_of(&n, "1")], 0);
    CHECK(f.index[first + 1] == 5 && f.value[first + 1] == 0.75F);
    CHECK(f.index[two] == 2 && f.value[two] == -1);
    features_load(&large, &n,
                  folder_file("x y\t0:1 20000000:1\n1\t1000000000:3\n2\t\nlone\t\n", 0));
    CHECK_EQ(large.count, 3);
    CHECK_EQ(large.index[large.start[node_of(&n, "1")]], 2);
    CHECK_STR(names_get(&large.names, 2), "1000000000");
}

static void read_features(const void *text)
{
    struct network n;
    struct features f;
    load_graph(&n, "0\t1\n");
    features_load(&f, &n, folder_file(text, 0));
}

TEST(gnn_files, features_load_refuses_all_that_is_no_feature)
{
    static const char *const cases[][2] = {
        {"0\t1:1\n1\t2\n", "file:2: \"2\" is no feature"},
        {"0\t1:nan\n", "file:1: \"nan\" is no value"},
        {"0\t1:1  2:1\n", "file:1: has two blanks between words"},
        {"0\t1:1\t2:1\n", "file:1: \"1\\x092\" is no feature"},
        {"0\t1:1:1\n", "file:1: has two colons"},
        {"x 1:1\ny 2:1\n", "file:1: has no name of a node with a tab after it. A line must be"},
        {"\t1:1\n", "file:1: has no name of a node"},
        {"0\t\n1\t\n", "has no features"},
        {"0\t1:1\n1\t1:1\n0\t1:1\n", "has two lines of the node \"0\""},
        {"1\t1:1\n2\t1:1\n", "has no line of the node \"0\""}};
    ENDS_EACH(read_features, 1, cases);
}
