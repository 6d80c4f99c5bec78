#include "observe/trace.h"

#include "base/error.h"
#include "base/notation.h"
#include "base/process.h"
#include "base/time.h"
#include "observe/journal.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_DEFAULT = 16, EVENTS_AT_ONCE = 256 };
enum { ELSEWHERE = '.', REPLICA = 'r', OWNER = 'O' };

#ifdef LOCUS_FIBERS
enum { HAS_THREAD = false }; /* and virtual time begins at 0 */
#else
enum { HAS_THREAD = true };
#endif

struct traced {
    locus_key key;
    char place;
    bool is_wanted, is_kept, has_moved; /* since the last look at its word */
    char told_place;
    uint8_t told_intends;
    directory_word word, next; /* at the last look; at this one */
    /* since the last line: of the row here; by way of other nodes */
    uint32_t changes, pulled, pushed;
};

struct followed {
    struct events_reader events;
    unsigned waiting; /* workers, for clocks */
};

struct trace {
    FILE *file;
    const struct store *store;
    uint64_t now_ns; /* of the last look */
    int64_t epoch_ns;
    struct traced *key; /* in order */
    size_t keys;
    struct followed *shard; /* [shards] */
    uint64_t lines, lost;
    pthread_t thread;
    bool runs;
    bool ends; /* atomic */
};

/* ---- which keys ---- */

/* Different ones, spread by chance, and the same on all nodes; all when there are no more. */
static void sample(struct trace *t, size_t n, uint64_t bound)
{
    uint64_t dice = 1, spread = n < bound ? bound / n : 1;
    while (t->keys < n && t->keys < bound) {
        dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
        t->key[t->keys].key = t->keys * spread + (dice >> 20) % spread;
        t->keys++;
    }
}

static int bad_keys(const char *text)
{
    return error_set(
        -EINVAL,
        "LOCUS_TRACE_KEYS is \"%s\": must be keys and ranges, like 1,2,7-9, or sample:100; %d keys at most",
        text, TRACE_KEYS_MAX);
}

static int no_such_key(const char *text, uint64_t bound)
{
    return error_set(-EINVAL, "LOCUS_TRACE_KEYS is \"%s\": keys end at %llu", text,
                     (unsigned long long)bound - 1);
}

/* A number at the beginning of *text, which is passed over. */
static bool take_number(const char **text, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)**text)) return false;
    *number = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

static int list(struct trace *t, const char *all, uint64_t bound)
{
    const char *text = all;
    do {
        uint64_t first, last;
        if (!take_number(&text, &first)) return bad_keys(all);
        last = first;
        if (*text == '-' && (text++, !take_number(&text, &last))) return bad_keys(all);
        if (last >= first && last >= bound) return no_such_key(all, bound);
        if (last < first || last - first >= TRACE_KEYS_MAX - t->keys) return bad_keys(all);
        for (uint64_t k = first; k <= last; k++) t->key[t->keys++].key = k;
    } while (*text == ',' && text++);
    return *text ? bad_keys(all) : 0;
}

static int choose(struct trace *t, uint64_t bound)
{
    const char *text = getenv("LOCUS_TRACE_KEYS");
    uint64_t count = SAMPLE_DEFAULT;
    if (text && *text) {
        if (strncmp(text, "sample:", 7) != 0) return list(t, text, bound);
        const char *number = text + 7;
        if (!take_number(&number, &count) || *number || count == 0 || count > TRACE_KEYS_MAX)
            return bad_keys(text);
    }
    sample(t, count, bound);
    return 0;
}

/* struct traced begins with its key. */
static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const locus_key *)a, y = *(const locus_key *)b;
    return (x > y) - (x < y);
}

/* In order, each once. */
static void sort(struct trace *t)
{
    size_t all = t->keys;
    if (all > 0) qsort(t->key, all, sizeof *t->key, by_number);
    t->keys = 0;
    for (size_t i = 0; i < all; i++)
        if (i == 0 || t->key[i].key != t->key[t->keys - 1].key) t->key[t->keys++] = t->key[i];
}

static struct traced *find(const struct trace *t, locus_key key)
{
    return bsearch(&key, t->key, t->keys, sizeof *t->key, by_number);
}

/* ---- lines ---- */

/* False: it does not fit any more. */
static bool begin_line(struct trace *t, uint64_t ns)
{
    if (t->lines == TRACE_LINES_MAX || ferror(t->file)) {
        t->lost++;
        return false;
    }
    t->lines++;
    fprintf(t->file, "{\"n\":%u,\"t\":%lld,", t->store->home.rank,
            (long long)((int64_t)ns + t->epoch_ns) / 1000);
    return true;
}

/* As docs/reference/run-files.md has it. */
static uint8_t intends(const struct traced *k)
{
    return k->is_kept ? 2 : k->is_wanted;
}

static void tell_place(struct trace *t, struct traced *k, uint64_t ns)
{
    if (k->place == k->told_place && intends(k) == k->told_intends) return;
    k->told_place = k->place;
    k->told_intends = intends(k);
    if (begin_line(t, ns))
        fprintf(t->file, "\"k\":%llu,\"s\":\"%c\",\"i\":%d}\n", (unsigned long long)k->key,
                k->place, intends(k));
}

static void tell_counts(struct trace *t, struct traced *k, uint64_t ns)
{
    if (k->changes + k->pulled + k->pushed == 0) return;
    if (begin_line(t, ns))
        fprintf(t->file, "\"k\":%llu,\"w\":%u,\"p\":%u,\"q\":%u}\n", (unsigned long long)k->key,
                k->changes, k->pulled, k->pushed);
    k->changes = k->pulled = k->pushed = 0;
}

static void tell_waits(struct trace *t, unsigned shard, unsigned waiting, uint64_t ns)
{
    if (waiting == t->shard[shard].waiting) return;
    t->shard[shard].waiting = waiting;
    if (begin_line(t, ns)) fprintf(t->file, "\"h\":%u,\"b\":%u}\n", shard, waiting);
}

/* ---- what happens ---- */

static char place_of(const struct trace *t, locus_key key)
{
    struct row_ref ref = store_row_ref(t->store, key);
    directory_word word = directory_load(row_ref_word(ref));
    return row_ref_is_here(ref, word) ? OWNER : row_ref_is_held(ref, word) ? REPLICA : ELSEWHERE;
}

static void move(struct traced *k, char to)
{
    k->place = to;
    k->has_moved = true;
}

static void take(struct traced *k, enum key_event_kind kind)
{
    switch (kind) {
    case EVENT_CAME: move(k, OWNER); break;
    case EVENT_REPLICATED: move(k, REPLICA); break;
    case EVENT_GAVE:
    case EVENT_DROPPED: move(k, ELSEWHERE); break;
    case EVENT_INTENDED: k->is_wanted = true; break;
    case EVENT_EXPIRED: k->is_wanted = false; break;
    case EVENT_KEPT: k->is_kept = true; break;
    case EVENT_UNKEPT: k->is_kept = false; break;
    case EVENT_PULLED: k->pulled++; break;
    case EVENT_PUSHED: k->pushed++; break;
    default: break;
    }
}

static void take_event(struct trace *t, unsigned shard, const struct key_event *e)
{
    if (e->kind == EVENT_WAITED) {
        tell_waits(t, shard, (unsigned)e->term, e->ns);
        return;
    }
    struct traced *k = find(t, keyspace_key(&t->store->keyspace, shard, e->index));
    if (!k) return;
    take(k, e->kind);
    tell_place(t, k, e->ns);
}

/* At first, and when events of the shard are lost: where its rows are, the directory says. */
static void read_places(struct trace *t, unsigned shard, uint64_t ns)
{
    for (struct traced *k = t->key; k < t->key + t->keys; k++) {
        if (keyspace_shard(&t->store->keyspace, k->key) != shard) continue;
        move(k, place_of(t, k->key));
        tell_place(t, k, ns);
    }
}

static void take_shard(struct trace *t, unsigned shard)
{
    struct key_event e[EVENTS_AT_ONCE];
    struct events_reader *r = &t->shard[shard].events;
    uint64_t lost = r->lost;
    for (size_t n; (n = events_read(r, e, EVENTS_AT_ONCE)) > 0; lost = r->lost) {
        t->lost += r->lost - lost;
        if (r->lost > lost) read_places(t, shard, e[0].ns);
        for (size_t i = 0; i < n; i++) take_event(t, shard, &e[i]);
    }
}

/* The word was read before the events: if the row had moved by then, one of them says so. A replica
 * gets its versions with its memory. */
static void count_changes(struct traced *k)
{
    uint64_t more = directory_version(k->next) - directory_version(k->word);
    bool is_same = k->place == OWNER ||
                   (k->place == REPLICA && directory_slot(k->next) == directory_slot(k->word));
    if (is_same && !k->has_moved) k->changes += (uint32_t)(more % DIRECTORY_VERSIONS);
    k->has_moved = false;
    k->word = k->next;
}

void trace_take(struct trace *t, uint64_t now_ns)
{
    t->now_ns = now_ns;
    for (size_t i = 0; i < t->keys; i++)
        t->key[i].next = directory_load(row_ref_word(store_row_ref(t->store, t->key[i].key)));
    for (unsigned s = 0; s < t->store->keyspace.shards; s++) take_shard(t, s);
    for (size_t i = 0; i < t->keys; i++) {
        count_changes(&t->key[i]);
        tell_counts(t, &t->key[i], now_ns);
    }
    fflush(t->file); /* else a child that was forked, and exits, would write it once more */
}

/* ---- the thread ---- */

static void *run(void *trace)
{
    static const struct timespec pause = {.tv_nsec = TRACE_PAUSE_NS};
    struct trace *t = trace;
    oversize_begin();
    while (!__atomic_load_n(&t->ends, __ATOMIC_RELAXED)) {
        trace_take(t, time_now_ns());
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- life ---- */

static void write_head(const struct trace *t, const char *technique)
{
    const struct keyspace *k = &t->store->keyspace;
    fprintf(t->file, "{\"node\":%u,\"nodes\":%u,\"technique\":\"%s\",\"keys\":%llu,\"tables\":[",
            t->store->home.rank, t->store->home.nodes, technique, (unsigned long long)k->keys);
    for (unsigned i = 0; i < k->tables; i++) {
        fprintf(t->file, "%s[\"", i ? "," : "");
        notation_name(t->file, k->table[i].name);
        fprintf(t->file, "\",%llu]", (unsigned long long)k->table[i].first);
    }
    fputs("]}\n", t->file);
}

static int begin_file(struct trace *t, const char *prefix, const char *technique)
{
    int rc = journal_create("LOCUS_TRACE", prefix, t->store->home.rank, "jsonl", &t->file);
    if (rc) return rc;
    write_head(t, technique);
    for (unsigned s = 0; s < t->store->keyspace.shards; s++) read_places(t, s, t->now_ns);
    return fflush(t->file) ? error_set(-EIO, "LOCUS_TRACE: cannot write %s", prefix) : 0;
}

static void free_trace(struct trace *t)
{
    if (t->file) fclose(t->file);
    free(t->shard);
    free(t->key);
    free(t);
}

int trace_open(const struct store *store, const char *technique, struct trace **out)
{
    const char *prefix = getenv("LOCUS_TRACE");
    *out = NULL;
    if (!prefix || !*prefix) return 0;
    if (store->home.nodes == 1) {
        fprintf(stderr, "locus: LOCUS_TRACE writes nothing: in a cluster of one no row moves\n");
        return 0;
    }
    struct trace *t = calloc(1, sizeof *t);
    if (!t) return error_set(-ENOMEM, "no memory for a trace");
    t->store = store;
    if (HAS_THREAD) {
        t->now_ns = time_now_ns();
        t->epoch_ns = time_epoch_ns();
    }
    t->key = calloc(TRACE_KEYS_MAX, sizeof *t->key);
    t->shard = calloc(store->keyspace.shards, sizeof *t->shard);
    int rc = t->key && t->shard ? choose(t, store->keyspace.keys)
                                : error_set(-ENOMEM, "no memory for a trace");
    if (rc == 0) sort(t);
    if (rc == 0) rc = begin_file(t, prefix, technique);
    if (rc)
        free_trace(t);
    else
        *out = t;
    return rc;
}

void trace_follow(struct trace *t, unsigned shard, const struct key_events *events)
{
    t->shard[shard].events.of = events;
}

int trace_start(struct trace *t)
{
    if (!t || !HAS_THREAD) return 0;
    int rc = pthread_create(&t->thread, NULL, run, t);
    t->runs = rc == 0;
    return rc ? error_set(-rc, "no thread for the trace (ulimit -u)") : 0;
}

void trace_close(struct trace *t)
{
    if (!t) return;
    __atomic_store_n(&t->ends, true, __ATOMIC_RELAXED);
    if (t->runs) pthread_join(t->thread, NULL);
    if (HAS_THREAD) t->now_ns = time_now_ns();
    trace_take(t, t->now_ns);
    if (!ferror(t->file))
        fprintf(t->file, "{\"t\":%lld,\"end\":1,\"lost\":%llu}\n",
                (long long)((int64_t)t->now_ns + t->epoch_ns) / 1000, (unsigned long long)t->lost);
    free_trace(t);
}
