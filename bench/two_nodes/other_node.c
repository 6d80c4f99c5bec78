/* Node 1: does what node 0 asks. */
#include "bench.h"

#include <string.h>

struct other {
    struct node node;
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
    struct node_figures figures = node_figures(o->node.locus);
    node_process_answer(&figures, sizeof figures);
}

static void answer(struct other *o, const struct node_question *q)
{
    struct background *a = &o->node.background;
    uint64_t number = 0, length = q->numbers[0];
    switch (q->what) {
    case NODE_FIGURES: answer_figures(o); return;
    case NODE_TAKEN: node_process_answer(&o->taken, sizeof o->taken); return;
    case NODE_ACCESS: background_begin(a, o->node.keys[length], o->node.count[length]); break;
    case NODE_REST: background_end(a); break;
    case NODE_ACCESSES: number = background_done(a); break;
    default: break;
    }
    node_process_answer(&number, sizeof number);
    if (q->what == NODE_TAKE) take(o, q);
}

/* The arguments: the rendezvous, the phase, and --quick or nothing. */
int other_node(int argc, char **argv)
{
    static struct other o;
    struct node_question q = {0};
    bool is_quick = argc > 2 && strcmp(argv[2], "--quick") == 0;
    node_open(&o.node, argv[1][0] == '1' ? RELOCATION : ACCESS, is_quick, 1, argv[0]);
    while (q.what != NODE_LEAVE) {
        node_process_question(&q);
        answer(&o, &q);
    }
    node_close(&o.node);
    return 0;
}
