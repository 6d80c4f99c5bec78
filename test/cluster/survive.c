/*
 * A node is lost, and the others go on (`survives`): killed, stopped, or cut off, at any
 * moment while all push, pull, intend and localize. Nobody hangs, no call of theirs fails, and
 * barriers, sums and quiesces go on without it.
 *
 * Nodes are processes in the role `survive_node`. In memory that they share each counts the pushes
 * that it has begun, a row. After each quiesce the rows must have as much, before the loss and, but
 * for what was missing after it, from then on; and no more at any time. Rows that the lost node
 * neither has nor touches lack nothing.
 */
#include "cables.h"
#include "team.h"

#include "common/folder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES_MAX = 8, WORKERS = 2, KEYS = 600, LENGTH = 12, CALL = 20, STEPS = 60, FLIGHTS = 4 };
enum { FEW = KEYS / 10, CLOCKS = 1000000, NOT_HERE = -1, STALENESS = 10 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

/* Where nobody is stopped: whoever ends is noticed by its connections. */
#define LONG_TIMEOUT_S (2.0 * HANG_S)
/* Half of it is longer than a busy machine keeps one of the others from running. */
#define SHORT_TIMEOUT_S 8.0

struct shared {
    int begun[NODES_MAX][KEYS]; /* atomic */
    int missing[NODES_MAX][KEYS];
    /* atomic: before the loss a node that is not to be lost has had it while all rested */
    int is_at_another[KEYS];
    int must_end; /* atomic */
    unsigned seed;
    bool is_tcp_only, has_bound; /* on its clocks */
    /* in which the lost node ends while all others quiesce; 0: at any time */
    int last_phase, quiescing;      /* atomic: workers of others that do */
    char folder[FOLDER_PATH_BYTES]; /* of checkpoints; "": none */
};

/* ---- a node ---- */

struct node {
    struct team team;
    struct shared *shared;
    int rank;
    unsigned lost; /* a bit each: those that are to be lost */
    int *missing;  /* its part */
    int settled;   /* the phase whose sum was the first without those that are lost; 0: none */
};

static bool is_lost(const struct node *n, int rank)
{
    return n->lost >> rank & 1;
}

/* A third of the keys is none of theirs. */
static bool may_touch(const struct node *n, locus_key key)
{
    return key % 3 != 0 || !is_lost(n, n->rank);
}

static bool is_safe(const struct node *n, locus_key key)
{
    return key % 3 == 0 && __atomic_load_n(&n->shared->is_at_another[key], __ATOMIC_SEQ_CST);
}

static size_t draw(struct seat *s, const struct node *n, locus_key *keys)
{
    size_t count = 1 + seat_random(s, CALL), kept = 0;
    unsigned among = seat_random(s, 3) ? KEYS : FEW;
    for (size_t i = 0; i < count; i++) {
        locus_key key = seat_random(s, among);
        if (may_touch(n, key)) keys[kept++] = key;
    }
    return kept;
}

/* Whoever is lost while it is stopped finds that out later. */
#define WORKS(call) check_call(s, #call, call)

static void check_call(const struct seat *s, const char *call, int rc)
{
    const struct node *n = s->team->shared;
    if (rc == 0) return;
    if (is_lost(n, s->rank) && rc == -ECONNRESET) {
        parent_tell("closed");
        _exit(0);
    }
    test_fail(__FILE__, __LINE__, "node %d: %s: %d, %s", s->rank, call, rc, locus_error());
}

/* Each push adds the same to all of a row. */
static void check_whole(const float *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 1; k < LENGTH; k++) CHECK(rows[i * LENGTH + (size_t)k] == rows[i * LENGTH]);
}

static void push(struct seat *s, const locus_key *keys, size_t n, const float *ones,
                 locus_ticket *ticket)
{
    const struct node *node = s->team->shared;
    for (size_t i = 0; i < n; i++)
        __atomic_fetch_add(&node->shared->begun[s->rank][keys[i]], 1, __ATOMIC_SEQ_CST);
    if (ticket)
        WORKS(locus_push_async(s->worker, keys, n, ones, ticket));
    else
        WORKS(locus_push(s->worker, keys, n, ones));
}

static void work(struct seat *s)
{
    const struct node *n = s->team->shared;
    locus_key keys[FLIGHTS][CALL];
    float rows[CALL * LENGTH], ones[CALL * LENGTH];
    locus_ticket ticket[FLIGHTS] = {0};
    bool may_localize = s->team->technique != LOCUS_REPLICATE;
    for (int i = 0; i < CALL * LENGTH; i++) ones[i] = 1;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned flight = step % FLIGHTS;
        WORKS(locus_wait(s->worker, ticket[flight]));
        ticket[flight] = 0;
        size_t count = draw(s, n, keys[flight]);
        locus_clock now = locus_current_clock(s->worker);
        unsigned kind = seat_random(s, 8);
        if (kind < 4) WORKS(locus_intent(s->worker, keys[flight], count, now, now + 1 + kind));
        if (kind == 4 && may_localize) WORKS(locus_localize(s->worker, keys[flight], count));
        push(s, keys[flight], count, ones, kind % 2 ? &ticket[flight] : NULL);
        if (kind % 3 == 0) {
            WORKS(locus_pull(s->worker, keys[flight], count, rows));
            check_whole(rows, count);
        }
        locus_advance_clock(s->worker);
        if (n->shared->has_bound && kind == 5) WORKS(locus_bound(s->worker, STALENESS));
    }
    WORKS(locus_wait_all(s->worker));
}

/* Rows that are lost may have been so just after they were looked at. */
static bool is_settled(const struct node *n, int phase)
{
    return n->settled && phase > n->settled + !n->shared->last_phase;
}

/* Copies that are on this node. */
static void look_here(struct seat *s, int here[KEYS])
{
    for (locus_key key = 0; key < KEYS; key++) {
        float row[LENGTH];
        int rc = locus_pull_local(s->worker, key, row);
        if (rc != -EAGAIN) WORKS(rc);
        here[key] = rc ? NOT_HERE : (int)row[0];
    }
}

/* All have quiesced, and nobody writes. Returns how many rows lack anything. */
static int check_rows(struct seat *s, int phase)
{
    struct node *n = s->team->shared;
    int lacking = 0, here[KEYS];
    look_here(s, here);
    for (locus_key first = 0; first < KEYS; first += CALL) {
        locus_key keys[CALL];
        float rows[CALL * LENGTH];
        for (locus_key i = 0; i < CALL; i++) keys[i] = first + i;
        WORKS(locus_pull(s->worker, keys, CALL, rows));
        check_whole(rows, CALL);
        for (int i = 0; i < CALL; i++) {
            int key = (int)first + i, begun = 0;
            for (int rank = 0; rank < s->team->nodes; rank++)
                begun += __atomic_load_n(&n->shared->begun[rank][key], __ATOMIC_SEQ_CST);
            int missing = begun - (int)rows[i * LENGTH];
            bool is_wrong = missing < 0 || (missing > 0 && is_safe(n, (locus_key)key)) ||
                            (missing != n->missing[key] && is_settled(n, phase));
            /* one that was stopped sees what it had then */
            if (is_wrong && !is_lost(n, n->rank))
                test_fail(__FILE__, __LINE__, "node %d, phase %d: row %d lacks %d of %d, before %d",
                          s->rank, phase, key, missing, begun, n->missing[key]);
            if (n->shared->last_phase && here[key] != NOT_HERE)
                CHECK_EQ(here[key], (int)rows[i * LENGTH]);
            n->missing[key] = missing;
            lacking += missing > 0;
        }
    }
    return lacking;
}

/* One of its workers does not come to this quiesce. The others' updates have just come, or are still
 * under way. */
static void end_in_quiesce(struct seat *s)
{
    const struct node *n = s->team->shared;
    const int *quiescing = &n->shared->quiescing;
    if (s->id == 0) WORKS(locus_quiesce(s->worker));
    AWAIT(__atomic_load_n(quiescing, __ATOMIC_SEQ_CST) == (s->team->nodes - 1) * WORKERS);
    sleep_s(seat_random(s, 100) * 1e-5);
    raise(SIGKILL);
}

/* Of one that nobody disturbs all see the same. */
static void compare_with_rank_0(const struct node *n, int phase)
{
    for (int key = 0; key < KEYS && n->rank > 0; key++)
        if (n->missing[key] != n->shared->missing[0][key])
            test_fail(__FILE__, __LINE__, "phase %d: node %d lacks %d of row %d, node 0 %d", phase,
                      n->rank, n->missing[key], key, n->shared->missing[0][key]);
}

/* What was saved is what was there, whoever is lost meanwhile. */
static void save_and_restore(struct seat *s)
{
    const struct node *n = s->team->shared;
    WORKS(locus_checkpoint(s->worker, n->shared->folder));
    WORKS(locus_restore(s->worker, n->shared->folder));
}

static void note_places(const struct node *n, const locus_key *owned, size_t count)
{
    for (size_t i = 0; i < count; i++)
        __atomic_store_n(&n->shared->is_at_another[owned[i]], 1, __ATOMIC_SEQ_CST);
}

/* As it is told to a program that lives on. */
static void check_books(const struct seat *s, int living)
{
    const struct node *n = s->team->shared;
    struct locus_losses l;
    CHECK_EQ(locus_losses_read(s->node, &l), 0);
    CHECK(l.survives == 1 && l.left == 0 && l.joined == 0 && !l.is_newcomer);
    CHECK(l.members == (unsigned)living && l.lost == (unsigned)(s->team->nodes - living));
    CHECK(is_lost(n, l.last) && l.last_at_s > 1.7e9 && l.last_s >= 0);
    CHECK(l.save_age_s >= 0.1 && (l.saves == 0) == (l.saved_bytes == 0));
}

/* Phases of work until the parent says so. */
static void live(struct seat *s)
{
    struct node *n = s->team->shared;
    int living = s->team->nodes;
    for (int rank = 0; rank < s->team->nodes; rank++) living -= is_lost(n, rank);
    for (int phase = 1, ends = 0; !ends; phase++) {
        work(s);
        if (is_lost(n, n->rank) && phase == n->shared->last_phase) end_in_quiesce(s);
        if (phase == n->shared->last_phase)
            __atomic_fetch_add(&n->shared->quiescing, 1, __ATOMIC_SEQ_CST);
        WORKS(locus_quiesce(s->worker));
        locus_key owned[KEYS];
        size_t count = locus_owned(s->node, 0, owned, KEYS);
        int lacking = s->id == 0 ? check_rows(s, phase) : 0;
        if (*n->shared->folder && phase % 3 == 0) save_and_restore(s);
        bool is_chair = s->rank == 0 && s->id == 0;
        double sum[2] = {1, is_chair && __atomic_load_n(&n->shared->must_end, __ATOMIC_SEQ_CST)};
        WORKS(locus_sum(s->worker, sum, 2));
        int seats = (int)sum[0];
        ends = sum[1] > 0;
        CHECK(seats % WORKERS == 0 && seats >= living * WORKERS && seats <= s->seats);
        if (lacking) CHECK(seats < s->seats);
        if (seats == s->seats && !is_lost(n, n->rank)) note_places(n, owned, count);
        if (s->id == 0 && !n->settled && seats == living * WORKERS) n->settled = phase;
        if (s->id == 0 && n->shared->last_phase) compare_with_rank_0(n, phase);
        if (is_chair) parent_tell("phase %d %d %d", phase, seats / WORKERS, lacking);
        WORKS(locus_barrier(s->worker));
    }
    if (!is_lost(n, n->rank)) check_books(s, living);
}

/* All want the first rows, all the time. */
static void begin(struct seat *s)
{
    const struct node *n = s->team->shared;
    s->seed += n->shared->seed;
    for (locus_key key = 0; key < FEW; key++)
        if (may_touch(n, key)) WORKS(locus_intent(s->worker, &key, 1, 0, CLOCKS));
    WORKS(locus_barrier(s->worker));
    if (s->id == 0) parent_tell("ready");
    live(s);
}

static int count_of(const char *words, const char *text)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, words)); at++) count++;
    return count;
}

/* One sentence for each that is lost. */
static void check_sentences(const struct node *n, const char *said)
{
    char names[32];
    int count = count_of(" goes on after ", said) + count_of("; a node is lost before", said);
    for (int rank = 0; rank < n->team.nodes; rank++) {
        if (!is_lost(n, rank)) continue;
        snprintf(names, sizeof names, "locus: node %d (", rank);
        CHECK_STR(said, names);
        count--;
    }
    CHECK_EQ(count, 0);
}

ROLE(survive_node)
{
    static struct node n;
    char *said;
    size_t bytes;
    int fd, technique;
    char host[64];
    CHECK_EQ(sscanf(arguments, "%d %d %d %d %u %lf %31s %63s", &fd, &n.team.nodes, &n.rank,
                    &technique, &n.lost, &n.team.peer_timeout_s, n.team.address, host),
             8);
    n.shared = shared_of(fd, sizeof *n.shared);
    n.missing = n.shared->missing[n.rank];
    char listen[ADDRESS_BYTES];
    snprintf(listen, sizeof listen, "10.77.0.%d", n.rank + 1);
    if (strcmp(host, "-") != 0) cables_enter(host);
    if (strcmp(host, "-") != 0) n.team.listen = listen;
    n.team.workers = WORKERS;
    n.team.shards = 2;
    n.team.tables = &table;
    n.team.table_count = 1;
    n.team.technique = (enum locus_technique)technique;
    n.team.survives = 1;
    n.team.lab = n.shared->is_tcp_only ? "tcp" : NULL;
    n.team.shared = &n;
    FILE *before = stderr;
    stderr = open_memstream(&said, &bytes); /* test_fail() does not use it */
    team_run_node(&n.team, n.rank, begin);
    fclose(stderr);
    stderr = before;
    fputs(said, stderr);
    check_sentences(&n, said);
    free(said);
    parent_tell("closed");
}

/* ---- a cluster that loses nodes ---- */

enum end { END_KILLED, END_STOPPED, END_CUT_OFF, END_APART };

struct scenario {
    int nodes;
    enum locus_technique technique;
    enum end end;
    unsigned lost;
    double when_s; /* after all are ready */
    int last_phase;
    unsigned seed;
    bool saves, is_tcp_only, has_bound, is_together; /* all that are lost are so at once */
    /* filled in */
    struct child child[NODES_MAX];
    struct shared *shared;
    int fd;
    struct cables cables;
};

static bool loses(const struct scenario *s, int rank)
{
    return s->lost >> rank & 1;
}

static void start(struct scenario *s)
{
    char address[ADDRESS_BYTES] = "10.77.0.1:7777";
    bool is_cut = s->end >= END_CUT_OFF;
    double timeout_s = s->end != END_KILLED ? SHORT_TIMEOUT_S : LONG_TIMEOUT_S;
    if (!is_cut) address_new(address);
    s->shared = shared_new(sizeof *s->shared, &s->fd);
    s->shared->last_phase = s->last_phase;
    s->shared->is_tcp_only = s->is_tcp_only;
    s->shared->seed = s->seed;
    s->shared->has_bound = s->has_bound;
    if (s->saves) folder_new(s->shared->folder);
    if (is_cut) cables_lay(&s->cables, s->nodes);
    for (int i = 0; i < s->nodes; i++)
        child_start(&s->child[i], "survive_node", "%d %d %d %d %u %g %s %s", s->fd, s->nodes, i,
                    (int)s->technique, s->lost, timeout_s, address,
                    is_cut ? cables_host(&s->cables, i) : "-");
    for (int i = 0; i < s->nodes; i++) child_expect(&s->child[i], "ready");
}

static void end_node(struct scenario *s, int rank)
{
    if (s->end == END_STOPPED) child_signal(&s->child[rank], SIGSTOP);
    if (s->end == END_CUT_OFF) cables_pull(&s->cables, rank, true);
    if (s->end == END_APART) cables_lose(&s->cables, rank, 0, true);
    if (s->end == END_APART) cables_lose(&s->cables, 0, rank, true);
    if (s->end == END_KILLED) child_signal(&s->child[rank], SIGKILL);
}

/* Until so many nodes, and no more, have met, and then for some phases. */
static void await_phases(struct scenario *s, int nodes)
{
    int phase, met, lacking, since = 0;
    while (since < 4) {
        const char *line = child_hear(&s->child[0]);
        if (sscanf(line, "phase %d %d %d", &phase, &met, &lacking) != 3)
            test_fail(__FILE__, __LINE__, "node 0 says: %s", line);
        CHECK(met >= nodes);
        since += met == nodes;
        if (s->last_phase) CHECK((met == nodes) == (phase >= s->last_phase));
    }
    printf("%d nodes go on: in phase %d %d rows lack something\n", nodes, phase, lacking);
}

static void finish(struct scenario *s)
{
    const char *line;
    __atomic_store_n(&s->shared->must_end, 1, __ATOMIC_SEQ_CST);
    while (strncmp(line = child_hear(&s->child[0]), "phase", 5) == 0) continue;
    CHECK_STR(line, "closed");
    for (int i = 1; i < s->nodes; i++)
        if (!loses(s, i)) child_expect(&s->child[i], "closed");
    for (int i = 0; i < s->nodes; i++) {
        struct child *c = &s->child[i];
        if (!loses(s, i)) child_wait(c);
        if (loses(s, i) && s->end == END_KILLED) {
            child_kill(c);
        } else if (loses(s, i)) { /* it finds out */
            if (s->end == END_STOPPED) child_signal(c, SIGCONT);
            child_expect(c, "closed");
            child_wait(c);
        }
    }
    if (s->end >= END_CUT_OFF) cables_remove(&s->cables);
    shared_free(s->shared, sizeof *s->shared, s->fd);
}

/* One node after the other, or while the others repair. */
static void lose(struct scenario *s)
{
    int left = s->nodes;
    start(s);
    for (int rank = s->nodes - 1; rank > 0; rank--) {
        if (!loses(s, rank)) continue;
        sleep_s(s->when_s);
        if (!s->last_phase) end_node(s, rank);
        left--;
        if (!s->is_together) await_phases(s, left);
    }
    if (s->is_together) await_phases(s, left);
    finish(s);
}

/* In several clusters at once: they wait, mostly. */
static void lose_last(struct scenario *s, int count)
{
    for (int i = 0; i < count; i++) {
        s[i].nodes = 3;
        s[i].lost = 1u << 2;
        start(&s[i]);
    }
    for (int i = 0; i < count; i++) end_node(&s[i], 2);
    for (int i = 0; i < count; i++) await_phases(&s[i], 2);
    for (int i = 0; i < count; i++) finish(&s[i]);
}

static const enum locus_technique techniques[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE, LOCUS_REPLICATE};

static unsigned draw_below(unsigned *seed, unsigned bound)
{
    return (unsigned)rand_r(seed) % bound;
}

static struct scenario draw_scenario(unsigned seed, unsigned nodes_max)
{
    struct scenario s = {.seed = seed, .nodes = 2 + (int)draw_below(&seed, nodes_max - 1)};
    s.technique = techniques[draw_below(&seed, 3)];
    s.lost = 1u << (1 + draw_below(&seed, (unsigned)s.nodes - 1));
    s.when_s = draw_below(&seed, 1000) * 4e-4;
    s.is_tcp_only = draw_below(&seed, 2);
    return s;
}

/* In any way, of which some take as long as a time-out; also two, also at once. */
static struct scenario draw_any(unsigned seed)
{
    struct scenario s =
        draw_scenario(seed, sysconf(_SC_NPROCESSORS_ONLN) < NODES_MAX ? 5 : NODES_MAX);
    unsigned way = draw_below(&seed, 32),
             more = 1u << (1 + draw_below(&seed, (unsigned)s.nodes - 1));
    s.saves = draw_below(&seed, 3) == 0;
    s.has_bound = draw_below(&seed, 2);
    if (s.nodes > 3 && draw_below(&seed, 4) == 0) s.lost |= more;
    s.is_together = s.lost & (s.lost - 1) && draw_below(&seed, 2);
    if (s.is_together) s.when_s = draw_below(&seed, 100) * 1e-3 * draw_below(&seed, 2);
    if (way == 0) s.end = END_STOPPED;
    if (way == 1 && cables_can()) s.end = END_CUT_OFF;
    if (way == 2 && cables_can()) s.end = END_APART;
    if (way > 26 && !(s.lost & (s.lost - 1))) s.last_phase = 1 + (int)draw_below(&seed, 4);
    return s;
}

static void tell(const struct scenario *s)
{
    static const char *const ends[] = {"killed", "stopped", "cut off", "apart"};
    printf("seed %u: %d nodes, technique %d, of %#x %s after %g s%s, phase %d%s%s%s\n", s->seed,
           s->nodes, (int)s->technique, s->lost, ends[s->end], s->when_s,
           s->is_together ? " at once" : "", s->last_phase, s->saves ? ", with checkpoints" : "",
           s->is_tcp_only ? ", tcp" : "", s->has_bound ? ", with a bound" : "");
    fflush(stdout);
}

/* LOCUS_TEST_SEED is one that a soak has told. */
TEST(survive, nodes_are_lost_at_any_moment_and_in_any_way)
{
    const char *given = getenv("LOCUS_TEST_SEED");
    unsigned first = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)getpid() * 1000u;
    double end = now_s() + test_seconds() / 2.0;
    unsigned plain = given ? 0 : 3;
    for (unsigned i = 0; i < (given ? 1 : plain) || (now_s() < end && !given); i++) {
        struct scenario s = i < plain ? draw_scenario(first + i, 4) : draw_any(first + i);
        tell(&s);
        lose(&s);
    }
}

TEST(survive, node_is_killed_while_the_others_quiesce_or_save_and_restore_rows)
{
    unsigned seed = (unsigned)getpid();
    printf("seed %u\n", seed);
    for (int i = 0; i < 6; i++) {
        struct scenario s = {.nodes = 3 + i % 2,
                             .technique = techniques[i % 3],
                             .lost = 1u << (1 + draw_below(&seed, 2)),
                             .when_s = draw_below(&seed, 1000) * 1e-4,
                             .saves = i > 2};
        if (!s.saves) s.last_phase = 1 + (int)draw_below(&seed, 4);
        lose(&s);
    }
}

TEST(survive, two_nodes_are_killed_one_after_the_other)
{
    for (int is_together = 0; is_together < 2; is_together++) {
        struct scenario s = {.nodes = 4,
                             .lost = 1u << 3 | 1u << 1,
                             .when_s = is_together ? 0.02 : 0.1,
                             .is_together = is_together};
        lose(&s);
    }
}

TEST(survive, node_is_stopped_for_longer_than_the_time_out)
{
    struct scenario s = {.end = END_STOPPED};
    lose_last(&s, 1);
}

/* From all others, or from rank 0, which judges: the third one hears both. */
TEST(survive, node_is_cut_off)
{
    struct scenario s[] = {{.end = END_CUT_OFF}, {.end = END_APART}};
    cables_need();
    lose_last(s, 2);
}
