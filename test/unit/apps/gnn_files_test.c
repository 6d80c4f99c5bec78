/* The files of gnn: edges and their weights, classes, splits, features. What all files of rows have
 * is fields_test.c's. */
#include "common/folder.h"
#include "ending.h"
#include "fail.h"
#include "gnn/features.h"
#include "gnn/labels.h"
#include "gnn/network.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define GRAPH_BANNER "%%MatrixMarket matrix coordinate pattern symmetric\n"

static void load_graph(struct network *n, const char *text, bool is_weighted)
{
    network_init(n);
    n->is_weighted = is_weighted;
    network_load(n, folder_file(text, 0));
}

static uint32_t node_of(const struct network *n, const char *name)
{
    return names_find(&n->names, name, strlen(name));
}

/* The weight of an edge; 0: it is not there. */
static float weight_of(const struct network *n, uint32_t from, uint32_t to)
{
    for (uint64_t i = n->start[from]; i < n->start[from + 1]; i++)
        if (n->neighbour[i] == to) return network_weight(n, i);
    return 0;
}

/* ---- edges ---- */

/* The same graph in all of them. */
TEST(gnn_files, edges_of_all_forms_are_read)
{
    static const struct {
        const char *text;
        bool has_more;
    } cases[] = {
        {"0\t1\n1\t2\n2\t0\n3\t0\n", false},
        {"id_1,id_2\r\n0,1\r\n1,2\r\n2,0\r\n3,0\r\n", false},
        {"# from elsewhere\n0 1\n1  2\n\n2 0 \n0 3\n1 0\n3 3\n \n%\n", false},
        {"0 1 {'weight': 3, 'kind': \"a, b\"}\n1 2 {}\n2 0 {'weight': 1}\n0 3 {}\n", true},
        {"edge\tfrom_id\tto_id\n5\t0\t1\n6\t1\t2\n7\t2\t0\n8\t0\t3\n", true},
        {"%%MatrixMarket matrix coordinate real general\n%\n4 4 6\n1 2 1\n2 1 1.0\n2 3 0.5\n4 2 0\n"
         "1 4 1\n3 1 1\n\n",
         true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLOSED_BY(network_fini) struct network n;
        bool is_matrix = strncmp(cases[i].text, "%%Matrix", 8) == 0;
        load_graph(&n, cases[i].text, false);
        network_finish(&n);
        uint32_t at[4];
        char name[] = "0";
        name[0] += is_matrix; /* which begins with 1 */
        for (int k = 0; k < 4; k++, name[0]++) at[k] = node_of(&n, name);
        bool is_same = n.nodes == 4 && network_edges(&n) == 4 && network_degree(&n, at[0]) == 3 &&
                       weight_of(&n, at[1], at[2]) == 1 && weight_of(&n, at[3], at[0]) == 1 &&
                       weight_of(&n, at[3], at[3]) == 0 && weight_of(&n, at[1], at[3]) == 0;
        if (!is_same || n.has_more != cases[i].has_more)
            test_fail(__FILE__, __LINE__, "other edges: %s", cases[i].text);
    }
}

TEST(gnn_files, weights_of_all_forms_are_read)
{
    static const char *const texts[] = {
        "n0 n1 0.5\nn1 n2 2\nn2 n0 4\n",
        "source,target,weight\nn0,n1,0.5\nn1,n2,2\nn2,n1,2\nn0,n2,4\nn0,n0,7\n",
        "kind\tweight\tfrom\tto\na\t0.5\tn0\tn1\nb\t2\tn1\tn2\nb\t4\tn2\tn0\n",
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n2 1 0.5\n3 1 4\n3 2 2\n1 1 9\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CLOSED_BY(network_fini) struct network n;
        load_graph(&n, texts[i], true);
        network_finish(&n);
        if (weight_of(&n, 0, 1) != 0.5F || weight_of(&n, 2, 1) != 2 || weight_of(&n, 0, 2) != 4 ||
            weight_of(&n, 0, 0) != 0)
            test_fail(__FILE__, __LINE__, "other weights: %s", texts[i]);
    }
}

static void read_edges(const void *text)
{
    CLOSED_BY(network_finish) struct network n;
    load_graph(&n, text, false);
}

TEST(gnn_files, wrong_edges_are_refused_with_file_and_line)
{
    static const char *const cases[][2] = {
        {"0 1\n1\n", "file:2: has 1 field"},
        {"0,1\n1,2\n2,NA\n", "file:3: the node is missing"},
        {GRAPH_BANNER "900000000 900000000 1\n1 2\n", "file:2: has 900000000 rows, and only 1"},
        /* which nodes an edge has cannot be told */
        {"0 1 2\n1 2\n2 3 0\n3 0\n", "as lists of neighbours have"},
        {"0,5,7\n1,7,9\n2,9,5\n3,5,9\n", "has numbers of its rows in its first column, and nodes"},
        {"ann likes bob\nbob likes kim\nkim hates ann\n",
         "has no node of its first column in its"}};
    ENDS_EACH(read_edges, 1, cases);
}

static void read_weighted(const void *text)
{
    CLOSED_BY(network_finish) struct network n;
    load_graph(&n, text, true);
}

TEST(gnn_files, weights_that_are_none_are_refused)
{
    static const char *const cases[][2] = {
        {"a b 1\nb c 0\n", ":2: its weight, 0, must be from 1e-9"},
        {"a b\nb c\n", "has no column of weights behind the nodes"},
        {GRAPH_BANNER "2 2 1\n1 2\n", "coordinate"},
        {"a b 1\nb c 2\nb a 3\n", "the edge between a and b has two weights, 1 and 3"}};
    ENDS_EACH(read_weighted, 1, cases);
}

/* ---- classes ---- */

/* A path of four nodes, from 0 on, from 1, and as a matrix, whose rows are numbered from 1. */
static const char path_edges[] = "0 1\n1 2\n2 3\n", from_1[] = "1 2\n2 3\n3 4\n",
                  matrix[] = GRAPH_BANNER "4 4 3\n2 1\n3 2\n4 3\n", named[] = "n0 n1\nn1 n2\n";

static void load_classes(struct network *n, struct labels *l, const char *edges,
                         const char *classes)
{
    load_graph(n, edges, false);
    labels_init(l);
    labels_load(l, n, folder_file(classes, 0));
}

/* a, b, a, none, and b of node 4, which has no edges; of the matrix a, a, none, b. */
TEST(gnn_files, classes_of_all_forms_are_read)
{
    static const struct {
        const char *edges, *text;
    } cases[] = {
        {path_edges, "# of LIBSVM\na 1:1\nb # none\r\na 2:1\n# more\n-1\nb 1:1\n\n"},
        {path_edges, "# classes\nclass\na\nb\na\n  \nb \n\n\n"},
        {path_edges, "id,page,class\n2,\"x, y\",a\n1,z,b\n0,,a\n4,v,b\n3,w,-1\n"},
        {path_edges, "# exported\n\nnode,class\n0,a\n1,b\n4,b\n2,a\n3,\n"},
        {path_edges, "node,split,label\n0,train,a\n1,none,b\n4,test,b\n2,train,a\n3,train,-1.0\n"},
        {matrix, "1,a\n4,b\n2,a\n"},
        {matrix, "a\na\n\nb\n"},
        {matrix, "a 1:1\na 1:1\n-1 1:1\nb 1:1\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLOSED_BY(network_fini) struct network n;
        CLOSED_BY(labels_fini) struct labels l;
        bool is_matrix = cases[i].edges == matrix;
        load_classes(&n, &l, cases[i].edges, cases[i].text);
        network_finish(&n);
        char found[6] = "";
        for (uint32_t v = 0; v < n.nodes && v < 5; v++)
            found[v] = l.class_of[v] == LABELS_NONE ? '-' : *names_get(&l.names, l.class_of[v]);
        if (strcmp(found, is_matrix ? "aa-b" : "aba-b") != 0 || n.nodes != (is_matrix ? 4 : 5) ||
            n.added != (is_matrix ? 0 : 1))
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].text, found);
    }
}

static void read_classes(const void *texts)
{
    const char *const *text = texts;
    struct network n;
    struct labels l;
    load_classes(&n, &l, text[0], text[1]);
}

TEST(gnn_files, wrong_classes_are_refused_with_file_and_line)
{
    static const char *const cases[][3] = {
        {path_edges, "0,a\n1,b\n0,b\n", "file:3: a node has two classes"},
        {path_edges, "a\na\na\na\n", "has 1 class: must have two at least; -1 is none"},
        {path_edges, "0,1,0\n1,0,1\n2,1,0\n", "has nothing but 0 and 1 behind the nodes"},
        /* which nodes lines are about cannot be told */
        {from_1, "a\nb\na\nb\n", "the graph has no node 0: if its nodes begin with 1"},
        {named, "a\nb\na\n", "and the graph has others: \"n0\""},
        {path_edges, "1,a\n2,b\n3,a\n4,b\n", "numbers nodes from 1 to 4, and the graph from 0 to"},
        {path_edges, "\na\nb\na\nb\n", "file:2: stands behind a blank line"},
        {matrix, "1,a\n4,b\n5,b\n", "file:3: there is no node \"5\" in the graph"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ends_with(read_classes, cases[i], 1, cases[i][2]);
}

/* Node 4, which has a class, has no edges; 3 has no class. */
static void read_split(const void *text)
{
    struct network n;
    struct labels l;
    load_classes(&n, &l, path_edges, "a\nb\na\n-1\nb\n");
    network_finish(&n);
    labels_split_by_file(&l, &n, folder_file(text, 0));
    for (int p = 0; p < LABELS_PURPOSES; p++)
        for (uint32_t i = 0; i < l.count[p]; i++)
            printf("%s%s", names_get(&n.names, l.list[p][i]), i + 1 < l.count[p] ? "," : ";");
    fflush(stdout);
}

TEST(gnn_files, splits_say_one_thing_of_each_node)
{
    static const char *const right[][2] = {
        {"test\nTrain\nvalid\ntrain\ntest\n", "1;2;0,4;"},
        {"node,label,split\n0,a,train\n1,b,train\n2,a,val\n4,b,test\n", "0,1;2;4;"},
        {"train\nnone\nval\n-1\ntest\n", "0;2;4;"}};
    static const char *const wrong[][2] = {
        {"train\ndev\ntest\ntrain\ntest\n", "file:2: \"dev\" is no purpose"},
        {"0,train\n1,test\n0,test\n", "file:3: a node has two purposes"}};
    ENDS_EACH(read_split, 0, right);
    ENDS_EACH(read_split, 1, wrong);
}

/* ---- features ---- */

/* A large number is no size: features are numbered anew, and named. */
TEST(gnn_files, features_belong_to_the_nodes_of_their_lines)
{
    CLOSED_BY(network_fini) struct network n;
    CLOSED_BY(features_fini) struct features f;
    CLOSED_BY(features_fini) struct features large;
    load_graph(&n, "2 1\n1 0\n", false);
    network_finish(&n);
    features_load(&f, &n, folder_file("# f\nx 1:1 5:3 # node\r\n%\ny\t# none\nz 2:-2\n\n", 0));
    uint64_t zero = f.start[node_of(&n, "0")], two = f.start[node_of(&n, "2")];
    CHECK(f.count == 6 && f.start[3] == 3);
    CHECK_EQ(f.start[node_of(&n, "1") + 1] - f.start[node_of(&n, "1")], 0);
    CHECK(f.index[zero + 1] == 5 && f.value[zero + 1] == 0.75F);
    CHECK(f.index[two] == 2 && f.value[two] == -1);
    features_load(&large, &n, folder_file("x 0:1 20000000:1\ny 1000000000:3\nz\n", 0));
    CHECK_EQ(large.count, 3);
    CHECK_EQ(large.index[large.start[node_of(&n, "1")]], 2);
    CHECK_STR(names_get(&large.names, 2), "1000000000");
}

static void read_features(const void *text)
{
    struct network n;
    struct features f;
    load_graph(&n, "0 1\n", false);
    network_finish(&n);
    features_load(&f, &n, folder_file(text, 0));
}

TEST(gnn_files, wrong_features_are_refused_with_file_and_line)
{
    static const char *const cases[][2] = {
        {"a 1:1\nb 2\n", "file:2: \"2\" is no feature"},
        {"a 1:nan\n", "file:1: \"nan\" is no value"},
        {"a 1:1\n", "has 1 lines, for the nodes from 0 on, and the graph has node 1"},
        {"a 1:1\n\nb 1:1\n", "file:3: stands behind a blank line, which may be for a node or not"}};
    ENDS_EACH(read_features, 1, cases);
}
