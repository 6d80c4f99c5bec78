#include "checkpoint.h"

#include "base/sync.h"
#include "sim/protocol/joined.h"
#include "sim/protocol/platform.h"

#include <errno.h>
#include <string.h>

/*
 * All write a checkpoint. Then a node is lost while they push, write another one or restore the
 * first: the calls of the others succeed, all have the same rows behind them, and a restore gives
 * what was there. What was lost with the node in between is nobody's to say: where that may be
 * nothing is compared.
 */
enum { STEPS = 12, ENTRIES = 500 };

static struct {
    struct tables tables;
    unsigned victim, after;
    bool writes_another;
    struct picture now; /* as long as nobody was lost */
    struct picture right;
    uint64_t met_ns; /* when the last call was over for all */
    bool is_known;   /* `right` is what is in the newest checkpoint */
} story;

/* False: its node was lost, and has heard of that. */
static bool works(const struct member *m, int rc)
{
    MUST(rc == 0 || (rc == -ECONNRESET && cluster_is_lost(m)), "worker %u: %d, %s", m->number, rc,
         locus_error());
    return rc == 0;
}

static bool push(struct member *m)
{
    float row[LENGTH_MAX];
    locus_key key = dice_below(&m->dice, story.tables.keys);
    for (unsigned i = 0; i < story.tables.length[key]; i++) {
        row[i] = (float)(1 + dice_below(&m->dice, 9));
        story.now.row[key][i] += row[i];
    }
    return works(m, locus_push(m->worker, &key, 1, row));
}

static bool act(struct member *m)
{
    locus_key key = dice_below(&m->dice, story.tables.keys);
    locus_clock now = locus_current_clock(m->worker);
    switch (dice_below(&m->dice, 4)) {
    case 0: return works(m, locus_localize(m->worker, &key, 1));
    case 1: return works(m, locus_intent(m->worker, &key, 1, now, now + 2));
    case 2: locus_advance_clock(m->worker); return true;
    default: return push(m);
    }
}

static bool act_some(struct member *m)
{
    for (unsigned i = dice_below(&m->dice, STEPS); i > 0; i--)
        if (!act(m)) return false;
    return true;
}

static bool look(struct member *m, struct picture *p)
{
    memset(p, 0, sizeof *p);
    for (locus_key key = 0; key < story.tables.keys; key++)
        if (!works(m, locus_pull(m->worker, &key, 1, p->row[key]))) return false;
    return true;
}

static bool meet(struct member *m)
{
    return works(m, locus_barrier(m->worker));
}

/* A node that was lost since the call was over for all has taken something with it. */
static bool was_lost_since(uint64_t ns)
{
    return platform_lost_ns() >= ns;
}

static bool is_equal(const struct picture *a, const struct picture *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Behind a call of all, while nobody writes. The first one says what is there if that is not known. */
static bool compare(struct member *m, const char *behind)
{
    struct picture seen;
    if (!look(m, &seen)) return false;
    bool may_say = !was_lost_since(story.met_ns);
    if (may_say && !story.is_known) story.right = seen;
    if (may_say) story.is_known = true;
    if (may_say && !cluster_is_lost(m)) {
        MUST(is_equal(&seen, &story.right), "worker %u: other rows behind %s", m->number, behind);
        counts.exact += platform_lost_ns() > 0;
    }
    return meet(m);
}

static bool checkpoint(struct member *m)
{
    m->is_in_call = true;
    if (!works(m, locus_checkpoint(m->worker, FOLDER))) return false;
    m->is_in_call = false;
    story.met_ns = joined_met_ns();
    story.is_known = platform_lost_ns() == 0;
    if (story.is_known) story.right = story.now;
    return compare(m, "a checkpoint");
}

static bool restore(struct member *m)
{
    m->is_in_call = true;
    if (!works(m, locus_restore(m->worker, FOLDER))) return false;
    m->is_in_call = false;
    story.met_ns = joined_met_ns();
    return compare(m, "a restore");
}

static void work(struct member *m)
{
    if (!act_some(m) || !checkpoint(m)) return;
    if (m->number == 0) platform_lose(story.victim, story.after);
    if (!act_some(m) || (story.writes_another && !checkpoint(m))) return;
    for (unsigned i = 0; i < 2; i++)
        if (!act_some(m) || !restore(m)) return;
}

void losses_run(uint64_t seed)
{
    static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE,
                                                      LOCUS_REPLICATE};
    struct dice dice = {.state = seed * UINT64_C(0xA0761D6478BD642F)};
    struct shape s = {.nodes = 2 + dice_below(&dice, 3),
                      .workers = 1 + dice_below(&dice, 2),
                      .shards = 1 + dice_below(&dice, 2),
                      .technique = techniques[dice_below(&dice, 3)],
                      .acts_immediately = dice_below(&dice, 4) == 0,
                      .survives = true};
    memset(&story, 0, sizeof story);
    story_draw_tables(&story.tables, &dice);
    story.victim = 1 + dice_below(&dice, s.nodes - 1);
    story.after = dice_below(&dice, ENTRIES);
    story.writes_another = dice_below(&dice, 2);
    faults_begin((struct dice){dice_throw(&dice)});
    cluster_run(&story.tables, &s, dice, work);
    counts.lost += platform_lost_ns() > 0;
    faults_end();
}
