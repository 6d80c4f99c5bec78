#include "cluster/message.h"

#include "net/secret.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct locus_table tables[] = {
    {.name = "entities", .rows = UINT64_C(1) << 40, .length = 128},
    {.rows = 7, .length = 3, .flags = 1},
};

static struct rendezvous_config config(void)
{
    return (struct rendezvous_config){.node = {.rank = 2,
                                               .size = 3,
                                               .tables = tables,
                                               .table_count = 2,
                                               .technique = LOCUS_RELOCATE,
                                               .shards = 5,
                                               .workers = 9,
                                               .join_timeout_s = 60,
                                               .peer_timeout_s = 1e-9},
                                      .data_address = "10.0.0.1:7777"};
}

static struct message *written(const struct rendezvous_config *c)
{
    struct message *m = hello_write(c, 1234);
    CHECK(m != NULL);
    return m;
}

static const unsigned char *body_of(const struct message *m)
{
    return m->data + MESSAGE_HEADER_BYTES;
}

static size_t bytes_of(const struct message *m)
{
    return m->bytes - MESSAGE_HEADER_BYTES;
}

TEST(hello, read_takes_what_write_wrote)
{
    struct rendezvous_config c = config();
    struct secret s;
    struct hello h;
    CHECK_EQ(secret_from_text(&s, "a text", "open sesame", 11), 0);
    c.secret = &s;
    struct message *m = written(&c);
    CHECK(hello_read(&h, body_of(m), bytes_of(m)));
    CHECK(h.rank == 2 && h.size == 3 && h.workers == 9 && h.shards == 5);
    CHECK(h.has_secret);
    CHECK_EQ(h.join_timeout_ms, 60000);
    CHECK_EQ(h.peer_timeout_ms, 1); /* never none */
    CHECK_EQ(h.timeout_ms, 1234);
    CHECK_EQ(strcmp(h.address, "10.0.0.1:7777"), 0);
    message_let_go(m);
}

/* As a peer that breaks off, or is no peer, may send it. */
TEST(hello, read_refuses_what_is_not_whole)
{
    struct rendezvous_config c = config();
    struct message *m = written(&c);
    size_t whole = bytes_of(m);
    for (size_t bytes = 0; bytes <= whole + 1; bytes++) {
        struct hello h;
        /* of its size: a sanitizer sees its end */
        unsigned char *part = calloc(1, bytes ? bytes : 1);
        CHECK(part != NULL);
        memcpy(part, body_of(m), bytes < whole ? bytes : whole);
        CHECK_EQ(hello_read(&h, part, bytes), bytes == whole);
        free(part);
    }
    message_let_go(m);
}

TEST(hello, read_refuses_a_node_that_cannot_be)
{
    static const struct {
        int rank, size;
        unsigned workers, shards;
        const char *address;
    } cases[] = {
        {3, 3, 9, 5, "10.0.0.1:7777"},
        {0, 1, 9, 5, "10.0.0.1:7777"},
        {2, RENDEZVOUS_NODES_MAX + 1, 9, 5, "10.0.0.1:7777"},
        {2, 3, 0, 5, "10.0.0.1:7777"},
        {2, 3, LOCUS_WORKERS_MAX + 1, 5, "10.0.0.1:7777"},
        {2, 3, 9, LOCUS_SHARDS_MAX + 1, "10.0.0.1:7777"},
        {2, 3, 9, 5, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rendezvous_config c = config();
        struct hello h;
        c.node.rank = cases[i].rank;
        c.node.size = cases[i].size;
        c.node.workers = cases[i].workers;
        c.node.shards = cases[i].shards;
        c.data_address = cases[i].address;
        struct message *m = written(&c);
        if (hello_read(&h, body_of(m), bytes_of(m)))
            test_fail(__FILE__, __LINE__, "case %zu is taken for a hello", i);
        message_let_go(m);
    }
}

/* The sentence about two nodes that differ in one thing; "": they do not. */
static void differ(const struct rendezvous_config *theirs, const struct rendezvous_config *ours,
                   const char *part)
{
    char sentence[MESSAGE_TEXT_MAX] = "";
    struct message *one = written(theirs), *other = written(ours);
    struct hello t, o;
    CHECK(hello_read(&t, body_of(one), bytes_of(one)));
    CHECK(hello_read(&o, body_of(other), bytes_of(other)));
    CHECK_EQ(hello_differs(&t, &o, 5, sentence, sizeof sentence), *part != '\0');
    CHECK_STR(sentence, part);
    if (*part) CHECK_STR(sentence, ": all nodes must be configured alike");
    message_let_go(one);
    message_let_go(other);
}

TEST(hello, differs_names_what_must_be_equal)
{
    struct rendezvous_config ours = config(), c = config();
    struct locus_table other[2] = {tables[0], tables[1]};
    ours.node.rank = 0;
    c.node.workers = 1; /* this may differ */
    c.node.shards = 0;  /* any */
    differ(&c, &ours, "");
    c.node.shards = 4;
    differ(&c, &ours, "rank 2 has shards 4, rank 0 has 5");
    c = config();
    c.node.size = 4;
    differ(&c, &ours, "rank 2 has size 4, rank 0 has 3");
    c = config();
    c.node.technique = LOCUS_STATIC;
    differ(&c, &ours, "rank 2 has technique LOCUS_STATIC, rank 0 has LOCUS_RELOCATE");
    c = config();
    c.node.table_count = 1;
    differ(&c, &ours, "rank 2 has table_count 1, rank 0 has 2");
    c = config();
    c.node.tables = other;
    other[0].name = "people";
    differ(&c, &ours, "rank 2 has table 0 named \"people\", rank 0 has \"entities\"");
    other[0] = tables[0], other[1].rows = 8;
    differ(&c, &ours, "rank 2 has rows 8 in table 1 (\"table1\"), rank 0 has 7");
    other[1] = tables[1], other[0].length = 64;
    differ(&c, &ours, "rank 2 has length 64 in table 0 (\"entities\"), rank 0 has 128");
    other[0] = tables[0], other[1].flags = 0;
    differ(&c, &ours, "rank 2 has flags 0 in table 1");
    other[1] = tables[1], other[1].optimizer = LOCUS_ADAM;
    differ(&c, &ours,
           "rank 2 has optimizer LOCUS_ADAM in table 1 (\"table1\"), rank 0 has "
           "LOCUS_NO_OPTIMIZER");
    c = config();
    c.node.survives = 1;
    differ(&c, &ours, "rank 2 has survives 1, rank 0 has 0");
    c = config();
    c.node.fingerprint = UINT64_C(1) << 63;
    differ(&c, &ours, "rank 2 has data and options of fingerprint 8000000000000000, rank 0 has 00");
}
