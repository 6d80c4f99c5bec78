/*
 * owner_test.c - AdaPM's figures of what the manager decides, as timelines: intents in, owner
 * and replicas out.
 *
 * A column is a moment, a row a node. What workers do:
 *
 *     s  signals the next intent of its row      -  the lookahead: the shard acts from here on
 *     #  the intent is active                    p  as '.', the worker pushes 1 (P: as '#', pushes)
 *     K  signals one that never ends             U  takes it back (V: as '#', does)
 *
 * What must result at that moment, when everything said has arrived:
 *
 *     O  the main copy is here      r  a replica is here      .  neither
 *
 * The key's home, where the main copy is at first, is node 0. A column is 20 clocks and the
 * lookahead of the first rounds 39 (lookahead.h), so that the action lookahead is the one column
 * before the start. "talk" names two nodes and marks the moments at which any frame went from one
 * to the other.
 */
#include "world.h"

#include "protocol/location.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES = 4,
    COLUMNS_MAX = 64,
    CLOCKS_A_COLUMN = 20,
    KEYS = 64,
    LENGTH = 4,
    CAPACITY = 64,
    TALKS_MAX = 6
};

struct timeline {
    enum locus_technique technique;
    const char *intent[NODES];
    const char *result[NODES];
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
    /* A worker's push, for when the row is not here. */
    struct request request[NODES];
    struct request_item item[NODES];
};

static locus_key key_of_home_0(struct world *w)
{
    locus_key key = 0;
    while (row_ref_home(store_row_ref(&w->node[0].store, key)) != 0) key++;
    return key;
}

static bool is_active(char c)
{
    return c == '#' || c == 'P' || c == 'V';
}

/* ---- what workers do ---- */

static void signal_next(struct stage *s, unsigned node, int column)
{
    const char *row = s->t->intent[node];
    int start = column, end;
    while (row[start] && !is_active(row[start])) start++;
    CHECK(row[start]); /* an 's' that no intent follows */
    for (end = start; is_active(row[end]);) end++;
    /* The figure shows when the shard acts: it must be drawn where it is. */
    for (int i = column + 1; i < start; i++) CHECK_EQ(row[i] == '-', i == start - 1);
    struct world_node *n = &s->world->node[node];
    uint64_t index = keyspace_index(&n->store.keyspace, s->key);
    n->waiting_keys++;
    CHECK_EQ(stream_add(s->stream[node], (locus_clock)start * CLOCKS_A_COLUMN,
                        (locus_clock)end * CLOCKS_A_COLUMN, true, index),
             0);
    stream_publish(s->stream[node]);
}

static void signal_now(struct stage *s, unsigned node, int column, locus_clock end)
{
    const struct world_node *n = &s->world->node[node];
    uint64_t index = keyspace_index(&n->store.keyspace, s->key);
    locus_clock now = (locus_clock)column * CLOCKS_A_COLUMN;
    CHECK_EQ(stream_add(s->stream[node], now, end, false, index), 0);
    stream_publish(s->stream[node]);
}

static void push_one(struct stage *s, unsigned node)
{
    static float ones[LENGTH] = {1, 1, 1, 1};
    struct world_node *n = &s->world->node[node];
    s->sum++;
    if (row_add(store_row_ref(&n->store, s->key), ones) >= 0) return;
    s->item[node] = (struct request_item){.key = s->key, .values = ones};
    world_request(&s->request[node], 0, node, REQUEST_PUSH, &s->item[node], 1);
    CHECK(shard_serve(&n->shard, &s->request[node]));
}

static void act(struct stage *s, int column)
{
    for (unsigned node = 0; node < NODES; node++) {
        char c = s->t->intent[node][column];
        s->world->node[node].clock[0] = (locus_clock)column * CLOCKS_A_COLUMN;
        if (c == 's') signal_next(s, node, column);
        if (c == 'K') signal_now(s, node, column, LOCUS_FOREVER);
        if (c == 'U' || c == 'V') signal_now(s, node, column, INTENT_TAKES_BACK);
    }
    for (unsigned node = 0; node < NODES; node++)
        if (strchr("pP", s->t->intent[node][column])) push_one(s, node);
}

/* ---- what results ---- */

static void note_talk(struct stage *s)
{
    for (unsigned a = 0; a < NODES; a++)
        for (unsigned b = 0; b < NODES; b++)
            if (s->world->link[a][b].count > 0) s->talked[a][b] = s->talked[b][a] = true;
}

static void quiesce(struct stage *s)
{
    memset(s->talked, 0, sizeof s->talked);
    for (int quiet = 0; quiet < 3; quiet++) {
        const char *why;
        s->world->now_ns += PACER_CLOCKS_NS_MAX; /* a pause; who writes is refreshed after two */
        for (unsigned i = 0; i < NODES; i++) shard_turn(&s->world->node[i].shard, s->world->now_ns);
        for (note_talk(s); world_step(s->world, &why); note_talk(s)) {
            if (why) test_fail(__FILE__, __LINE__, "a frame was refused: %s", why);
            quiet = -1;
        }
    }
}

static char place(const struct stage *s, unsigned node)
{
    const struct world_node *n = &s->world->node[node];
    struct location l = location_of(&n->shard, store_row_ref(&n->store, s->key));
    return l.is_here ? 'O' : l.is_replica ? 'r' : '.';
}

/* Every copy has what everybody pushed. */
static void check_copies(const struct stage *s)
{
    float row[CAPACITY] = {0}; /* the compiler cannot know that it is enough */
    for (unsigned node = 0; node < NODES; node++) {
        if (place(s, node) == '.') continue;
        CHECK(row_read(store_row_ref(&s->world->node[node].store, s->key), row) >= 0);
        CHECK(row[0] == s->sum && row[LENGTH - 1] == s->sum);
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
        if (strcmp(d->result[node], t->result[node]) != 0)
            test_fail(__FILE__, __LINE__, "node %u\n  intent    %s\n  expected  %s\n  found     %s",
                      node, t->intent[node], t->result[node], d->result[node]);
    for (int i = 0; i < TALKS_MAX && t->talk[i].when; i++)
        if (strcmp(d->talk[i], t->talk[i].when) != 0)
            test_fail(__FILE__, __LINE__, "talk of nodes %u and %u\n  expected  %s\n  found     %s",
                      t->talk[i].a, t->talk[i].b, t->talk[i].when, d->talk[i]);
}

static void draw(const struct stage *s, struct drawing *d, int column)
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
    CHECK_EQ(sum.relocated_in, s->t->relocations);
    CHECK_EQ(sum.relocated_out, s->t->relocations);
    CHECK_EQ(sum.replicas_created, s->t->replicas);
}

static void play(const struct timeline *t)
{
    static struct stage s;
    static struct drawing d;
    int columns = (int)strlen(t->intent[0]);
    CHECK(columns <= COLUMNS_MAX);
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    s.t = t;
    s.world = world_new_managed(t->technique, NODES, KEYS, LENGTH, 1, 100000, 1);
    s.key = key_of_home_0(s.world);
    for (unsigned node = 0; node < NODES; node++) {
        s.stream[node] = intents_open_stream(s.world->node[node].shard.intents, 0);
        CHECK_EQ(strlen(t->intent[node]), columns);
        CHECK_EQ(strlen(t->result[node]), columns);
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

/* ---- Figure 4: the decision, by example ---- */

/* Two nodes, one after the other: the row goes to whoever wants it, and stays there until somebody
 * else does. */
TEST(owner, figure_4b_intents_that_do_not_overlap)
{
    play(&(struct timeline){.intent = {"....................", "s.-###P.............",
                                       "....................", "s..........-####...."},
                            .result = {"OO..................", "..OOOOOOOOO.........",
                                       "....................", "...........OOOOOOOOO"},
                            .relocations = 2});
}

/* To the first, a replica at the second while both want it, then to the second. */
TEST(owner, figure_4c_intents_that_overlap_partially)
{
    play(&(struct timeline){.intent = {"....................", "s.-###P###..........",
                                       "....................", "s.....-#P#####P#...."},
                            .result = {"OO..................", "..OOOOOOOO..........",
                                       "....................", "......rrrrOOOOOOOOOO"},
                            .relocations = 2,
                            .replicas = 1});
}

static const char *const hot_spot[NODES] = {
    ".....s-##P#...........s-###...", /* node 0, */
    "s-#P###.....s-###.............", /* 1, */
    ".s..-##P##.......s-#######....", /* 2, */
    "..s-##.s.-##P#.........s-####.", /* 3 */
};

/* A hot row reference: replicas exactly where and while there is intent; the row moves whenever one
 * node alone has it. */
TEST(owner, figure_4d_many_intents_at_a_time)
{
    play(&(struct timeline){.intent = {hot_spot[0], hot_spot[1], hot_spot[2], hot_spot[3]},
                            .result =
                                {
                                    "O.....rrrrr............rrrr...",
                                    ".OOOOOOOOOO..rOOOO............",
                                    "....rrrrrr........OOOOOOOOO...",
                                    "...rrr...rrOOO..........rrrOOO",
                                },
                            .relocations = 5,
                            .replicas = 7});
}

/* ---- Figure 10: who takes part ---- */

/* Responsibility moves with the row. After it has come to node 2, its home is not asked any more:
 * neither while node 2 signals again, nor when node 3, which has learned from its first request
 * where the row is, comes and goes. */
TEST(owner, figure_10b_the_home_is_not_involved)
{
    play(&(struct timeline){
        .intent = {"................................", "................................",
                   "s.-####..s.-###################.", ".............s.-#P##...s.-#P##.."},
        .result = {"OO..............................", "................................",
                   "..OOOOOOOOOOOOOOOOOOOOOOOOOOOOOO", "...............rrrrr.....rrrrr.."},
        .talk = {{0, 2, "..*............*................"},
                 {0, 3, "...............*................"},
                 {0, 1, "................................"},
                 {1, 2, "................................"},
                 {2, 3, "...............*.*..*....*.*..*."}},
        .relocations = 1,
        .replicas = 2});
}

/* ---- Figure 11: when the owner's intent ends ---- */

/* While two others hold replicas the row stays with its owner, wanted there or not; it moves to the
 * last one. */
TEST(owner, figure_11a_relocated_only_to_the_only_one)
{
    play(&(struct timeline){.intent = {"..........................", "s-####P...................",
                                       "..s-########P..s-###......", "....s-#P####P#####P####P.."},
                            .result = {"O.........................", ".OOOOOOOOOOOO.............",
                                       "...rrrrrrrrrr...rrrr......", ".....rrrrrrrrOOOOOOOOOOOOO"},
                            .relocations = 2,
                            .replicas = 3});
}

/* ---- beyond the figures ---- */

/* The home itself has intent: the others replicate, and nothing moves. */
TEST(owner, the_owners_intent_counts_like_any)
{
    play(&(struct timeline){
        .intent = {"s-########....", "..s-#P#.......", "..............", "....s-#####..."},
        .result = {"OOOOOOOOOO....", "...rrrr.......", "..............", ".....rrrrrOOOO"},
        .relocations = 1,
        .replicas = 2});
}

/* The owner wants the row again before it has left, and after. */
TEST(owner, an_owner_that_comes_back)
{
    play(&(struct timeline){.intent = {"..................", "s-####s-####......",
                                       "..s-############..", ".................."},
                            .result = {"O.................", ".OOOOO.rrrrr......",
                                       "...rrrOOOOOOOOOOOO", ".................."},
                            .relocations = 2,
                            .replicas = 2});
}

/* Signaled when it is already time: acted on at once. Accesses without intent go to the owner, and
 * change nothing. */
TEST(owner, late_signals_and_accesses_without_intent)
{
    play(&(struct timeline){
        .intent = {"..............", ".s##P#........", "...p...p.....p", ".....p........"},
        .result = {"O.............", ".OOOOOOOOOOOOO", "..............", ".............."},
        .relocations = 1});
}

/* ---- the other techniques, on the hot row reference ---- */

TEST(owner, with_replication_alone_the_row_stays_at_home)
{
    play(&(struct timeline){.technique = LOCUS_REPLICATE,
                            .intent = {hot_spot[0], hot_spot[1], hot_spot[2], hot_spot[3]},
                            .result =
                                {
                                    "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOO",
                                    ".rrrrrr......rrrr.............",
                                    "....rrrrrr........rrrrrrrr....",
                                    "...rrr...rrrrr..........rrrrr.",
                                },
                            .replicas = 7});
}

TEST(owner, with_relocation_alone_the_row_goes_to_the_latest_intent)
{
    play(&(struct timeline){.technique = LOCUS_RELOCATE,
                            .intent = {hot_spot[0], hot_spot[1], hot_spot[2], hot_spot[3]},
                            .result =
                                {
                                    "O.....OOO..............O......",
                                    ".OO..........OOOOO............",
                                    "....OO............OOOOO.......",
                                    "...O.....OOOO...........OOOOOO",
                                },
                            .relocations = 9});
}

/* ---- for ever: NuPS, Section 3.2 ---- */

/* Who keeps a key has a replica until it takes that back; the row never moves for it, nor for
 * another's intent meanwhile. */
TEST(owner, a_kept_row_stays_where_it_is)
{
    play(&(struct timeline){.intent = {"...p.........p..........", ".K..p........U..........",
                                       "....s.-#P##.............", "................s.-##P.."},
                            .result = {"OOOOOOOOOOOOOOOOOO......", ".rrrrrrrrrrrr...........",
                                       "......rrrrr.............", "..................OOOOOO"},
                            .relocations = 1,
                            .replicas = 2});
}

TEST(owner, a_row_that_all_keep_is_replicated_on_all)
{
    static const enum locus_technique technique[] = {LOCUS_ADAPTIVE, LOCUS_REPLICATE,
                                                     LOCUS_RELOCATE};
    for (int i = 0; i < 3; i++)
        play(&(struct timeline){.technique = technique[i],
                                .intent = {"..K..p..", ".K..p...", ".K...p.p", "..Kp.p.."},
                                .result = {"OOOOOOOO", ".rrrrrrr", ".rrrrrrr", "..rrrrrr"},
                                .replicas = 3});
}

/* An owner that keeps its row gives replicas, and keeps it when the others have gone. */
TEST(owner, the_owner_keeps)
{
    play(&(struct timeline){.intent = {"K..........U......", ".s.-##P...........",
                                       "..................", ".................."},
                            .result = {"OOOOOOOOOOOOOOOOOO", "...rrrr...........",
                                       "..................", ".................."},
                            .replicas = 1});
}

/* With relocation alone an intent of another node moves nothing while the row is kept: that node
 * accesses it where it is. Afterwards it moves as ever. */
TEST(owner, relocation_moves_what_nobody_keeps)
{
    play(&(struct timeline){.technique = LOCUS_RELOCATE,
                            .intent = {"..........................", ".K..p......U..p...........",
                                       "....s.-#P##...............", "................s.-##P...."},
                            .result = {"OOOOOOOOOOOOOOOOOO........", ".rrrrrrrrrr...............",
                                       "..........................", "..................OOOOOOOO"},
                            .relocations = 1,
                            .replicas = 1});
}

/* What is no longer kept, but intended, is like any intent: the row moves to the only node that has
 * one. */
TEST(owner, what_is_left_when_a_keep_is_taken_back_is_an_intent)
{
    play(&(struct timeline){.intent = {"....................", ".K.s.-##P##V##P##...",
                                       "....................", "...................."},
                            .result = {"OOOOOOOOOOO.........", ".rrrrrrrrrrOOOOOOOOO",
                                       "....................", "...................."},
                            .relocations = 1,
                            .replicas = 1});
}
