#include "checkpoint.h"

#include "base/sync.h"
#include "checkpoint/series.h"
#include "common/memory_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 14 };

struct counts counts;

/* One row's update, whose buffer stays until it is done. */
struct change {
    locus_key key;
    float row[LENGTH_MAX];
};

static struct {
    struct tables tables;
    struct dice dice;
    unsigned rounds;
    bool restores[ROUNDS_MAX], has_fault[ROUNDS_MAX]; /* what a round ends with */
    bool is_set[KEYS_MAX]; /* by one worker; all others are added to, by anyone */
    struct picture now, kept[ROUNDS_MAX];
    /* Of the call that ends a round: the first result, which is everybody's. */
    unsigned round, returned;
    int result;
    /* Of a later cluster. */
    struct found found;
    int found_as;
} story;

static void must_work(const struct member *m, int rc, const char *what)
{
    MUST(rc == 0, "worker %u, round %u: %s: %d, %s", m->number, story.round, what, rc,
         locus_error());
}

/* ---- rows ---- */

void story_draw_tables(struct tables *t, struct dice *d)
{
    static const char *const names[TABLES_MAX] = {"one", "two", "three"};
    *t = (struct tables){.count = 1 + dice_below(d, TABLES_MAX)};
    for (unsigned i = 0; i < t->count; i++) {
        unsigned rows = 1 + dice_below(d, KEYS_MAX / TABLES_MAX);
        uint32_t length = 1 + dice_below(d, LENGTH_MAX);
        t->table[i] = (struct locus_table){.name = names[i], .rows = rows, .length = length};
        for (unsigned r = 0; r < rows; r++) t->length[t->keys++] = length;
    }
}

static void draw_shape(struct shape *s, struct dice *d)
{
    *s = (struct shape){.nodes = 1 + dice_below(d, 4),
                        .workers = 1 + dice_below(d, 2),
                        .shards = 1 + dice_below(d, 2),
                        .technique = (enum locus_technique)dice_below(d, 5),
                        .acts_immediately = dice_below(d, 4) == 0};
}

/* All rows, as this worker sees them. */
static void look(struct member *m, struct picture *p)
{
    memset(p, 0, sizeof *p);
    for (locus_key key = 0; key < story.tables.keys; key++)
        must_work(m, locus_pull(m->worker, &key, 1, p->row[key]), "a pull");
}

static bool is_equal(const struct picture *a, const struct picture *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void compare(struct member *m, const struct picture *right, const char *when)
{
    struct picture seen;
    look(m, &seen);
    for (unsigned k = 0; k < story.tables.keys; k++)
        for (unsigned i = 0; i < story.tables.length[k]; i++)
            MUST(memcmp(&seen.row[k][i], &right->row[k][i], sizeof(float)) == 0,
                 "worker %u, %s (%d), round %u: row %u has %g at %u, not %g", m->number, when,
                 story.result, story.round, k, (double)seen.row[k][i], i, (double)right->row[k][i]);
}

/* ---- a round ---- */

/* False: it is another worker's to set. */
static bool begin_change(struct member *m, struct change *c)
{
    c->key = dice_below(&m->dice, story.tables.keys);
    if (story.is_set[c->key] && c->key % m->total != m->number) return false;
    for (unsigned i = 0; i < story.tables.length[c->key]; i++) {
        float by = (float)(1 + dice_below(&m->dice, 9));
        float *now = &story.now.row[c->key][i];
        c->row[i] = by;
        *now = story.is_set[c->key] ? by : *now + by;
    }
    return true;
}

/* What is under way when the round ends the checkpoint waits for. */
static void change(struct member *m, struct change *c)
{
    locus_ticket ticket;
    bool waits = dice_below(&m->dice, 2);
    if (!begin_change(m, c)) return;
    int rc;
    if (story.is_set[c->key]) {
        /* Sets of one row keep no order among each other while they are under way. */
        rc = locus_wait_all(m->worker);
        if (rc == 0)
            rc = waits ? locus_set(m->worker, &c->key, 1, c->row)
                       : locus_set_async(m->worker, &c->key, 1, c->row, &ticket);
    } else {
        rc = waits ? locus_push(m->worker, &c->key, 1, c->row)
                   : locus_push_async(m->worker, &c->key, 1, c->row, &ticket);
    }
    must_work(m, rc, "a change");
}

static void want(struct member *m)
{
    locus_key key = dice_below(&m->dice, story.tables.keys);
    locus_clock start = locus_current_clock(m->worker) + dice_below(&m->dice, 2);
    locus_clock end = start + 1 + dice_below(&m->dice, 3);
    must_work(m, locus_intent(m->worker, &key, 1, start, end), "an intent");
}

static void act(struct member *m, struct change *changes, unsigned *used)
{
    float row[LENGTH_MAX];
    locus_key key = dice_below(&m->dice, story.tables.keys);
    switch (dice_below(&m->dice, 8)) {
    case 0:
    case 1:
    case 2: change(m, &changes[(*used)++]); break;
    case 3:
    case 4: want(m); break;
    case 5: locus_advance_clock(m->worker); break;
    case 6: must_work(m, locus_pull(m->worker, &key, 1, row), "a pull"); break;
    default: must_work(m, locus_localize(m->worker, &key, 1), "a localize");
    }
}

/* All workers have the same result. */
static void hear(struct member *m, int rc)
{
    if (story.returned++ == 0) story.result = rc;
    MUST(rc == story.result, "worker %u: %d, another one had %d", m->number, rc, story.result);
    int met = faults_met();
    MUST(rc == 0 || (met && rc == met), "worker %u, round %u: %d, a fault: %d: %s", m->number,
         story.round, rc, met, locus_error());
}

static void meet(struct member *m)
{
    must_work(m, locus_barrier(m->worker), "a barrier");
}

/* By the first worker, while the others are at a barrier. */
static void end_round(bool is_restore)
{
    unsigned round = story.round;
    counts.failed += story.result != 0;
    if (is_restore) {
        counts.restores++;
        if (story.result == 0) story.now = story.kept[story_old];
    } else {
        counts.checkpoints++;
        if (story.result == 0) story_old = (int)round;
        story_new = -1;
    }
}

static void checkpoint(struct member *m)
{
    /* The last one who comes has it as it will be. */
    story.kept[story.round] = story.now;
    story_new = (int)story.round;
    m->is_in_call = true;
    hear(m, locus_checkpoint(m->worker, FOLDER));
    m->is_in_call = false;
    meet(m);
    if (m->number == 0) end_round(false);
    /* One that failed did not wait for copies. */
    if (story.result) must_work(m, locus_quiesce(m->worker), "a quiesce");
    compare(m, &story.now, "behind a checkpoint");
}

/* One that failed while it set rows is done again. */
static void restore(struct member *m)
{
    m->is_in_call = true;
    hear(m, locus_restore(m->worker, FOLDER));
    m->is_in_call = false;
    meet(m);
    if (story.result) {
        if (m->number == 0) faults_arm(false), story.returned = 0;
        meet(m);
        hear(m, locus_restore(m->worker, FOLDER));
        meet(m);
    }
    if (m->number == 0) end_round(true);
    meet(m);
    compare(m, &story.now, "behind a restore");
}

static void begin_round(unsigned round)
{
    story.round = round;
    story.returned = 0;
    faults_arm(story.has_fault[round]);
}

/* The first worker says what is right; nobody changes anything then. */
static void work(struct member *m)
{
    struct change changes[STEPS];
    for (unsigned round = 0; round < story.rounds; round++) {
        unsigned used = 0;
        if (m->number == 0) begin_round(round);
        meet(m);
        for (unsigned i = dice_below(&m->dice, STEPS); i > 0; i--) act(m, changes, &used);
        locus_fiber_yield();
        bool is_restore = story.restores[round] && story_old >= 0;
        if (is_restore)
            restore(m);
        else
            checkpoint(m);
        meet(m);
    }
    must_work(m, locus_wait_all(m->worker), "a wait for all");
}

/* ---- what is found later ---- */

static void find_picture(struct member *m, int rc)
{
    const struct found *f = &story.found;
    struct picture seen;
    if (rc == -ENOENT) {
        MUST(f->old < 0, "checkpoint %d is not there any more", f->old);
        if (m->number == 0) story.now = (struct picture){0};
        return;
    }
    MUST(rc == 0, "worker %u: checkpoint %d or %d cannot be restored: %d, %s", m->number, f->old,
         f->new, rc, locus_error());
    look(m, &seen);
    bool is_old = f->old >= 0 && is_equal(&seen, &story.kept[f->old]);
    bool is_new = f->new >= 0 && is_equal(&seen, &story.kept[f->new]);
    MUST(is_old || is_new, "worker %u: what was restored is neither checkpoint %d nor %d",
         m->number, f->old, f->new);
    if (m->number != 0) return;
    story.now = seen;
    counts.of_the_new += is_new && !is_old;
    counts.of_the_old += is_old;
}

/* Other nodes, as many as may be; and one more checkpoint, which nothing that was left is in the
 * way of. */
static void find(struct member *m)
{
    locus_key key = 0;
    float more[LENGTH_MAX];
    char name[SERIES_NAME], newest[SERIES_PATH];
    /* By its name: no older one will do. */
    int rc = series_newest(FOLDER, name);
    if (rc == 0) rc = series_path(newest, FOLDER, name);
    if (rc == 0) rc = locus_restore(m->worker, newest);
    find_picture(m, rc);
    meet(m);
    must_work(m, locus_checkpoint(m->worker, FOLDER), "one more checkpoint");
    for (int i = 0; i < LENGTH_MAX; i++) more[i] = 1;
    must_work(m, locus_push(m->worker, &key, 1, more), "a push");
    must_work(m, locus_restore(m->worker, FOLDER), "restoring it");
    compare(m, &story.now, "in another cluster");
}

/* Behind `find`: the last two checkpoints have the same rows, unless it made the first. */
static void find_changed(struct member *m)
{
    static const struct picture nothing;
    int rc = locus_restore(m->worker, FOLDER);
    if (m->number == 0) counts.changed += faults_has_changed(), counts.told += rc == -EIO;
    MUST(rc == 0 || faults_has_changed(), "worker %u: a restore: %s", m->number, locus_error());
    if (rc == -EIO) {
        MUST(strstr(locus_error(), "rows were being set"), "worker %u: %s", m->number,
             locus_error());
        rc = locus_restore(m->worker, FOLDER);
    } else if (rc == -EBADMSG) {
        compare(m, &nothing, "refused, of a disk that changed");
    }
    MUST(rc == 0 || (rc == -EBADMSG && story.found.old < 0), "worker %u: a disk that changed: %s",
         m->number, locus_error());
    if (rc == 0) compare(m, &story.now, "of a disk that changed");
    meet(m);
}

/* What is damaged when it is opened first is found before any row is set: then an older one is
 * taken, whose rows nobody knows here, or nothing has changed. */
static void find_damaged(struct member *m)
{
    static const struct picture nothing;
    int rc = locus_restore(m->worker, FOLDER);
    MUST(rc == 0 || rc == -EBADMSG, "worker %u: a restore of damaged ones: %d, %s", m->number, rc,
         locus_error());
    if (rc) compare(m, &nothing, "refused, of damaged ones");
    meet(m);
}

/* What the library says of damage nobody reads here. */
static void run_quietly(const struct shape *s, struct dice dice, cluster_work *does)
{
    int saved = dup(STDERR_FILENO), none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    MUST(saved >= 0 && none >= 0 && dup2(none, STDERR_FILENO) >= 0, "no /dev/null");
    close(none);
    cluster_run(&story.tables, s, dice, does);
    MUST(dup2(saved, STDERR_FILENO) >= 0, "no stderr any more");
    close(saved);
}

static void change_one(void)
{
    enum { OPENINGS = 12 };
    struct shape s;
    draw_shape(&s, &story.dice);
    faults_change(1 + dice_below(&story.dice, OPENINGS));
    run_quietly(&s, (struct dice){dice_throw(&story.dice)}, find_changed);
    faults_change(0);
}

/* With dice of its own: the seed goes on as it would without. */
static void damage_two(uint64_t seed)
{
    struct dice dice = {.state = seed * UINT64_C(0x9E3779B97F4A7C15)};
    struct shape s;
    draw_shape(&s, &dice);
    faults_damage(2);
    run_quietly(&s, (struct dice){dice_throw(&dice)}, find_damaged);
    faults_damage(0);
}

static void find_on(struct found f)
{
    struct shape s;
    story.found = f;
    draw_shape(&s, &story.dice);
    if (f.disk) memory_files_take(f.disk);
    cluster_run(&story.tables, &s, (struct dice){dice_throw(&story.dice)}, find);
}

/* ---- a seed ---- */

static void draw_story(uint64_t seed)
{
    memset(&story, 0, sizeof story);
    story.dice.state = seed * UINT64_C(0xD6E8FEB86659FD93);
    story_draw_tables(&story.tables, &story.dice);
    story.rounds = 1 + dice_below(&story.dice, ROUNDS_MAX);
    for (unsigned i = 0; i < story.rounds; i++) {
        story.restores[i] = dice_below(&story.dice, 3) == 0;
        story.has_fault[i] = dice_below(&story.dice, 3) == 0;
    }
    for (unsigned k = 0; k < story.tables.keys; k++)
        story.is_set[k] = dice_below(&story.dice, 3) == 0;
}

void story_run(uint64_t seed)
{
    struct shape s;
    struct found found[FOUND_MAX];
    draw_story(seed);
    draw_shape(&s, &story.dice);
    faults_begin((struct dice){dice_throw(&story.dice)});
    faults_crash(dice_below(&story.dice, FOUND_MAX + 1));
    cluster_run(&story.tables, &s, (struct dice){dice_throw(&story.dice)}, work);
    faults_arm(false);
    unsigned count = faults_found(found);
    counts.crashes += count;
    find_on((struct found){.old = story_old, .new = -1});
    change_one();
    damage_two(seed);
    for (unsigned i = 0; i < count; i++) find_on(found[i]);
    faults_end();
    losses_run(seed);
}
