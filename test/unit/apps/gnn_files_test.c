/* The files of gnn: edges and their weights, classes, splits, features. */
#include "common/folder.h"
#include "ending.h"
#include "fail.h"
#include "gnn/features.h"
#include "gnn/labels.h"
#include "gnn/network.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static uint32_t node_of(const struct network *n, const char *name)
{
    return names_find(&n->names, name, strlen(name));
}

static bool has_edge(const struct network *n, const char *from, const char *to)
{
    uint32_t wanted = node_of(n, to), v = node_of(n, from);
    for (uint64_t i = n->start[v]; i < n->start[v + 1]; i++)
        if (n->neighbour[i] == wanted) return true;
    return false;
}

/* ---- files ---- */

/* The same graph in all of them. */
static const char *const edges[] = {
    "0\t1\n1\t2\n2\t0\n3\t0\n",
    "id_1,id_2\r\n0,1\r\n1,2\r\n2,0\r\n3,0\r\n",
    "# from elsewhere\n0 1\n1  2\n\n2 0 \n0 3\n1 0\n3 3\n \n%\n",
    "\"source\";\"target\"\n0;1\n2;1\n2;0\n0;3",
    "0 1 {'weight': 3, 'kind': \"a, b\"}\n1 2 {}\n2 0 {'weight': 1}\n0 3 {}\n",
    "# by an editor\nid,source,target\n7,0,1\n8,1,2\n9,2,0\n10,3,0\n",
    "0\t1\t2019-01-01\tlate at night\n1\t2\n2\t0\tx\n3\t0\n",
    "0 1 0.5\n1 2 0.25\n2 0 1\n3 0 2\n",
    "0,1,1\n1,2,1\n2,0,1\n3,0,1\n",
};

static void load_graph(struct network *n, const char *text)
{
    network_init(n);
    network_load(n, folder_file(text, 0));
    network_finish(n);
}

TEST(gnn, reads_edges)
{
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        struct network n;
        load_graph(&n, edges[i]);
        CHECK_EQ(n.nodes, 4);
        CHECK_EQ(network_edges(&n), 4);
        CHECK_EQ(network_degree(&n, node_of(&n, "0")), 3);
        CHECK(has_edge(&n, "0", "3") && has_edge(&n, "3", "0") && has_edge(&n, "1", "2"));
        CHECK(!has_edge(&n, "3", "3") && !has_edge(&n, "1", "3"));
        CHECK_EQ(n.has_more, i >= 4);
        network_fini(&n);
    }
}

TEST(gnn, a_size_is_no_edge)
{
    static const char *const texts[] = {
        "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 3\n2 1\n3 2\n5 1\n",
        "\n# by hand\n%%MatrixMarket matrix coordinate real general\n%\n5 5 5\n1 2 1\n2 1 1.0\n"
        "2 3 0.5\n1 5 1\n3 1 0\n\n",
    };
    for (size_t i = 0; i < 2; i++) {
        struct network n;
        load_graph(&n, texts[i]);
        CHECK_EQ(n.nodes, 5); /* one without edges */
        CHECK_EQ(network_edges(&n), 3);
        CHECK(has_edge(&n, "1", "2") && has_edge(&n, "3", "2") && has_edge(&n, "1", "5"));
        CHECK_EQ(n.has_more, i == 1);
        network_fini(&n);
    }
}

TEST(gnn, names_may_have_separators_and_headings_be_of_words)
{
    static const char *const texts[] = {
        "\"Smith, John\",\"Smith, Ann\"\n\"Lee, Kim\",\"Smith, John\"\n\"Smith, Ann\",\"Lee, Kim\"\n",
        "source,target\n\"Smith, John\",\"Smith, Ann\"\n\"Lee, Kim\",\"Smith, John\"\n"
        "\"Smith, Ann\",\"Lee, Kim\"\n",
        "Smith, John\tSmith, Ann\nLee, Kim\tSmith, John\nSmith, Ann\tLee, Kim\n",
        "edge\tfrom_id\tto_id\n1\tSmith, John\tSmith, Ann\n2\tLee, Kim\tSmith, John\n"
        "3\tSmith, Ann\tLee, Kim\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct network n;
        load_graph(&n, texts[i]);
        CHECK_EQ(n.nodes, 3);
        CHECK_EQ(network_edges(&n), 3);
        CHECK(has_edge(&n, "Smith, John", "Lee, Kim"));
        network_fini(&n);
    }
}

TEST(gnn, first_edge_between_names_is_no_heading)
{
    CLOSED_BY(network_fini) struct network n;
    load_graph(&n, "ann bob\nbob 7\n7 ann\n");
    CHECK_EQ(network_edges(&n), 3);
    CHECK(has_edge(&n, "ann", "bob"));
}

static void read_edges(const void *text)
{
    CLOSED_BY(network_finish) struct network n;
    network_init(&n);
    network_load(&n, text);
}

TEST(gnn, refuses_wrong_edges_with_file_and_line)
{
    ends_with(read_edges, folder_file("0 1\n1\n", 0), 1, "file:2: has 1 field");
    ends_with(read_edges, folder_file("0,1\n1,\n", 0), 1, "file:2: the node is empty");
    ends_with(read_edges, folder_file("\"a\nb\",c\n", 0), 1,
              "file:1: the node has a line end in it");
    ends_with(
        read_edges,
        folder_file("%%MatrixMarket matrix coordinate pattern general\n900000000 900000000 1\n"
                    "1 2\n",
                    0),
        1, "file:2: has 900000000 rows, and only 1 edges");
    ends_with(read_edges,
              folder_file("%%MatrixMarket matrix coordinate pattern general\n3 4 1\n1 2\n", 0), 1,
              "file:2: has 3 rows and 4 columns");
    ends_with(read_edges, folder_file("# nothing\n", 0), 1, "has no edges");
    ends_with(read_edges, folder_file("0,1\n1,2\n2,NA\n", 0), 1, "file:3: the node is missing");
    ends_with(read_edges, folder_file("0 0\n", 0), 1, "no edge between different nodes");
}

/* Which nodes an edge has cannot be told. */
TEST(gnn, refuses_what_is_no_list_of_edges)
{
    static const char *const texts[][2] = {
        {"0 1 2\n1 2\n2 3 0\n3 0\n", "as lists of neighbours have"},
        {"a\tb\tc\nb\tc\nc\td\ta\nd\ta\n", "as lists of neighbours have"},
        {"0 1 0 1\n1 0 1 0\n0 1 0 1\n1 0 1 0\n", "has 4 rows and 4 columns: is it a table"},
        {"0 1 2 3 4\n1 2 3 4 0\n", "has 2 rows and 5 columns: is it a table"},
        {",0,1,2\n0,0,1,0\n1,1,0,1\n2,0,1,0\n", "does not tell which columns are the nodes"},
        {"id,paper,other\n7,0,1\n8,1,2\n", "does not tell which columns are the nodes"},
        {"0 -> 1\n1 -> 2\n", "file:1: \"->\" is no node"},
        {"(0, 1)\n(1, 2)\n", "file:1: \"(0\" is no node"},
        {"# target source\n0 1\n2 1\n", "a comment names its columns, in another order"},
        {"0,5,7\n1,7,9\n2,9,5\n3,5,9\n", "has numbers of its rows in its first column, and nodes"},
        {"1 5 7\n2 7 9\n3 9 5\n4 5 9\n", "has numbers of its rows in its first column, and nodes"},
        {"ann likes bob\nbob likes kim\nkim hates ann\n", "has no node of its first column in its"},
        {"1,0.5,2\n2,0.5,3\n3,1.0,1\n", "has no node of its first column in its second, and nodes"},
        {"[[0, 1],\n[1, 2]]\n", "file:1: \"[[0\" is no node"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ends_with(read_edges, folder_file(texts[i][0], 0), 1, texts[i][1]);
    }
}

/* ---- classes ---- */

/* A path of four nodes. */
static const char path_edges[] = "0 1\n1 2\n2 3\n";

static void load_path(struct network *n)
{
    network_init(n);
    network_load(n, folder_file(path_edges, 0));
}

TEST(gnn, reads_classes)
{
    static const char *const texts[] = {
        "a 1:1 5:2\nb\na 2:1\n-1 3:1\nb 1:1\n",
        "# of LIBSVM\na 1:1\nb # none\r\na 2:1\n# more\n-1\nb 1:1\n\n",
        "a\nb\na\n-1\nb\n",
        "a\nb\na\n\nb\n",
        "# classes\nclass\na\nb\na\n  \nb \n\n\n",
        "id,page,class\n2,\"x, y\",a\n1,z,b\n0,,a\n4,v,b\n3,w,-1\n",
        "node\tclass\n0\ta\n1\tb\n4\tb\n2\ta\n",
        "# exported\n\nnode,class\n0,a\n1,b\n4,b\n2,a\n3,\n",
        "class,node,degree\na,0,1\nb,1,2\nb,4,0\na,2,2\n",
        ",node,class\n0,0,a\n1,1,b\n2,4,b\n3,2,a\n",
        "node,split,label\n0,train,a\n1,none,b\n4,test,b\n2,train,a\n3,train,-1.0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct network n;
        struct labels l;
        load_path(&n);
        labels_init(&l);
        labels_load(&l, &n, folder_file(texts[i], 0));
        network_finish(&n);
        CHECK_EQ(l.classes, 2);
        CHECK_EQ(n.nodes, 5); /* one without edges */
        CHECK_EQ(n.added, 1);
        CHECK_EQ(network_degree(&n, node_of(&n, "4")), 0);
        CHECK_STR(names_get(&l.names, l.class_of[node_of(&n, "2")]), "a");
        CHECK_STR(names_get(&l.names, l.class_of[node_of(&n, "4")]), "b");
        CHECK(l.class_of[node_of(&n, "3")] == LABELS_NONE);
        labels_fini(&l);
        network_fini(&n);
    }
}

/* Of a matrix rows are numbered from 1; tables that begin with 0 do, and lines are rows. */
TEST(gnn, reads_classes_of_a_matrix)
{
    static const char *const texts[] = {"1,a\n4,b\n2,a\n", "0,a\n3,b\n1,a\n", "a\na\n\nb\n",
                                        "a 1:1\na 1:1\n-1 1:1\nb 1:1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct network n;
        struct labels l;
        network_init(&n);
        network_load(&n, folder_file("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n"
                                     "2 1\n3 2\n4 3\n",
                                     0));
        labels_init(&l);
        labels_load(&l, &n, folder_file(texts[i], 0));
        CHECK_EQ(n.names.count, 4);
        CHECK(l.class_of[0] == 0 && l.class_of[1] == 0 && l.class_of[3] == 1);
        CHECK(l.class_of[2] == LABELS_NONE);
        labels_fini(&l);
        network_fini(&n);
    }
}

struct graph_text {
    const char *edges, *classes;
};

static void read_classes(const void *context)
{
    const struct graph_text *t = context;
    struct network n;
    struct labels l;
    network_init(&n);
    network_load(&n, folder_file(t->edges, 0));
    labels_init(&l);
    labels_load(&l, &n, folder_file(t->classes, 0));
}

static void refuses_classes(const char *graph, const char *classes, const char *part)
{
    ends_with(read_classes, &(struct graph_text){graph, classes}, 1, part);
}

TEST(gnn, refuses_wrong_classes_with_file_and_line)
{
    refuses_classes(path_edges, "0,a\n1,b\n0,b\n", "file:3: a node has two classes");
    refuses_classes(path_edges, "0,a\n1\n", "file:1: has \",\" in it, and other lines have none");
    refuses_classes(path_edges, "0 a\n1\n", "file:2: has 1 field");
    refuses_classes(path_edges, "0,a\n,b\n", "file:2: the node is empty");
    refuses_classes(path_edges, "a\na\na\na\n", "has 1 class: must have two at least; -1 is none");
    refuses_classes(path_edges, "0,a\n1,b\n2,NA\n", "file:3: \"NA\" may be a class, or none");
    refuses_classes(path_edges, "class,id\n0,a\n1,b\n", "says nothing of any node of the graph");
    refuses_classes(path_edges, "0,2,a\n1,3,b\n2,1,a\n3,0,b\n", "has numbers of its rows in its");
    refuses_classes(path_edges, "0,1,0\n1,0,1\n2,1,0\n",
                    "has nothing but 0 and 1 behind the nodes");
    refuses_classes(path_edges, "# class,node\n0,1\n0,2\n1,3\n", "a comment names its columns");
    refuses_classes(path_edges, "%%MatrixMarket matrix coordinate real general\n2 1 1\n1 1 1\n",
                    "file:1: is MatrixMarket's banner: this file");
    refuses_classes(path_edges, "node,c0,c1\n0,1,0\n1,0,1\n2,1,0\n", "nothing but 0 and 1 behind");
    refuses_classes(path_edges, "0,a,0.5\n1,b,0.5\n2,b,0.7\n", "file:1: \"0.5\" is no class");
    refuses_classes(path_edges, "0,True,False\n3,False,True\n2,True,False\n",
                    "nothing but 0 and 1");
    refuses_classes(path_edges, "0 machine learning\n1 data bases\n", "has words before the last");
    refuses_classes(path_edges, "person,group,age\n0,1,7\n1,2,8\n2,2,8\n",
                    "does not tell which columns are the nodes and their words");
    refuses_classes(path_edges, "id,mature,new_id\n0,a,15\n1,b,16\n2,b,17\n",
                    "each node has a class of its own");
}

/* Which nodes lines are about cannot be told. */
TEST(gnn, refuses_classes_that_may_be_of_other_nodes)
{
    static const char from_1[] = "1 2\n2 3\n3 4\n",
                      matrix[] = "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n"
                                 "2 1\n3 2\n4 3\n";
    refuses_classes(from_1, "a\nb\na\nb\n", "the graph has no node 0: if its nodes begin with 1");
    refuses_classes("n0 n1\nn1 n2\n", "a\nb\na\n", "and the graph has others: \"n0\"");
    refuses_classes("n0 n1\nn1 n2\n", "0,a\n1,b\n2,a\n", "says nothing of any node");
    refuses_classes(path_edges, "1,a\n2,b\n3,a\n4,b\n",
                    "numbers nodes from 1 to 4, and the graph from 0 to 3");
    refuses_classes(from_1, "0,a\n1,b\n2,a\n3,b\n", "or, if they are the same nodes, give node 4");
    refuses_classes(path_edges, "a\nb\na\n\n",
                    "has 3 lines, for the nodes from 0 on, and the graph");
    refuses_classes(path_edges, "a 1:1\nb 1:1\n",
                    "has node 3: a node of which it says nothing has");
    refuses_classes(matrix, "a\na\n-1\n",
                    "has 3 lines, for the nodes from 1 on, and the graph has node 4");
    refuses_classes(path_edges, "\na\nb\na\nb\n", "file:2: stands behind a blank line");
    refuses_classes(path_edges, "a 1:1\n\nb 1:1\na 1:1\nb 1:1\n", "file:3: stands behind a blank");
    refuses_classes(matrix, "2,a\n3,b\n", "may number the nodes from 0 or from 1");
    refuses_classes(matrix, "0,a\n4,b\n", "it has both of 0 and 4");
    refuses_classes(matrix, "1,a\n4,b\n5,b\n", "file:3: there is no node \"5\" in the graph");
}

TEST(gnn, splits_by_a_file)
{
    CLOSED_BY(network_fini) struct network n;
    CLOSED_BY(labels_fini) struct labels l;
    load_path(&n);
    labels_init(&l);
    labels_load(&l, &n, folder_file("a\nb\na\n-1\n-1\n", 0));
    network_finish(&n);
    labels_split_by_file(&l, &n, folder_file("test\nTrain\nvalid\ntrain\ntest\n", 0));
    for (int p = 0; p < LABELS_PURPOSES; p++) CHECK_EQ(l.count[p], 1);
    CHECK_EQ(l.list[LABELS_TRAIN][0], node_of(&n, "1")); /* 3 has no class */
    CHECK_EQ(l.list[LABELS_VALIDATE][0], node_of(&n, "2"));
    CHECK_EQ(l.list[LABELS_TEST][0], node_of(&n, "0"));
}

static void read_split(const void *text)
{
    struct network n;
    struct labels l;
    load_path(&n);
    labels_init(&l);
    labels_load(&l, &n, folder_file("a\nb\na\nb\n", 0));
    network_finish(&n);
    labels_split_by_file(&l, &n, folder_file(text, 0));
    printf("%u %u %u\n", l.count[LABELS_TRAIN], l.count[LABELS_VALIDATE], l.count[LABELS_TEST]);
    fflush(stdout);
}

TEST(gnn, a_split_says_one_thing_of_each_node)
{
    static const char table[] = "node,label,split\n0,a,train\n1,b,train\n2,a,val\n3,b,test\n";
    ends_with(read_split, "train\nnone\n-1\ntest\n", 0, "1 0 1");
    ends_with(read_split, table, 0, "2 1 1");
    ends_with(read_split, "train\ndev\ntest\ntrain\n", 1, "file:2: \"dev\" is no purpose");
    ends_with(read_split, "0,train\n1,test\n0,test\n", 1, "file:3: a node has two purposes");
}

/* ---- features ---- */

TEST(gnn, reads_features)
{
    static const char *const texts[] = {"x 1:1 5:3\ny\nz 2:-2 \n",
                                        "# f\nx 1:1 5:3 # node\r\n%\ny\t# none\nz 2:-2\n\n"};
    for (size_t i = 0; i < 2; i++) {
        struct network n;
        struct features f;
        load_graph(&n, "2 1\n1 0\n");
        features_load(&f, &n, folder_file(texts[i], 0));
        uint32_t zero = node_of(&n, "0"), two = node_of(&n, "2");
        CHECK_EQ(f.count, 6);
        CHECK_EQ(f.start[zero + 1] - f.start[zero], 2);
        CHECK(f.index[f.start[zero] + 1] == 5 && f.value[f.start[zero] + 1] == 0.75F);
        CHECK(f.index[f.start[two]] == 2 && f.value[f.start[two]] == -1);
        CHECK_EQ(f.start[3], 3);
        features_fini(&f);
        network_fini(&n);
    }
}

/* A large number is no size: features are numbered anew, and named. */
TEST(gnn, a_huge_index_costs_nothing)
{
    CLOSED_BY(network_fini) struct network n;
    CLOSED_BY(features_fini) struct features f;
    load_graph(&n, "0 1\n");
    features_load(&f, &n, folder_file("x 0:1 20000000:1\ny 20000000:1 1000000000:3\n", 0));
    CHECK_EQ(f.count, 3);
    CHECK(f.index[0] == 0 && f.index[1] == 1 && f.index[2] == 1 && f.index[3] == 2);
    CHECK(f.value[3] == 0.75F);
    CHECK_STR(names_get(&f.names, 2), "1000000000");
}

static void read_features(const void *text)
{
    struct network n;
    struct features f;
    network_init(&n);
    network_add(&n, names_add(&n.names, "0", 1), names_add(&n.names, "1", 1));
    network_finish(&n);
    features_load(&f, &n, text);
}

TEST(gnn, refuses_wrong_features_with_file_and_line)
{
    static const char *const texts[][2] = {
        {"a 1:1\nb 2\n", "file:2: \"2\" is no feature"},
        {"a 1:1\nb x:2\n", "file:2: \"x\" is no feature"},
        {"a -1:1\n", "file:1: \"-1\" is no feature"},
        {"a 1:nan\n", "file:1: \"nan\" is no value"},
        {"a 1:2:3\n", "file:1: has two colons"},
        {"a\nb\n", "has no features"},
        {"a 1:1\n", "has 1 lines, for the nodes from 0 on, and the graph has node 1"},
        {"a 1:1\n\nb 1:1\n", "file:3: stands behind a blank line, which may be for a node or not"},
        {"a 1:1\nb 1:1\nc 1:1\n", "file:3: there is no node"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ends_with(read_features, folder_file(texts[i][0], 0), 1, texts[i][1]);
    }
}

static void read_weighted(const void *text)
{
    CLOSED_BY(network_finish) struct network n;
    network_init(&n);
    n.is_weighted = true;
    network_load(&n, folder_file(text, 0));
}

TEST(gnn, weights_that_are_none_are_refused)
{
    ends_with(read_weighted, "a b 1\nb c 0\n", 1, ":2: its weight, 0, must be from 1e-9");
    ends_with(read_weighted, "a b 1\nb c -1\n", 1, ":2: its weight, -1, must be from");
    ends_with(read_weighted, "a b 1\nb c 1e10\n", 1, ":2: its weight, 1e+10, must be from");
    ends_with(read_weighted, "a b 1\nb c x\n", 1, ":2: \"x\" is no weight");
    ends_with(read_weighted, "a b 1\nb c\n", 1, ":2: has no weight (--weights)");
    ends_with(read_weighted, "a b\nb c\n", 1, "has no column of weights behind the nodes");
    ends_with(read_weighted, "source,target,x,y\na,b,1,2\nb,c,1,2\n", 1,
              "has no column of weights");
    ends_with(read_weighted, "id,source,target\n1,a,b\n2,b,c\n", 1, "has no column of weights");
    ends_with(read_weighted, "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", 1,
              "coordinate");
    ends_with(read_weighted, "a b 1\nb c 2\nb a 3\n", 1,
              "the edge between a and b has two weights, 1 and 3");
}
