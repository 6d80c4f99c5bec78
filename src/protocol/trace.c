#include "protocol/trace.h"

#include "base/error.h"
#include "base/notation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, SAMPLE_DEFAULT = 16, VERSION_BITS = 64 - DIRECTORY_VERSION_SHIFT };

/* Of a key whose changes have not been noted yet. */
struct traced {
    uint64_t index;
    char place; /* enum trace_place, 0: not yet looked at */
    uint8_t intends;
    directory_word word;
    uint64_t term;
    uint32_t wrote; /* versions that are the shard's doing, since the last look */
    /* local, and by way of other nodes; since they were last noted */
    uint32_t writes, pulled, written;
};

/* Either the state from now on, or the accesses until now; or, without a key, how many workers wait
 * from now on: `writes`. */
#define OF_NO_KEY UINT32_MAX
struct event {
    uint64_t ns;
    uint32_t traced; /* position */
    char place;      /* 0: counts */
    uint8_t intends;
    uint16_t pulled, written; /* at most these are told */
    uint32_t writes;
};

struct trace {
    char path[PATH_BYTES];
    const struct keyspace *keyspace;
    unsigned node, shard;
    int64_t epoch_ns;
    struct traced *key;
    size_t keys;
    uint64_t counts_ns; /* when counts are noted next */
    unsigned waiting;   /* workers, for clocks */
    struct event *event;
    size_t events;
    uint64_t lost;
};

/* ---- which keys ---- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const locus_key *)a, y = *(const locus_key *)b;
    return (x > y) - (x < y);
}

static bool is_among(const locus_key *key, size_t n, locus_key wanted)
{
    for (size_t i = 0; i < n; i++)
        if (key[i] == wanted) return true;
    return false;
}

/* Different ones, spread by chance, and the same on all nodes; all when there are no more. */
static size_t sample(locus_key *key, size_t n, uint64_t bound)
{
    uint64_t dice = 1;
    for (size_t i = 0; i < n && i < bound; i++) {
        dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
        key[i] = (dice >> 20) % bound;
        while (is_among(key, i, key[i])) key[i] = (key[i] + 1) % bound;
    }
    return n < bound ? n : bound;
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

static int list(const char *all, locus_key *key, size_t *n, uint64_t bound)
{
    const char *text = all;
    do {
        uint64_t first, last;
        if (!take_number(&text, &first)) return bad_keys(all);
        last = first;
        if (*text == '-' && (text++, !take_number(&text, &last))) return bad_keys(all);
        if (last >= first && last >= bound) return no_such_key(all, bound);
        if (last < first || last - first >= TRACE_KEYS_MAX - *n) return bad_keys(all);
        for (uint64_t k = first; k <= last; k++) key[(*n)++] = k;
    } while (*text == ',' && text++);
    return *text ? bad_keys(all) : 0;
}

static int choose(locus_key *key, size_t *n, uint64_t bound)
{
    const char *text = getenv("LOCUS_TRACE_KEYS");
    uint64_t count = SAMPLE_DEFAULT;
    *n = 0;
    if (text && *text && strncmp(text, "sample:", 7) != 0) return list(text, key, n, bound);
    if (text && *text) {
        const char *number = text + 7;
        if (!take_number(&number, &count) || *number || count == 0 || count > TRACE_KEYS_MAX)
            return bad_keys(text);
    }
    *n = sample(key, count, bound);
    return 0;
}

/* Those of this shard, each once, by index. */
static int choose_here(struct trace *t, uint64_t bound)
{
    locus_key *key = malloc(TRACE_KEYS_MAX * sizeof *key);
    size_t n = 0;
    if (!key) return error_set(-ENOMEM, "no memory for a trace");
    int rc = choose(key, &n, bound);
    qsort(key, n, sizeof *key, by_number);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (keyspace_shard(t->keyspace, key[i]) != t->shard || (i > 0 && key[i] == key[i - 1]))
            continue;
        t->key[t->keys++] = (struct traced){.index = keyspace_index(t->keyspace, key[i])};
    }
    free(key);
    return rc;
}

static struct traced *find(const struct trace *t, uint64_t index)
{
    size_t low = 0, high = t->keys;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->key[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->keys && t->key[low].index == index ? &t->key[low] : NULL;
}

/* ---- what happens ---- */

static void note(struct trace *t, struct event e)
{
    if (t->events < TRACE_EVENTS_MAX)
        t->event[t->events++] = e;
    else
        t->lost++;
}

static uint16_t at_most(uint32_t n)
{
    return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

static void note_counts(struct trace *t, struct traced *k, uint64_t ns)
{
    if (k->writes + k->pulled + k->written == 0) return;
    note(t, (struct event){.ns = ns,
                           .traced = (uint32_t)(k - t->key),
                           .writes = k->writes,
                           .pulled = at_most(k->pulled),
                           .written = at_most(k->written)});
    k->writes = k->pulled = k->written = 0;
}

/* The same stay of the row: then its versions tell how often it was changed. */
static bool is_same_stay(const struct traced *k, char place, directory_word word, uint64_t term)
{
    if (place == TRACE_ELSEWHERE || place != k->place) return false;
    if (place == TRACE_OWNER) return term == k->term;
    return directory_slot(word) == directory_slot(k->word);
}

static void count_writes(struct traced *k, directory_word word)
{
    uint32_t changes = (uint32_t)((directory_version(word) - directory_version(k->word)) &
                                  ((UINT32_C(1) << VERSION_BITS) - 1));
    if (changes > k->wrote) k->writes += changes - k->wrote;
}

static void look_at(struct trace *t, struct traced *k, const struct trace_view *v, uint64_t now_ns)
{
    if (is_same_stay(k, v->place, v->word, v->term)) count_writes(k, v->word);
    k->wrote = 0;
    k->word = v->word;
    k->term = v->term;
    if (v->place == k->place && v->intends == k->intends) return;
    k->place = v->place;
    k->intends = v->intends;
    note(t, (struct event){.ns = now_ns,
                           .traced = (uint32_t)(k - t->key),
                           .place = v->place,
                           .intends = v->intends});
}

uint64_t trace_look(struct trace *t, uint64_t now_ns, trace_viewer *view, const void *context)
{
    for (size_t i = 0; i < t->keys; i++) {
        struct trace_view v = view(context, t->key[i].index);
        look_at(t, &t->key[i], &v, now_ns);
    }
    if (now_ns < t->counts_ns) return t->counts_ns;
    for (size_t i = 0; i < t->keys; i++) note_counts(t, &t->key[i], now_ns);
    return t->counts_ns = now_ns + TRACE_PAUSE_NS;
}

void trace_waits(struct trace *t, uint64_t now_ns, unsigned workers)
{
    if (workers == t->waiting) return;
    t->waiting = workers;
    note(t, (struct event){.ns = now_ns, .traced = OF_NO_KEY, .writes = workers});
}

void trace_wrote(struct trace *t, uint64_t index)
{
    struct traced *k = find(t, index);
    if (k) k->wrote++;
}

void trace_sent(struct trace *t, uint64_t index, enum request_kind kind)
{
    struct traced *k = find(t, index);
    if (k && request_pulls(kind)) k->pulled++;
    if (k && request_writes(kind)) k->written++;
}

/* ---- the file ---- */

static int begin_file(const struct trace *t, const struct trace_config *c)
{
    FILE *f = fopen(t->path, "we");
    if (!f)
        return error_set(-errno, "LOCUS_TRACE: cannot write %s: %s", t->path,
                         locus_strerror(-errno));
    fprintf(f, "{\"node\":%u,\"nodes\":%u,\"technique\":\"%s\",\"keys\":%llu,\"tables\":[", c->rank,
            c->nodes, c->technique, (unsigned long long)t->keyspace->keys);
    for (unsigned i = 0; i < t->keyspace->tables; i++) {
        fprintf(f, "%s[\"", i ? "," : "");
        notation_name(f, t->keyspace->table[i].name);
        fprintf(f, "\",%llu]", (unsigned long long)t->keyspace->table[i].first);
    }
    fputs("]}\n", f);
    return fclose(f) ? error_set(-EIO, "LOCUS_TRACE: cannot write %s", t->path) : 0;
}

static void write_event(const struct trace *t, FILE *f, const struct event *e)
{
    fprintf(f, "{\"n\":%u,\"t\":%lld,", t->node, (long long)((int64_t)e->ns + t->epoch_ns) / 1000);
    if (e->traced == OF_NO_KEY) {
        fprintf(f, "\"h\":%u,\"b\":%u}\n", t->shard, e->writes);
        return;
    }
    locus_key key = keyspace_key(t->keyspace, t->shard, t->key[e->traced].index);
    fprintf(f, "\"k\":%llu,", (unsigned long long)key);
    if (e->place)
        fprintf(f, "\"s\":\"%c\",\"i\":%d}\n", e->place, e->intends);
    else
        fprintf(f, "\"w\":%u,\"p\":%u,\"q\":%u}\n", e->writes, e->pulled, e->written);
}

static void write_end(const struct trace *t, FILE *f, uint64_t now_ns)
{
    long long now = ((long long)now_ns + t->epoch_ns) / 1000;
    fprintf(f, "{\"t\":%lld,\"end\":%u,\"lost\":%llu}\n", now, t->shard,
            (unsigned long long)t->lost);
}

/* ---- life ---- */

static int init(struct trace *t, const struct trace_config *c, const char *prefix)
{
    t->keyspace = c->keyspace;
    t->node = c->rank;
    t->shard = c->shard;
    t->epoch_ns = c->epoch_ns;
    t->key = calloc(TRACE_KEYS_MAX, sizeof *t->key);
    t->event = malloc(TRACE_EVENTS_MAX * sizeof *t->event);
    if (!t->key || !t->event) return error_set(-ENOMEM, "no memory for a trace");
    int n = snprintf(t->path, sizeof t->path, "%s.%u.jsonl", prefix, c->rank);
    if (n >= (int)sizeof t->path)
        return error_set(-EINVAL, "LOCUS_TRACE is longer than a path can be");
    int rc = choose_here(t, t->keyspace->keys);
    return rc || c->shard > 0 ? rc : begin_file(t, c);
}

static void free_trace(struct trace *t)
{
    free(t->event);
    free(t->key);
    free(t);
}

void trace_alone(void)
{
    const char *prefix = getenv("LOCUS_TRACE");
    if (prefix && *prefix)
        fprintf(stderr, "locus: LOCUS_TRACE writes nothing: in a cluster of one no row moves\n");
}

int trace_open(const struct trace_config *c, struct trace **out)
{
    const char *prefix = getenv("LOCUS_TRACE");
    *out = NULL;
    if (!prefix || !*prefix) return 0;
    struct trace *t = calloc(1, sizeof *t);
    if (!t) return error_set(-ENOMEM, "no memory for a trace");
    int rc = init(t, c, prefix);
    if (rc)
        free_trace(t);
    else
        *out = t;
    return rc;
}

void trace_close(struct trace *t, uint64_t now_ns)
{
    if (!t) return;
    FILE *f = fopen(t->path, "ae");
    if (f) {
        for (size_t i = 0; i < t->keys; i++) note_counts(t, &t->key[i], now_ns);
        for (size_t i = 0; i < t->events; i++) write_event(t, f, &t->event[i]);
        write_end(t, f, now_ns);
        fclose(f);
    }
    free_trace(t);
}
