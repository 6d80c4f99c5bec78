/*
 * owner_test.c - AdaPM's figures of what the manager decides, as timelines: intents in, owner
 * and replicas out.
 *
 * A column is a moment, a row a node. What workers do:
 *
 *     s  signals the next intent of its row      -  the lookahead: the shard acts from here on
 *     #  the intent is active                    p  as '.', the worker pushes 1 (P: as '#', pushes)
 *     K  signals one that never ends             U  takes it back
 *
 * What must result at that moment, when everything said has arrived:
 *
 *     O  the main copy is here      r  a replica is here      .  neither
 *
 * The key's home, where the main copy is at first, is node 0. A column is 20 clocks and the
 * lookahead of the first rounds 39 (pacer.h), so that the action lookahead is the one column
 * before the start. "talk" names two nodes and marks the moments at which any frame went from one
 * to the other.
 */
#include "world.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 4, COLUMNS_MAX = 64, CLOCKS_A_COLUMN = 20, CAPACITY = 64, TALKS_MAX = 6 };

struct timeline {
    const char *name;
    enum locus_technique technique;
    struct {
        const char *intent, *result;
    } node[NODES];
    struct {
        unsigned a, b;
        const char *when;
    } talk[TALKS_MAX];
    unsigned relocations, replicas; /* in all */
};

struct stage {
    const struct timeline *t;
    struct world *world;
    struct intent_stream *stream[NODES];
    locus_key key;
    float sum;
    bool talked[NODES][NODES];
    struct call push[NODES]; /* a worker's, for when the row is not here */
};

static bool is_active(char c)
{
    return c == '#' || c == 'P';
}

/* ---- what workers do ---- */

static void signal_at(struct stage *s, unsigned node, int column, locus_clock end, bool waits)
{
    locus_clock start = (locus_clock)column * CLOCKS_A_COLUMN;
    s->world->node[node].waiting_keys += waits;
    stream_begin(s->stream[node], start, end, start - waits, 0);
    CHECK_EQ(stream_write(s->stream[node], world_ref(s->world, node, s->key).index), 0);
    stream_publish(s->stream[node]);
}

static void signal_next(struct stage *s, unsigned node, int column)
{
    const char *row = s->t->node[node].intent;
    int start = column, end;
    while (row[start] && !is_active(row[start])) start++;
    CHECK(row[start]); /* an 's' that no intent follows */
    for (end = start; is_active(row[end]);) end++;
    /* The figure shows when the shard acts: it must be drawn where it is. */
    for (int i = column + 1; i < start; i++) CHECK_EQ(row[i] == '-', i == start - 1);
    signal_at(s, node, start, (locus_clock)end * CLOCKS_A_COLUMN, true);
}

static void push_one(struct stage *s, unsigned node)
{
    s->sum++;
    if (row_add(world_ref(s->world, node, s->key), world_ones) < 0)
        world_ask(s->world, &s->push[node], node, node, REQUEST_PUSH, s->key, 1);
}

static void act(struct stage *s, int column)
{
    for (unsigned node = 0; node < NODES; node++) {
        char c = s->t->node[node].intent[column];
        s->world->node[node].clock[0] = (locus_clock)column * CLOCKS_A_COLUMN;
        if (c == 's') signal_next(s, node, column);
        if (c == 'K') signal_at(s, node, column, LOCUS_FOREVER, false);
        if (c == 'U') signal_at(s, node, column, INTENT_TAKES_BACK, false);
    }
    for (unsigned node = 0; node < NODES; node++)
        if (strchr("pP", s->t->node[node].intent[column])) push_one(s, node);
}

/* ---- what results ---- */

static void note_talk(struct stage *s)
{
    for (unsigned a = 0; a < NODES; a++)
        for (unsigned b = 0; b < NODES; b++)
            if (s->world->link[a][b].count > 0) s->talked[a][b] = s->talked[b][a] = true;
}

static void deliver_one(struct world *w)
{
    const char *why;
    while (
        !world_deliver(w, (unsigned)world_random(w, NODES), (unsigned)world_random(w, NODES), &why))
        continue;
    if (why) test_fail(__FILE__, __LINE__, "a frame was refused: %s", why);
}

static void quiesce(struct stage *s)
{
    memset(s->talked, 0, sizeof s->talked);
    for (int quiet = 0; quiet < 3; quiet++) {
        s->world->now_ns += PACER_CLOCKS_NS_MAX; /* a pause; who writes is refreshed after two */
        for (unsigned i = 0; i < NODES; i++) world_turn(s->world, i);
        for (; !world_is_quiet(s->world); quiet = -1) {
            note_talk(s);
            deliver_one(s->world);
        }
    }
}

static char place(struct stage *s, unsigned node)
{
    struct location l = world_known(s->world, node, s->key);
    return l.is_here ? 'O' : l.is_replica ? 'r' : '.';
}

/* Every copy has what everybody pushed. */
static void check_copies(struct stage *s)
{
    float row[CAPACITY] = {0}; /* the compiler cannot know that it is enough */
    for (unsigned node = 0; node < NODES; node++) {
        if (place(s, node) == '.') continue;
        CHECK(row_read(world_ref(s->world, node, s->key), row) >= 0);
        CHECK(row[0] == s->sum && row[WORLD_LENGTH - 1] == s->sum);
    }
}

/* What was found so far, to be put beside what was expected. */
struct drawing {
    char result[NODES][COLUMNS_MAX + 1];
    char talk[TALKS_MAX][COLUMNS_MAX + 1];
};

static void check_drawing(const struct timeline *t, const struct drawing *d)
{
    for (unsigned node = 0; node < NODES; node++)
        if (strcmp(d->result[node], t->node[node].result) != 0)
            test_fail(__FILE__, __LINE__,
                      "%s: node %u\n  intent    %s\n  expected  %s\n  found     %s", t->name, node,
                      t->node[node].intent, t->node[node].result, d->result[node]);
    for (int i = 0; i < TALKS_MAX && t->talk[i].when; i++)
        if (strcmp(d->talk[i], t->talk[i].when) != 0)
            test_fail(__FILE__, __LINE__,
                      "%s: talk of nodes %u and %u\n  expected  %s\n  found     %s", t->name,
                      t->talk[i].a, t->talk[i].b, t->talk[i].when, d->talk[i]);
}

static void draw(struct stage *s, struct drawing *d, int column)
{
    for (unsigned node = 0; node < NODES; node++) d->result[node][column] = place(s, node);
    for (int i = 0; i < TALKS_MAX && s->t->talk[i].when; i++)
        d->talk[i][column] = s->talked[s->t->talk[i].a][s->t->talk[i].b] ? '*' : '.';
}

static void check_counters(const struct stage *s)
{
    struct shard_counters sum = {0};
    for (unsigned node = 0; node < NODES; node++)
        shard_add_counters(&s->world->node[node].shard, &sum);
    if (sum.relocated_in != s->t->relocations || sum.relocated_out != s->t->relocations ||
        sum.replicas_created != s->t->replicas)
        test_fail(__FILE__, __LINE__, "%s: %d relocations, %d replicas", s->t->name,
                  (int)sum.relocated_in, (int)sum.replicas_created);
}

static void play(const struct timeline *t)
{
    static struct stage s;
    static struct drawing d;
    int columns = (int)strlen(t->node[0].intent);
    CHECK(columns <= COLUMNS_MAX);
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    s.t = t;
    s.world = world_new(t->technique, NODES);
    s.key = world_key(s.world, 0);
    for (unsigned node = 0; node < NODES; node++) {
        s.stream[node] = intents_open_stream(s.world->node[node].shard.intents, 0);
        CHECK_EQ(strlen(t->node[node].intent), columns);
        CHECK_EQ(strlen(t->node[node].result), columns);
    }
    for (int column = 0; column < columns; column++) {
        act(&s, column);
        quiesce(&s);
        draw(&s, &d, column);
        check_copies(&s);
    }
    check_drawing(t, &d);
    check_counters(&s);
    for (unsigned node = 0; node < NODES; node++) stream_close(s.stream[node], true);
    quiesce(&s);
    world_free(&s.world);
}

static const struct timeline timelines[] = {
    /* ---- Figure 4: the decision, by example ---- */
    /* Two nodes, one after the other: the row goes to whoever wants it, and stays there until
     * somebody else does. */
    {.name = "figure 4b intents that do not overlap",
     .node = {{"....................", "OO.................."},
              {"s.-###P.............", "..OOOOOOOOO........."},
              {"....................", "...................."},
              {"s..........-####....", "...........OOOOOOOOO"}},
     .relocations = 2},
    /* To the first, a replica at the second while both want it, then to the second. */
    {.name = "figure 4c intents that overlap partially",
     .node = {{"....................", "OO.................."},
              {"s.-###P###..........", "..OOOOOOOO.........."},
              {"....................", "...................."},
              {"s.....-#P#####P#....", "......rrrrOOOOOOOOOO"}},
     .relocations = 2,
     .replicas = 1},
    /* A hot row reference: replicas exactly where and while there is intent; the row moves
     * whenever one node alone has it. */
    {.name = "figure 4d many intents at a time",
     .node = {{".....s-##P#...........s-###...", "O.....rrrrr............rrrr..."},
              {"s-#P###.....s-###.............", ".OOOOOOOOOO..rOOOO............"},
              {".s..-##P##.......s-#######....", "....rrrrrr........OOOOOOOOO..."},
              {"..s-##.s.-##P#.........s-####.", "...rrr...rrOOO..........rrrOOO"}},
     .relocations = 5,
     .replicas = 7},
    /* ---- Figure 10: who takes part ---- */
    /* Responsibility moves with the row. After it has come to node 2, its home is not asked any
     * more: neither while node 2 signals again, nor when node 3, which has learned from its
     * first request where the row is, comes and goes. */
    {.name = "figure 10b the home is not involved",
     .node = {{"................................", "OO.............................."},
              {"................................", "................................"},
              {"s.-####..s.-###################.", "..OOOOOOOOOOOOOOOOOOOOOOOOOOOOOO"},
              {".............s.-#P##...s.-#P##..", "...............rrrrr.....rrrrr.."}},
     .talk = {{0, 2, "..*............*................"},
              {0, 3, "...............*................"},
              {0, 1, "................................"},
              {1, 2, "................................"},
              {2, 3, "...............*.*..*....*.*..*."}},
     .relocations = 1,
     .replicas = 2},
    /* ---- Figure 11: when the owner's intent ends ---- */
    /* While two others hold replicas the row stays with its owner, wanted there or not; it
     * moves to the last one. */
    {.name = "figure 11a relocated only to the only one",
     .node = {{"..........................", "O........................."},
              {"s-####P...................", ".OOOOOOOOOOOO............."},
              {"..s-########P..s-###......", "...rrrrrrrrrr...rrrr......"},
              {"....s-#P####P#####P####P..", ".....rrrrrrrrOOOOOOOOOOOOO"}},
     .relocations = 2,
     .replicas = 3},
    /* ---- beyond the figures; what else must hold of who keeps and who comes back: exhaustive ---- */
    /* Signaled when it is already time: acted on at once. Accesses without intent go to the
     * owner, and change nothing. */
    {.name = "late signals and accesses without intent",
     .node = {{"..............", "O............."},
              {".s##P#........", ".OOOOOOOOOOOOO"},
              {"...p...p.....p", ".............."},
              {".....p........", ".............."}},
     .relocations = 1},
    /* ---- the other techniques, on the hot row reference ---- */
    {.name = "with replication alone the row stays at home",
     .technique = LOCUS_REPLICATE,
     .node = {{".....s-##P#...........s-###...", "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOO"},
              {"s-#P###.....s-###.............", ".rrrrrr......rrrr............."},
              {".s..-##P##.......s-#######....", "....rrrrrr........rrrrrrrr...."},
              {"..s-##.s.-##P#.........s-####.", "...rrr...rrrrr..........rrrrr."}},
     .replicas = 7},
    {.name = "with relocation alone the row goes to the latest intent",
     .technique = LOCUS_RELOCATE,
     .node = {{".....s-##P#...........s-###...", "O.....OOO..............O......"},
              {"s-#P###.....s-###.............", ".OO..........OOOOO............"},
              {".s..-##P##.......s-#######....", "....OO............OOOOO......."},
              {"..s-##.s.-##P#.........s-####.", "...O.....OOOO...........OOOOOO"}},
     .relocations = 9},
    /* ---- for ever: NuPS, Section 3.2 ---- */
    /* Who keeps a key has a replica until it takes that back; the row never moves for it, nor
     * for another's intent meanwhile. */
    {.name = "a kept row stays where it is",
     .node = {{"...p.........p..........", "OOOOOOOOOOOOOOOOOO......"},
              {".K..p........U..........", ".rrrrrrrrrrrr..........."},
              {"....s.-#P##.............", "......rrrrr............."},
              {"................s.-##P..", "..................OOOOOO"}},
     .relocations = 1,
     .replicas = 2},
};

/* Whatever else the technique does. */
static const struct timeline all_keep = {.name = "a row that all keep is replicated on all",
                                         .node = {{"..K..p..", "OOOOOOOO"},
                                                  {".K..p...", ".rrrrrrr"},
                                                  {".K...p.p", ".rrrrrrr"},
                                                  {"..Kp.p..", "..rrrrrr"}},
                                         .replicas = 3};

TEST(owner, decides_as_the_timelines_show)
{
    static const enum locus_technique keeping[] = {LOCUS_ADAPTIVE, LOCUS_REPLICATE, LOCUS_RELOCATE};
    for (size_t i = 0; i < sizeof timelines / sizeof *timelines; i++) play(&timelines[i]);
    for (size_t i = 0; i < sizeof keeping / sizeof *keeping; i++) {
        struct timeline t = all_keep;
        t.technique = keeping[i];
        play(&t);
    }
}
