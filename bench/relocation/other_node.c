/* Node 1: does what node 0 asks. */
#include "bench.h"

#include <string.h>

struct other {
    struct node node;
    bool is_quick;
    struct taken taken;
};

static void take(struct other *o, const struct node_question *q)
{
    struct take t;
    _Static_assert(sizeof t == sizeof q->numbers,
                   "a struct take travels as the numbers of a question");
    memcpy(&t, q->numbers, sizeof t);
    o->taken = take_rows(&o->node, &t, 0, NULL);
}

static void answer_figures(const struct other *o)
{
    struct usage used = {.here = node_figures(o->node.locus),
                         .accesses = accesses_done(&o->node.accesses)};
    node_process_answer(&used, sizeof used);
}

static void answer(struct other *o, const struct node_question *q)
{
    static const uint64_t done = 0;
    struct accesses *a = &o->node.accesses;
    unsigned length = (unsigned)q->numbers[0];
    switch (q->what) {
    case NODE_FIGURES: answer_figures(o); break;
    case NODE_TAKE: node_process_answer(&done, sizeof done), take(o, q); break;
    case NODE_TAKEN: node_process_answer(&o->taken, sizeof o->taken); break;
    case NODE_ACCESS:
        accesses_begin(a, o->node.keys[length], rows_of(o->is_quick, length));
        node_process_answer(&done, sizeof done);
        break;
    case NODE_REST:
        accesses_end(a);
        node_process_answer(&done, sizeof done);
        break;
    default: node_process_answer(&done, sizeof done);
    }
}

/* The arguments: the rendezvous, and --quick or nothing. */
int other_node(int argc, char **argv)
{
    static struct other o;
    struct node_question q = {0};
    o.is_quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    node_open(&o.node, o.is_quick, 1, argv[0]);
    while (q.what != NODE_LEAVE) {
        node_process_question(&q);
        answer(&o, &q);
    }
    node_close(&o.node);
    return 0;
}
