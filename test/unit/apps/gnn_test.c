/* The parts of gnn: files, the generated graph, the partition, neighbourhoods, and the gradients,
 * which are held against finite differences. */
#include "common/folder.h"
#include "ending.h"
#include "fail.h"
#include "gnn/clusters.h"
#include "gnn/accuracy.h"
#include "gnn/convolution.h"
#include "gnn/partition.h"
#include "gnn/planted.h"
#include "rows.h"
#include "sampling/chi_square.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES];

static const char *file_of(const char *text)
{
    folder_new(folder);
    folder_write(folder, "file", text, 0);
    snprintf(path, sizeof path, "%s/file", folder);
    return path;
}

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
    network_load(n, file_of(text));
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
    struct network n;
    load_graph(&n, "ann bob\nbob 7\n7 ann\n");
    CHECK_EQ(network_edges(&n), 3);
    CHECK(has_edge(&n, "ann", "bob"));
    network_fini(&n);
}

static void read_edges(const void *text)
{
    struct network n;
    network_init(&n);
    network_load(&n, text);
    network_finish(&n);
}

TEST(gnn, refuses_wrong_edges_with_file_and_line)
{
    ends_with(read_edges, file_of("0 1\n1\n"), 1, "file:2: has 1 field");
    ends_with(read_edges, file_of("0,1\n1,\n"), 1, "file:2: the node is empty");
    ends_with(read_edges, file_of("\"a\nb\",c\n"), 1, "file:1: the node has a line end in it");
    ends_with(read_edges,
              file_of("%%MatrixMarket matrix coordinate pattern general\n900000000 900000000 1\n"
                      "1 2\n"),
              1, "file:2: has 900000000 rows, and only 1 edges");
    ends_with(read_edges, file_of("%%MatrixMarket matrix coordinate pattern general\n3 4 1\n1 2\n"),
              1, "file:2: has 3 rows and 4 columns");
    ends_with(read_edges, file_of("# nothing\n"), 1, "has no edges");
    ends_with(read_edges, file_of("0,1\n1,2\n2,NA\n"), 1, "file:3: the node is missing");
    ends_with(read_edges, file_of("0 0\n"), 1, "no edge between different nodes");
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
        ends_with(read_edges, file_of(texts[i][0]), 1, texts[i][1]);
    }
}

/* ---- classes ---- */

/* A path of four nodes. */
static const char path_edges[] = "0 1\n1 2\n2 3\n";

static void load_path(struct network *n)
{
    network_init(n);
    network_load(n, file_of(path_edges));
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
        labels_load(&l, &n, file_of(texts[i]));
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
        network_load(&n, file_of("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n"
                                 "2 1\n3 2\n4 3\n"));
        labels_init(&l);
        labels_load(&l, &n, file_of(texts[i]));
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
    network_load(&n, file_of(t->edges));
    labels_init(&l);
    labels_load(&l, &n, file_of(t->classes));
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
    struct network n;
    struct labels l;
    load_path(&n);
    labels_init(&l);
    labels_load(&l, &n, file_of("a\nb\na\n-1\n-1\n"));
    network_finish(&n);
    labels_split_by_file(&l, &n, file_of("test\nTrain\nvalid\ntrain\ntest\n"));
    for (int p = 0; p < LABELS_PURPOSES; p++) CHECK_EQ(l.count[p], 1);
    CHECK_EQ(l.list[LABELS_TRAIN][0], node_of(&n, "1")); /* 3 has no class */
    CHECK_EQ(l.list[LABELS_VALIDATE][0], node_of(&n, "2"));
    CHECK_EQ(l.list[LABELS_TEST][0], node_of(&n, "0"));
    labels_fini(&l);
    network_fini(&n);
}

static void read_split(const void *text)
{
    struct network n;
    struct labels l;
    load_path(&n);
    labels_init(&l);
    labels_load(&l, &n, file_of("a\nb\na\nb\n"));
    network_finish(&n);
    labels_split_by_file(&l, &n, file_of(text));
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
        features_load(&f, &n, file_of(texts[i]));
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
    struct network n;
    struct features f;
    load_graph(&n, "0 1\n");
    features_load(&f, &n, file_of("x 0:1 20000000:1\ny 20000000:1 1000000000:3\n"));
    CHECK_EQ(f.count, 3);
    CHECK(f.index[0] == 0 && f.index[1] == 1 && f.index[2] == 1 && f.index[3] == 2);
    CHECK(f.value[3] == 0.75F);
    CHECK_STR(names_get(&f.names, 2), "1000000000");
    features_fini(&f);
    network_fini(&n);
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
        ends_with(read_features, file_of(texts[i][0]), 1, texts[i][1]);
    }
}

/* ---- the generated graph, and its parts ---- */

static void plant(struct gnn *g, const char *text, double same)
{
    struct planted p = {.text = text, .exponent = 2.5, .same = same, .seed = 3};
    *g = (struct gnn){.options = {.common = {.seed = 3}, .hidden = 3, .dim = 4}};
    network_init(&g->network);
    labels_init(&g->labels);
    planted_generate(&p, &g->network, &g->labels);
    network_finish(&g->network);
    labels_split(&g->labels, 0.5, 0.3, 3);
}

static void release(struct gnn *g)
{
    network_fini(&g->network);
    labels_fini(&g->labels);
    features_fini(&g->features);
    free(g->part_of);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* With exponent 2.5 the largest tenth of the nodes has far more than a tenth of the edges. */
TEST(gnn, plants_a_power_law_and_classes)
{
    struct gnn g;
    plant(&g, "4000x16x5", 0.6);
    const struct network *n = &g.network;
    uint32_t degrees[4000], same = 0;
    uint64_t top = 0, all = n->start[n->nodes];
    for (uint32_t v = 0; v < 4000; v++) {
        degrees[v] = network_degree(n, v);
        for (uint64_t i = n->start[v]; i < n->start[v + 1]; i++)
            same += g.labels.class_of[v] == g.labels.class_of[n->neighbour[i]];
    }
    qsort(degrees, 4000, sizeof *degrees, by_size);
    for (int i = 0; i < 400; i++) top += degrees[i];
    CHECK(all > 4000 * 14 && all <= 4000 * 16);
    CHECK(top > all / 3 && top < all * 2 / 3);
    CHECK(fabs(same / (double)all - (0.6 + 0.4 / 5)) < 0.02);
    CHECK_EQ(g.labels.count[LABELS_TRAIN], 2000);
    CHECK_EQ(g.labels.count[LABELS_VALIDATE], 1200);
    CHECK_EQ(g.labels.count[LABELS_TEST], 800);
    struct gnn again;
    plant(&again, "4000x16x5", 0.6);
    CHECK(network_digest(n) == network_digest(&again.network));
    CHECK(labels_digest(&g.labels, false) == labels_digest(&again.labels, false));
    release(&again);
    release(&g);
}

static void check_balance(const struct gnn *g, const uint32_t *part_of, uint32_t parts)
{
    for (uint32_t p = 0; p < parts; p++) {
        uint32_t count[2] = {0};
        for (uint32_t v = 0; v < g->network.nodes; v++)
            if (part_of[v] == p) count[g->labels.purpose_of[v] == LABELS_TRAIN]++;
        for (int k = 0; k < 2; k++) {
            double mean = g->network.nodes / 2.0 / parts;
            if (count[k] < 0.8 * mean || count[k] > 1.06 * mean + 2)
                test_fail(__FILE__, __LINE__, "part %u of %u has %u", p, parts, count[k]);
        }
    }
}

/* Of each group the nodes of one class, and no group has more than it may. */
TEST(gnn, groups_are_the_planted_classes)
{
    enum { NODES = 3000, CLASSES = 6, MOST = 600 };
    struct gnn g;
    plant(&g, "3000x10x6", 0.9);
    uint32_t *order = take_memory(NODES, sizeof *order), *size = take_memory(NODES, sizeof *size),
             *cluster_of = take_memory(NODES, sizeof *cluster_of), same = 0, pairs = 0;
    for (uint32_t v = 0; v < NODES; v++) order[v] = v;
    clusters_find(&g.network, order, MOST, cluster_of);
    for (uint32_t v = 0; v < NODES; v++) CHECK(++size[cluster_of[v]] <= MOST);
    clusters_list(&g.network, cluster_of, order);
    for (uint32_t i = 1; i < NODES; i++) {
        uint32_t a = order[i - 1], b = order[i];
        CHECK(size[cluster_of[a]] >= size[cluster_of[b]]);
        if (cluster_of[a] != cluster_of[b]) continue;
        pairs++;
        same += g.labels.class_of[a] == g.labels.class_of[b];
    }
    CHECK(pairs > NODES / 2);
    CHECK(same > 0.9 * pairs);
    free(order);
    free(size);
    free(cluster_of);
    release(&g);
}

TEST(gnn, parts_are_balanced_and_few_edges_between_them)
{
    struct gnn g;
    plant(&g, "3000x10x6", 0.9);
    uint32_t *part_of = take_memory(3000, sizeof *part_of);
    for (uint32_t parts = 2; parts <= 6; parts++) {
        partition_cut(PARTITION_RANDOM, &g.network, &g.labels, parts, 1, part_of);
        check_balance(&g, part_of, parts);
        double random = partition_cut_share(&g.network, part_of);
        CHECK(fabs(random - (1 - 1.0 / parts)) < 0.03);
        partition_cut(PARTITION_GREEDY, &g.network, &g.labels, parts, 1, part_of);
        check_balance(&g, part_of, parts);
        double greedy = partition_cut_share(&g.network, part_of);
        CHECK(greedy < 0.4 * random);
    }
    partition_cut(PARTITION_GREEDY, &g.network, &g.labels, 1, 1, part_of);
    CHECK(partition_cut_share(&g.network, part_of) == 0);
    free(part_of);
    release(&g);
}

/* ---- neighbourhoods ---- */

/* Everything in it is there once, its edges are edges of the graph, and weights add up to 1. */
static void check_neighbourhood(const struct gnn *g, const struct neighbourhood *h, size_t most)
{
    float *sums = take_memory(h->middles, sizeof *sums);
    for (uint32_t t = 0; t < h->tops; t++) {
        float sum = 0;
        CHECK(h->middle[h->upper[h->top_start[t]].end] == h->top[t]);
        CHECK(h->top_start[t + 1] - h->top_start[t] <= most + 1);
        for (uint32_t e = h->top_start[t]; e < h->top_start[t + 1]; e++) sum += h->upper[e].weight;
        CHECK(fabsf(sum - 1) < 1e-5F);
    }
    for (uint32_t i = 0; i < h->inputs; i++) {
        for (uint32_t e = h->input_start[i]; e < h->input_start[i + 1]; e++) {
            uint32_t to = (uint32_t)h->middle[h->lower[e].end];
            bool is_edge = to == h->input[i];
            for (uint64_t j = g->network.start[to]; j < g->network.start[to + 1]; j++)
                is_edge |= g->network.neighbour[j] == h->input[i];
            CHECK(is_edge);
            sums[h->lower[e].end] += h->lower[e].weight;
        }
        for (uint32_t j = 0; j < i; j++) CHECK(h->input[i] != h->input[j]);
    }
    for (uint32_t i = 0; i < h->middles; i++) CHECK(fabsf(sums[i] - 1) < 1e-5F);
    free(sums);
}

TEST(gnn, neighbourhoods_are_what_a_batch_depends_on)
{
    struct gnn g;
    struct neighbourhood_maker m;
    struct neighbourhood h;
    struct rng rng;
    plant(&g, "300x10x4", 0.6);
    rng_init(&rng, 1, 1);
    for (size_t most = 0; most <= 6; most += 3) {
        neighbourhood_maker_init(&m, &g, 8, most, 0);
        neighbourhood_init(&h, 8);
        for (uint32_t batch = 0; batch < 20; batch++) {
            h.tops = 8 - batch % 3;
            for (uint32_t t = 0; t < h.tops; t++) h.top[t] = (batch * 8 + t) % 300;
            neighbourhood_make(&m, &h, &rng);
            check_neighbourhood(&g, &h, most > 0 ? most : 300);
        }
        neighbourhood_fini(&h);
        neighbourhood_maker_fini(&m);
    }
    release(&g);
}

/* Kipf and Welling's D^-1/2 (A + I) D^-1/2, where D has the sums of the rows of A + I; or D^-1 of it. */
static double share_of(const double a[3][3], bool is_mean, uint32_t to, uint32_t from)
{
    double sums[3];
    for (int i = 0; i < 3; i++) sums[i] = 1 + a[i][0] + a[i][1] + a[i][2];
    return ((to == from) + a[to][from]) / (is_mean ? sums[to] : sqrt(sums[to] * sums[from]));
}

static void check_weights(struct gnn *g)
{
    static const double a[3][3] = {{0, 0.5, 4}, {0.5, 0, 2}, {4, 2, 0}};
    struct neighbourhood_maker m;
    struct neighbourhood h;
    struct rng rng;
    rng_init(&rng, 1, 1);
    for (int average = GNN_MEAN; average <= GNN_SYMMETRIC; average++) {
        bool is_mean = average == GNN_MEAN;
        g->options.average = average;
        neighbourhood_maker_init(&m, g, 3, 0, 0);
        neighbourhood_init(&h, 3);
        for (h.tops = 0; h.tops < 3; h.tops++) h.top[h.tops] = h.tops;
        neighbourhood_make(&m, &h, &rng);
        CHECK(h.inputs == 3 && h.input_start[3] == 9 && h.top_start[3] == 9);
        for (uint32_t t = 0; t < 3; t++)
            for (uint32_t e = h.top_start[t]; e < h.top_start[t + 1]; e++)
                CHECK(fabs((double)h.upper[e].weight -
                           share_of(a, is_mean, t, (uint32_t)h.middle[h.upper[e].end])) < 1e-6);
        for (uint32_t i = 0; i < 3; i++)
            for (uint32_t e = h.input_start[i]; e < h.input_start[i + 1]; e++)
                CHECK(fabs((double)h.lower[e].weight - share_of(a, is_mean,
                                                                (uint32_t)h.middle[h.lower[e].end],
                                                                (uint32_t)h.input[i])) < 1e-6);
        neighbourhood_fini(&h);
        neighbourhood_maker_fini(&m);
    }
}

TEST(gnn, weights_of_edges_are_those_of_graph_convolution)
{
    static const char *const texts[] = {
        "n0 n1 0.5\nn1 n2 2\nn2 n0 4\n",
        "source,target,weight\nn0,n1,0.5\nn1,n2,2\nn2,n1,2\nn0,n2,4\nn0,n0,7\n",
        "kind\tweight\tfrom\tto\na\t0.5\tn0\tn1\nb\t2\tn1\tn2\nb\t4\tn2\tn0\n",
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n2 1 0.5\n3 1 4\n3 2 2\n1 1 9\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gnn g = {0};
        network_init(&g.network);
        g.network.is_weighted = true;
        network_load(&g.network, file_of(texts[i]));
        network_finish(&g.network);
        check_weights(&g);
        network_fini(&g.network);
    }
}

static void read_weighted(const void *text)
{
    struct network n;
    network_init(&n);
    n.is_weighted = true;
    network_load(&n, file_of(text));
    network_finish(&n);
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

/* A star of 12 around node 0. */
TEST(gnn, neighbours_are_drawn_alike)
{
    enum { LEAVES = 12, DRAWN = 5, DRAWS = 20000 };
    struct gnn g = {.network = {.nodes = LEAVES + 1}};
    struct neighbourhood_maker m;
    struct neighbourhood h;
    struct rng rng;
    uint64_t seen[LEAVES] = {0};
    double expected[LEAVES], freedom;
    for (uint32_t i = 1; i <= LEAVES; i++) network_add(&g.network, 0, i);
    network_finish(&g.network);
    rng_init(&rng, 1, 1);
    neighbourhood_maker_init(&m, &g, 1, DRAWN, 0);
    neighbourhood_init(&h, 1);
    h.tops = 1;
    h.top[0] = 0;
    for (int i = 0; i < DRAWS; i++) {
        neighbourhood_make(&m, &h, &rng);
        CHECK_EQ(h.middles, 1 + DRAWN);
        for (uint32_t j = 1; j < h.middles; j++) seen[h.middle[j] - 1]++;
    }
    for (int i = 0; i < LEAVES; i++) expected[i] = (double)DRAWS * DRAWN / LEAVES;
    double statistic = chi_square(seen, expected, LEAVES, &freedom);
    CHECK(statistic < chi_square_bound(freedom));
    neighbourhood_fini(&h);
    neighbourhood_maker_fini(&m);
    network_fini(&g.network);
}

/* ---- gradients ---- */

struct checked {
    struct gnn gnn;
    bool is_locus;
};

static double loss_of(struct convolution *c, const struct neighbourhood *h)
{
    const struct labels *l = &c->gnn->labels;
    const float *odds = convolution_infer(c, h);
    double loss = 0;
    for (uint32_t t = 0; t < h->tops; t++)
        loss -= log((double)odds[t * l->classes + l->class_of[h->top[t]]]);
    return loss / h->tops;
}

static void draw_row(const void *gnn, uint64_t row, float *values)
{
    struct rng rng;
    rng_init(&rng, 9, row);
    for (size_t i = 0; i < gnn_width(gnn); i++) values[i] = (float)rng_normal(&rng);
}

static float *row_of(struct pool_member *m, locus_key key)
{
    const struct pool_table *t = pool_table_of(m->pool, key);
    return t->values + (key - t->first) * t->stride;
}

/* The loss beside that of a value a little higher, and a little lower. */
static double slope_at(struct convolution *c, const struct neighbourhood *h, float *value)
{
    const float step = 4e-3F, kept = *value;
    *value = kept + step;
    double above = loss_of(c, h);
    *value = kept - step;
    double below = loss_of(c, h);
    *value = kept;
    return (above - below) / (2 * (double)step);
}

/* A first step of AdaGrad leaves the gradient's square in the row, and the change has the other
 * sign. */
static void check_row(const float *row, const float *before, const double *slopes, size_t n,
                      const char *what)
{
    for (size_t i = 0; i < n; i++) {
        double gradient = sqrt((double)row[n + i]);
        if (row[i] > before[i]) gradient = -gradient;
        if (fabs(gradient - slopes[i]) > 2e-3 + 0.02 * fabs(slopes[i]))
            test_fail(__FILE__, __LINE__, "%s %zu: gradient %g, slope %g", what, i, gradient,
                      slopes[i]);
    }
}

static void check_gradients(struct pool_member *m, void *checked)
{
    enum { TOPS = 6 };
    const struct gnn *g = &((struct checked *)checked)->gnn;
    struct convolution c;
    struct neighbourhood_maker maker;
    struct neighbourhood h;
    struct rng rng;
    size_t n = gnn_width(g);
    rng_init(&rng, 1, 1);
    rows_init(m, GNN_INPUTS, draw_row, g);
    dense_rows_init(&g->plan, m, GNN_DENSE, 5, NULL, 0);
    convolution_open(&c, g, m, TOPS, 0);
    neighbourhood_maker_init(&maker, g, TOPS, 0, 0);
    neighbourhood_init(&h, TOPS);
    h.tops = TOPS;
    for (uint32_t t = 0; t < TOPS; t++) h.top[t] = 7 * t;
    neighbourhood_make(&maker, &h, &rng);
    double *slopes = take_memory(h.inputs * n, sizeof *slopes), most = 0;
    float *before = take_memory(h.inputs * n, sizeof *before);
    for (uint32_t i = 0; i < h.inputs; i++) {
        memcpy(before + i * n, row_of(m, h.input[i]), n * sizeof *before);
        for (size_t j = 0; j < n; j++)
            slopes[i * n + j] = slope_at(&c, &h, row_of(m, h.input[i]) + j);
    }
    convolution_train(&c, &h);
    for (uint32_t i = 0; i < h.inputs; i++)
        check_row(row_of(m, h.input[i]), before + i * n, slopes + i * n, n, "value");
    for (size_t i = 0; i < h.inputs * n; i++) most = fmax(most, fabs(slopes[i]));
    CHECK(most > 0.02); /* there is something to check */
    free(slopes);
    free(before);
    neighbourhood_fini(&h);
    neighbourhood_maker_fini(&maker);
    convolution_close(&c);
}

static void open_pool(struct pool *pool, const struct gnn *g, bool is_baseline)
{
    struct locus_table tables[] = {
        {.name = "inputs",
         .rows = gnn_inputs(g),
         .length = (uint32_t)gnn_width(g),
         .optimizer = LOCUS_ADAGRAD,
         .rule = {.rate = (float)g->options.rate}},
        {.name = "dense",
         .rows = g->plan.rows,
         .length = g->plan.length,
         .optimizer = LOCUS_ADAGRAD,
         .rule = {.rate = (float)g->options.dense_rate}},
    };
    pool_open(pool,
              &(struct pool_config){
                  .tables = tables, .table_count = 2, .workers = 1, .is_baseline = is_baseline});
}

/* Each node has two features, one of its own. */
static void give_features(struct gnn *g)
{
    uint32_t nodes = g->network.nodes;
    struct features *f = &g->features;
    *f = (struct features){.nodes = nodes, .count = nodes + 1};
    f->start = take_memory(nodes + 1, sizeof *f->start);
    f->index = take_memory((size_t)2 * nodes, sizeof *f->index);
    f->value = take_memory((size_t)2 * nodes, sizeof *f->value);
    for (uint32_t v = 0; v < nodes; v++) {
        f->start[v + 1] = 2 * ((uint64_t)v + 1);
        f->index[2 * v] = v;
        f->index[2 * v + 1] = nodes;
        f->value[2 * v] = 0.75F;
        f->value[2 * v + 1] = 0.25F;
    }
}

static void prepare(struct checked *c, bool has_features, int average)
{
    plant(&c->gnn, "60x4x3", 0.6);
    c->gnn.options.average = average;
    c->gnn.options.rate = c->gnn.options.dense_rate = 1e-3;
    if (has_features)
        give_features(&c->gnn);
    else
        dense_plan_add(&c->gnn.plan, c->gnn.options.dim, c->gnn.options.hidden, true);
    dense_plan_add(&c->gnn.plan, c->gnn.options.hidden, 3, false);
}

TEST(gnn, gradients_are_the_slopes_of_the_loss)
{
    for (int i = 0; i < 4; i++) {
        struct checked c = {0};
        struct pool pool;
        prepare(&c, i % 2 != 0, i / 2);
        open_pool(&pool, &c.gnn, true);
        pool_run(&pool, check_gradients, &c);
        pool_close(&pool);
        release(&c.gnn);
    }
}

/* ---- steps ---- */

/* Fifteen steps take each node twice. */
enum { STEPS = 90, TWICE = 15 };

/* The losses of some steps. */
static void train(struct pool_member *m, void *run)
{
    struct {
        struct gnn *gnn;
        double loss[STEPS];
    } *r = run;
    struct convolution c;
    struct neighbourhood_maker maker;
    struct neighbourhood h;
    struct rng rng;
    rng_init(&rng, 1, 1);
    rows_init(m, GNN_INPUTS, draw_row, r->gnn);
    dense_rows_init(&r->gnn->plan, m, GNN_DENSE, 5, NULL, 0);
    pool_quiesce(m);
    convolution_open(&c, r->gnn, m, 8, 3);
    neighbourhood_maker_init(&maker, r->gnn, 8, 3, r->gnn->options.dropout);
    neighbourhood_init(&h, 8);
    for (int s = 0; s < STEPS; s++) {
        h.tops = 8;
        for (uint32_t t = 0; t < 8; t++) h.top[t] = ((uint32_t)s * 8 + t) % 60;
        neighbourhood_make(&maker, &h, &rng);
        r->loss[s] = convolution_train(&c, &h);
    }
    neighbourhood_fini(&h);
    neighbourhood_maker_fini(&maker);
    convolution_close(&c);
}

TEST(gnn, a_node_alone_learns_what_plain_arrays_do)
{
    for (int features = 0; features < 2; features++) {
        struct checked c = {0};
        struct {
            struct gnn *gnn;
            double loss[STEPS];
        } runs[2] = {{.gnn = &c.gnn}, {.gnn = &c.gnn}};
        prepare(&c, features == 1, GNN_SYMMETRIC);
        c.gnn.options.dropout = 0.25;
        c.gnn.options.decay = 1e-3;
        c.gnn.options.rate = c.gnn.options.dense_rate = 0.1;
        for (int i = 0; i < 2; i++) {
            struct pool pool;
            open_pool(&pool, &c.gnn, i == 1);
            pool_run(&pool, train, &runs[i]);
            pool_close(&pool);
        }
        for (int s = 0; s < STEPS; s++)
            CHECK(fabs(runs[0].loss[s] - runs[1].loss[s]) < 1e-3 * fabs(runs[1].loss[s]));
        double first = 0, last = 0;
        for (int s = 0; s < TWICE; s++) {
            first += runs[0].loss[s];
            last += runs[0].loss[STEPS - 1 - s];
        }
        CHECK(last < 0.8 * first);
        release(&c.gnn);
    }
}

/* 0 1 2 0 1 2 are found to be 0 2 1 0 0 1; nobody is a 3. */
TEST(gnn, f1_is_the_mean_of_classes)
{
    const double tally[] = {2, 3, 2, 0, 2, 2, 0, 1, 2, 0, 0, 0};
    CHECK(fabs(accuracy_f1(tally, 4) - 0.8 / 3) < 1e-12);
}
