/*
 * The shards of a few nodes in one thread, with requests of their workers under way, on a
 * network that belongs to the fuzzer: it delivers their frames in any order of the links, changes
 * what is in them, repeats it, sends it to others, and makes up frames of its own.
 *
 * So most of what arrives is sound, however deep the protocol goes, and the rest is close to it.
 * All operations of wire.h occur, and the first number beyond them. Nothing is assumed about what
 * they bring about, but that each turn ends, that nobody touches anything beyond a frame, an entry
 * or a row, and that every request of a worker is completed once, when its node has heard of a
 * failure at the latest.
 *
 * Where nodes survive the loss of another, one may be lost, of which each of the others hears some time
 * later, or never; what is said of that may be made up, too, before and behind it.
 *
 * A frame passes here only if a link would let it pass; one that a shard refuses cuts the link both
 * ways, and each end is told (shard_fail) some time later.
 */
#include "input.h"

#include "actors/actor.h"
#include "intents/intents.h"
#include "protocol/repair.h"

#include <errno.h>

/* planted_shard.c has more to say about a request that is complete. */
#ifndef CHECK_COMPLETED
#define CHECK_COMPLETED(r, rc) ((void)(rc))
#endif

enum {
    NODES = 3,
    SHARDS = 2,
    NUMBER = 1, /* of the shard */
    WORKERS = 2,
    REQUESTS = 6,
    ITEMS_MAX = 4,
    SAID_MAX = 32,
    FRAME_ENTRIES = 4,
    FLIGHTS_MAX = 100,  /* frames under way, beyond which nothing new begins */
    WINDOW_BYTES = 400, /* so small that requests wait for it */
    STEPS_MAX = 1000,
    REST_TURNS = 20,
    REST_TURNS_MAX = 3000,
};

/* Few keys, so that much happens to each. */
static const struct locus_table tables[] = {
    {.rows = 9, .length = 5}, {.rows = 3, .length = 1}, {.rows = 8, .length = 8}};
enum { TABLES = sizeof tables / sizeof *tables };

struct frame {
    struct frame *next;
    struct wire_frame header;
    unsigned char *body; /* malloc, header.body_bytes */
};

struct wire {
    struct frame *first, *last;
    bool is_cut;
};

/* A request of a worker, with the memory that it is about. */
struct own {
    struct request request;
    struct request_item item[ITEMS_MAX];
    float *values[ITEMS_MAX];
    bool is_under_way, waits; /* has not been taken on in full */
    uint8_t generation;
};

struct node {
    struct nodes *all;
    unsigned rank;
    struct store store;
    struct node_plan plan;
    struct platform calls;
    struct shard shard;
    locus_clock clock[WORKERS];
    const locus_clock *clocks[WORKERS];
    uint64_t waiting_keys;
    struct intent_stream *stream[WORKERS];
    bool is_settling[WORKERS];
    bool has_failed;
    struct wire_entry *fresh; /* what it is about to say, still being written */
    unsigned fresh_peer;
    struct own own[REQUESTS];
};

struct nodes {
    struct input in;
    uint64_t now_ns;
    struct node node[NODES];
    struct wire wire[NODES][NODES]; /* from, to */
    unsigned flights;
    bool survives, has_lost;
    unsigned lost;
    bool has_heard[NODES];
    /* Headers of what was said last, to be said again. */
    struct wire_entry said[SAID_MAX];
    unsigned said_count;
};

/* ---- frames ---------------------------------------------------------------------------------- */

static struct frame *new_frame(uint32_t membership)
{
    struct frame *f = fuzz_scratch(sizeof *f);
    f->header =
        (struct wire_frame){WIRE_MAGIC, WIRE_VERSION, WIRE_ENTRIES, .membership = membership};
    return f;
}

static void free_frame(struct frame *f)
{
    free(f->body);
    free(f);
}

/* The body grows by exactly this entry. */
static void add_entry(struct frame *f, const struct wire_entry *e, size_t bytes)
{
    size_t had = f->header.body_bytes;
    unsigned char *body = fuzz_scratch(had + bytes);
    if (had > 0) memcpy(body, f->body, had);
    memcpy(body + had, e, bytes);
    free(f->body);
    f->body = body;
    f->header.body_bytes += (uint32_t)bytes;
    f->header.count++;
}

static void put_frame(struct nodes *all, struct wire *w, struct frame *f)
{
    f->next = NULL;
    *(w->last ? &w->last->next : &w->first) = f;
    w->last = f;
    all->flights++;
}

static struct frame *take_frame(struct nodes *all, struct wire *w)
{
    struct frame *f = w->first;
    if (!f) return NULL;
    w->first = f->next;
    if (!w->first) w->last = NULL;
    all->flights--;
    return f;
}

static void cut(struct nodes *all, unsigned a, unsigned b)
{
    struct wire *both[] = {&all->wire[a][b], &all->wire[b][a]};
    for (int i = 0; i < 2; i++) {
        both[i]->is_cut = true;
        for (struct frame *f; (f = take_frame(all, both[i]));) free_frame(f);
    }
}

/* ---- the world of a shard -------------------------------------------------------------------- */

static void say_fresh(struct node *n)
{
    struct wire *w = &n->all->wire[n->rank][n->fresh_peer];
    if (!n->fresh) return;
    n->all->said[n->all->said_count++ % SAID_MAX] = *n->fresh;
    if (!w->last || w->last->header.count >= FRAME_ENTRIES)
        put_frame(n->all, w, new_frame(n->store.home.membership));
    add_entry(w->last, n->fresh, wire_entry_bytes(n->fresh->length));
    free(n->fresh);
    n->fresh = NULL;
}

static struct wire_entry *give_entry(void *context, unsigned peer, uint32_t length,
                                     uint64_t until_ns)
{
    (void)until_ns;
    struct node *n = context;
    MUST(peer < NODES && peer != n->rank && length <= LOCUS_LENGTH_MAX);
    say_fresh(n);
    if (n->has_failed || n->all->wire[n->rank][peer].is_cut) return NULL;
    n->fresh = fuzz_scratch(wire_entry_bytes(length));
    n->fresh->length = length;
    n->fresh_peer = peer;
    return n->fresh;
}

static void complete_request(void *context, struct request *r, int rc)
{
    struct node *n = context;
    struct own *o = (struct own *)(void *)((char *)r - offsetof(struct own, request));
    MUST(o->is_under_way);
    CHECK_COMPLETED(r, rc);
    o->is_under_way = o->waits = false;
    if (r->count == 0) n->is_settling[r->worker] = false;
    for (uint32_t i = 0; i < r->count; i++) free(o->values[i]);
}

static uint64_t read_clock_ns(void *context)
{
    const struct node *n = context;
    return n->all->now_ns;
}

/* ---- what workers do ------------------------------------------------------------------------- */

/* A key of this shard; mostly one whose row is elsewhere, if there is any from there on. */
static locus_key choose_key(struct node *n, bool is_elsewhere)
{
    const struct keyspace *k = &n->store.keyspace;
    uint64_t indices = keyspace_count_below(k, k->keys, NUMBER),
             first = input_byte(&n->all->in) % indices;
    for (uint64_t i = 0; i < indices && is_elsewhere; i++) {
        locus_key key = keyspace_key(k, NUMBER, (first + i) % indices);
        struct row_ref s = store_row_ref(&n->store, key);
        if (!row_ref_is_held(s, *row_ref_word(s))) return key;
    }
    return keyspace_key(k, NUMBER, first);
}

static void add_item(struct node *n, struct own *o, bool is_elsewhere)
{
    locus_key key = choose_key(n, is_elsewhere);
    float *values = NULL;
    if (o->request.kind != REQUEST_LOCALIZE)
        values = fuzz_scratch(store_row_ref(&n->store, key).partition->length * sizeof(float));
    o->values[o->request.count] = values;
    o->item[o->request.count++] = (struct request_item){.key = key, .values = values};
}

/* `items` 0: the worker quiesces, which is one thing at a time. */
static void begin_request(struct node *n, enum request_kind kind, unsigned items)
{
    unsigned number = input_below(&n->all->in, REQUESTS), worker = number % WORKERS;
    struct own *o = &n->own[number];
    if (o->is_under_way || (items == 0 && n->is_settling[worker])) return;
    bool is_elsewhere = input_below(&n->all->in, 4);
    o->generation = (uint8_t)((o->generation + 1) % REQUEST_GENERATIONS);
    o->request = (struct request){.kind = kind,
                                  .worker = (uint16_t)worker,
                                  .number = (uint16_t)number,
                                  .generation = o->generation,
                                  .busy = 1,
                                  .item = o->item};
    while (o->request.count < items) add_item(n, o, is_elsewhere);
    if (items == 0) n->is_settling[worker] = true;
    o->is_under_way = o->waits = true;
}

/* As node.c does. */
static void signal_intent(struct node *n, unsigned worker)
{
    struct input *in = &n->all->in;
    locus_clock now = n->clock[worker], start = now + input_below(in, 8) - 2,
                end = start + 1 + input_below(in, 8);
    if (!n->stream[worker] || end <= now) return;
    if (start < now) start = now;
    unsigned keys = 1 + input_below(in, ITEMS_MAX);
    struct intent_stream *s = n->stream[worker];
    stream_begin(s, start, end, now, intents_lookahead(n->shard.intents, worker));
    for (; keys > 0; keys--)
        MUST(stream_add(s, keyspace_index(&n->store.keyspace, choose_key(n, false))) == 0);
    if (start > now) n->waiting_keys += s->call.added;
    stream_publish(s);
    intents_published(n->shard.intents, worker, start, now);
}

/* Of a row that is here, a replica perhaps. */
static void write_locally(struct node *n)
{
    locus_key key = choose_key(n, false);
    struct row_ref s = store_row_ref(&n->store, key);
    float *values = fuzz_scratch(s.partition->row_bytes);
    values[0] = 1;
    if (row_ref_is_held(s, *row_ref_word(s))) row_write(s, values, ROW_ADD);
    free(values);
}

static void work(struct nodes *all)
{
    struct node *n = &all->node[input_below(&all->in, NODES)];
    unsigned what = input_below(&all->in, 16), worker = input_below(&all->in, WORKERS);
    if (what < 6)
        begin_request(n, (enum request_kind)input_below(&all->in, REQUEST_LOCALIZE + 1),
                      1 + input_below(&all->in, ITEMS_MAX));
    else if (what == 6)
        begin_request(n, (enum request_kind)(REQUEST_FLUSH_UPDATES + input_below(&all->in, 3)), 0);
    else if (what < 10)
        write_locally(n);
    else if (what < 13)
        signal_intent(n, worker);
    else
        n->clock[worker] += input_below(&all->in, 4);
}

/* Requests that wait go on whenever something has happened. */
static void serve_requests(struct nodes *all)
{
    for (unsigned r = 0; r < NODES; r++) {
        struct node *n = &all->node[r];
        shard_turn(&n->shard, all->now_ns);
        for (unsigned i = 0; i < REQUESTS; i++)
            if (n->own[i].waits && shard_serve(&n->shard, &n->own[i].request))
                n->own[i].waits = false;
        say_fresh(n);
    }
}

/* ---- what the network does ------------------------------------------------------------------- */

static void fail(struct node *n)
{
    say_fresh(n);
    n->has_failed = true;
    shard_fail(&n->shard, -ECONNRESET);
}

/* The others survive it. */
static void lose(struct nodes *all, unsigned rank)
{
    if (all->has_lost) return;
    all->has_lost = true;
    all->lost = rank;
    fail(&all->node[rank]);
    for (unsigned n = 0; n < NODES; n++)
        if (n != rank) cut(all, n, rank);
}

static void hear_of_loss(struct nodes *all, unsigned rank)
{
    struct node *n = &all->node[rank];
    if (!all->has_lost || rank == all->lost || all->has_heard[rank] || n->has_failed) return;
    all->has_heard[rank] = true;
    repair_begin(&n->shard, (struct change){1, CHANGE_LOST, all->lost});
    say_fresh(n);
}

static void deliver(struct nodes *all, unsigned from, unsigned to, struct frame *f)
{
    struct node *n = &all->node[to];
    if (!all->wire[from][to].is_cut && !wire_check_frame(&f->header, f->header.body_bytes, 0)) {
        const char *why = shard_frame(&n->shard, from, &f->header, f->body);
        say_fresh(n);
        MUST(!why || *why);
        if (why) cut(all, from, to);
    }
    free_frame(f);
}

static void change_field(struct nodes *all, struct wire_entry *e)
{
    struct input *in = &all->in;
    switch (input_below(in, 10)) {
    case 0: e->operation = (uint8_t)(1 + input_below(in, WIRE_OPERATIONS)); break;
    case 1: e->owner = (uint16_t)input_below(in, NODES + 1); break;
    case 2: e->origin = (uint16_t)input_below(in, NODES + 1); break;
    case 3: e->flags ^= (uint8_t)(1u << input_below(in, 8)); break;
    case 4: e->tag = (uint32_t)input_number(in, 4); break;
    case 5: e->key = input_byte(in); break;
    case 6: e->term += (uint64_t)input_below(in, 5) - 2; break;
    case 7: e->version += (uint64_t)input_below(in, 5) - 2; break;
    case 8: e->length = (uint32_t)input_number(in, 2) >> input_below(in, 16); break;
    default: ((uint8_t *)e)[input_below(in, sizeof *e)] = input_byte(in);
    }
}

/* One entry of the frame, if there is one. */
static struct wire_entry *choose_entry(struct nodes *all, struct frame *f)
{
    struct wire_cursor c = wire_cursor(&f->header, f->body);
    const struct wire_entry *e, *chosen = NULL;
    const char *why;
    for (unsigned i = input_below(&all->in, FRAME_ENTRIES + 1);
         (e = wire_next(&c, &why)) && (!chosen || i > 0); i--)
        chosen = e;
    return (struct wire_entry *)(uintptr_t)chosen;
}

/* The length of the key's rows, when there is such a key. */
static uint32_t length_of(const struct nodes *all, locus_key key)
{
    const struct store *s = &all->node[0].store;
    return key < s->keyspace.keys ? store_row_ref(s, key).partition->length : 0;
}

/* Out of nothing, or like something that was said. */
static struct wire_entry make_entry(struct nodes *all, unsigned from)
{
    struct input *in = &all->in;
    unsigned how = input_byte(in), count = all->said_count < SAID_MAX ? all->said_count : SAID_MAX;
    struct wire_entry e = {.origin = (uint16_t)from, .key = input_byte(in)};
    if (how & 1 && count > 0) e = all->said[e.key % count];
    if (how & 2) e.operation = (uint8_t)(1 + input_below(in, WIRE_OPERATIONS));
    if (e.operation == 0) e.operation = WIRE_PULL;
    if (how & 4) change_field(all, &e);
    if (how & 8) change_field(all, &e);
    e.length = how & 16 ? length_of(all, e.key) : how & 32 ? 0 : e.length;
    return e;
}

static void add_made_entry(struct nodes *all, struct frame *f, unsigned from)
{
    enum { VALUES_MAX = 64 };
    _Alignas(8) unsigned char bytes[sizeof(struct wire_entry) + VALUES_MAX * sizeof(float)];
    struct wire_entry e = make_entry(all, from);
    memset(bytes, input_byte(&all->in), sizeof bytes);
    memcpy(bytes, &e, sizeof e);
    add_entry(f, (const void *)bytes,
              wire_entry_bytes(e.length < VALUES_MAX ? e.length : VALUES_MAX));
}

static void shorten(struct frame *f, unsigned bytes)
{
    if (bytes > f->header.body_bytes) return;
    f->header.body_bytes -= bytes;
    unsigned char *body = fuzz_copy(f->body, f->header.body_bytes);
    free(f->body);
    f->body = body;
}

/* How a frame can differ from what was sent. */
static void disturb(struct nodes *all, struct frame *f, unsigned from)
{
    struct input *in = &all->in;
    struct wire_entry *e = choose_entry(all, f);
    switch (input_below(in, 8)) {
    case 0: add_made_entry(all, f, from); break;
    case 1:
        if (e) add_entry(f, e, wire_entry_bytes(e->length));
        break;
    case 2: f->header.count = (uint32_t)input_number(in, 4); break;
    case 3: shorten(f, input_below(in, 256)); break;
    case 4: f->header.membership += input_below(in, 3) - 1; break;
    case 5: f->header.unused = input_number(in, 8); break;
    default:
        if (e) change_field(all, e);
    }
}

static void send_made_frame(struct nodes *all, unsigned from, unsigned to)
{
    struct frame *f = new_frame(all->node[to].store.home.membership);
    for (unsigned n = 1 + input_below(&all->in, 2 * FRAME_ENTRIES); n > 0; n--)
        add_made_entry(all, f, from);
    deliver(all, from, to, f);
}

static struct frame *copy_frame(const struct frame *f)
{
    struct frame *copy = fuzz_copy(f, sizeof *f);
    copy->body = fuzz_copy(f->body, f->header.body_bytes);
    return copy;
}

/* The next link that carries something; false: none does. */
static bool choose_wire(struct nodes *all, unsigned *from, unsigned *to)
{
    unsigned first = input_below(&all->in, NODES * NODES);
    for (unsigned i = 0; i < NODES * NODES; i++) {
        *from = (first + i) / NODES % NODES;
        *to = (first + i) % NODES;
        if (all->wire[*from][*to].first) return true;
    }
    return false;
}

static void deliver_next(struct nodes *all, unsigned how)
{
    unsigned from, to;
    if (!choose_wire(all, &from, &to)) return;
    struct frame *f = take_frame(all, &all->wire[from][to]);
    if (how == 1) deliver(all, from, to, copy_frame(f)); /* twice */
    if (how == 2) disturb(all, f, from);
    if (how == 3) to = NODES - from - to; /* to the third */
    deliver(all, from, to, f);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void step(struct nodes *all)
{
    struct input *in = &all->in;
    unsigned what = input_below(in, 32), from = what % NODES,
             to = (from + 1 + what / NODES % 2) % NODES;
    all->now_ns += UINT64_C(1) << input_below(in, 34);
    if (all->flights >= FLIGHTS_MAX || what >= 17)
        deliver_next(all, 0);
    else if (what >= 13)
        deliver_next(all, what - 12);
    else if (what >= 7)
        send_made_frame(all, from, to);
    else if (what > 0 || !input_rarely(in, 8))
        work(all);
    else if (all->survives && !all->has_lost)
        lose(all, input_below(in, NODES));
    else
        fail(&all->node[input_below(in, NODES)]);
    if (all->has_lost && input_below(in, 8) == 0) hear_of_loss(all, input_below(in, NODES));
    serve_requests(all);
}

static void deliver_all(struct nodes *all)
{
    for (unsigned from = 0; from < NODES; from++)
        for (unsigned to = 0; to < NODES; to++) {
            struct frame *f = take_frame(all, &all->wire[from][to]);
            if (f) deliver(all, from, to, f);
        }
}

/* Left alone, the nodes come to rest: nothing goes round for ever, whatever they were made to
 * believe. */
static void come_to_rest(struct nodes *all)
{
    unsigned turns = 0;
    for (unsigned r = 0; r < NODES; r++) hear_of_loss(all, r);
    for (unsigned quiet = 0; quiet < REST_TURNS && turns < REST_TURNS_MAX; turns++) {
        quiet = all->flights > 0 ? 0 : quiet + 1;
        deliver_all(all);
        all->now_ns += 1000000;
        serve_requests(all);
    }
    MUST(turns < REST_TURNS_MAX);
}

static void open_node(struct nodes *all, unsigned rank, enum locus_technique technique,
                      bool acts_immediately)
{
    struct node *n = &all->node[rank];
    n->all = all;
    n->rank = rank;
    n->calls = (struct platform){n,    give_entry, complete_request, read_clock_ns, read_clock_ns,
                                 NULL, NULL};
    for (unsigned w = 0; w < WORKERS; w++) n->clocks[w] = &n->clock[w];
    const struct store_config store = {
        .tables = tables,
        .table_count = TABLES,
        .shards = SHARDS,
        .nodes = NODES,
        .rank = rank,
        .replicates = technique != LOCUS_STATIC,
        .is_full = technique == LOCUS_FULL_REPLICATION,
        .survives = all->survives,
    };
    n->plan = (struct node_plan){
        .store = &n->store,
        .technique = technique_of(technique),
        .config = {.workers = WORKERS, .survives = all->survives},
        .lab = {.is_immediate = acts_immediately},
        .clock = n->clocks,
        .node_keys = &n->waiting_keys,
    };
    const struct shard_config shard = {
        .plan = &n->plan, .platform = &n->calls, .number = NUMBER, .credit_bytes = WINDOW_BYTES};
    MUST(store_open(&n->store, &store) == 0 && shard_init(&n->shard, &shard) == 0);
    for (unsigned w = 0; w < WORKERS && n->shard.clock; w++) {
        n->stream[w] = intents_open_stream(n->shard.intents, w);
        MUST(n->stream[w]);
    }
}

static void close_node(struct node *n)
{
    for (unsigned i = 0; i < REQUESTS; i++) MUST(!n->own[i].is_under_way);
    for (unsigned w = 0; w < WORKERS; w++)
        if (n->stream[w]) stream_close(n->stream[w], true);
    shard_fini(&n->shard);
    store_fini(&n->store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nodes *all = fuzz_scratch(sizeof *all);
    all->in = input_of(data, size);
    enum locus_technique technique =
        (enum locus_technique)input_below(&all->in, LOCUS_FULL_REPLICATION + 1);
    unsigned settings = input_byte(&all->in);
    bool acts_immediately = settings & 1;
    all->survives = technique_of(technique)->survives && settings & 2;
    for (unsigned r = 0; r < NODES; r++) open_node(all, r, technique, acts_immediately);
    for (unsigned i = 0; i < STEPS_MAX && input_left(&all->in) > 0; i++) step(all);
    come_to_rest(all);
    for (unsigned r = 0; r < NODES; r++) fail(&all->node[r]);
    serve_requests(all);
    for (unsigned a = 0; a < NODES; a++)
        for (unsigned b = 0; b < a; b++) cut(all, a, b);
    for (unsigned r = 0; r < NODES; r++) close_node(&all->node[r]);
    free(all);
    return 0;
}
