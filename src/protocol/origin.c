#include "protocol/origin.h"

#include "protocol/clocks.h"
#include "protocol/loss.h"
#include "protocol/once.h"
#include "store/change.h"

#include <string.h>

static const struct {
    uint8_t asked, answered;
} operations[] = {[REQUEST_PULL] = {WIRE_PULL, WIRE_PULLED},
                  [REQUEST_PULL_STATE] = {WIRE_PULL, WIRE_PULLED},
                  [REQUEST_PUSH] = {WIRE_PUSH, WIRE_PUSHED},
                  [REQUEST_SET] = {WIRE_SET, WIRE_WAS_SET},
                  [REQUEST_SET_STATE] = {WIRE_SET, WIRE_WAS_SET},
                  [REQUEST_LOCALIZE] = {WIRE_LOCALIZE, WIRE_STAYS}};

/* ---- requests ---- */

/* What an item takes from the credit: one direction carries the row, the other only a header. */
static size_t cost(const struct partition *p)
{
    return wire_entry_bytes(p->stored > p->length ? p->stored : p->length) + wire_entry_bytes(0);
}

static bool fits_credit(const struct shard *s, unsigned peer, size_t bytes)
{
    return s->asked_bytes[peer] == 0 || s->asked_bytes[peer] + bytes <= s->credit_bytes;
}

/* One more is under way, or one less. */
static void count_write(struct shard *s, enum request_kind kind, bool more)
{
    if (s->once && request_writes(kind)) s->once->under_way += more ? 1 : UINT32_MAX;
}

static void count_time(struct shard *s, const struct request *r)
{
    struct shard_histograms *h = &s->histograms;
    struct locus_histogram *took = r->kind == REQUEST_LOCALIZE ? &h->relocation
                                   : request_pulls(r->kind)    ? &h->pull
                                                               : &h->push;
    histogram_add(took, s->now_ns - r->began_ns);
}

static void item_done(struct shard *s, struct request *r, uint32_t i)
{
    r->item[i].state = ITEM_DONE;
    if (++r->answered < r->count) return;
    if (r->kind == REQUEST_LOCALIZE || s->events) count_time(s, r);
    *shard_active(s, r->worker, r->number) = NULL;
    clocks_done(s, r);
    s->platform->complete(s->platform->context, r, 0);
}

/* The row is here: does what the item asks. */
static void serve_item(struct shard *s, struct request *r, uint32_t i, struct row_ref ref)
{
    float *values = r->item[i].values;
    if (r->kind == REQUEST_PULL) shard_read(ref, values, 0);
    if (r->kind == REQUEST_PULL_STATE) shard_read(ref, values, ROW_WITH_STATE);
    if (r->kind == REQUEST_PUSH) shard_write(s, ref, values, ROW_ADD);
    if (r->kind == REQUEST_SET) shard_write(s, ref, values, ROW_SET);
    if (r->kind == REQUEST_SET_STATE) shard_write(s, ref, values, ROW_SET_STATE);
    item_done(s, r, i);
}

static uint64_t asker_bit(const struct request *r)
{
    return UINT64_C(1) << r->worker % 64;
}

/* Floats that the request has for the owner. */
static uint32_t sent_length(enum request_kind kind, const struct partition *p)
{
    if (kind == REQUEST_PUSH) return p->length;
    return request_sets(kind) ? p->stored : 0;
}

/* A new row has its state. `number` tells this one apart from other rows for the key: values round
 * by it. */
static void copy_row(struct row_ref ref, enum request_kind kind, float *to, const float *values,
                     uint64_t number)
{
    partition_store(ref.partition, to, values, kind == REQUEST_SET_STATE, draw_at(ref, number));
}

/* What the entry says beside its key. */
static void fill(struct wire_entry *e, struct row_ref ref, enum request_kind kind,
                 const float *values)
{
    const struct partition *p = ref.partition;
    if (request_sets(kind)) copy_row(ref, kind, wire_values(e), values, e->tag);
    if (kind != REQUEST_PUSH) return;
    memcpy(wire_values(e), values, p->length * sizeof *values);
    if (!p->optimizer) return;
    struct row_step step = optimizer_step(p->optimizer);
    e->rate = step.rate;
    e->size = step.size;
}

static bool send_item(struct shard *s, struct request *r, uint32_t i, struct row_ref ref,
                      struct location to)
{
    struct request_item *item = &r->item[i];
    size_t bytes = cost(ref.partition);
    uint32_t length = sent_length(r->kind, ref.partition);
    if (!fits_credit(s, to.owner, bytes)) return false;
    if (s->once && s->once->under_way == ONCE_WRITES_MAX && request_writes(r->kind)) return false;
    item->peer = (uint16_t)to.owner;
    item->state = ITEM_ASKED;
    shard_asks(s, to.owner, s->asked_bytes[to.owner] + bytes);
    count_write(s, r->kind, true);
    if (r->kind != REQUEST_LOCALIZE)
        shard_event(s, ref.index, to.owner, request_pulls(r->kind) ? EVENT_PULLED : EVENT_PUSHED,
                    WHY_NONE, to.term);
    if (s->technique->moves) {
        struct record *record = record_get(&s->records, ref.index);
        record->asked++;
        record->route = item->peer;
        record->localizing += r->kind == REQUEST_LOCALIZE;
        if (key_is_wanted(&s->records.state[ref.index]) && r->kind != REQUEST_LOCALIZE) {
            shard_count(&s->counters.intents_late, 1);
            s->margin.was_late = true;
        }
        record->askers |= asker_bit(r);
        record->asked_last = request_place_of(r, 0);
    }
    struct wire_entry *e =
        shard_entry(s, to.owner,
                    (struct wire_entry){.operation = operations[r->kind].asked,
                                        .owner = item->peer,
                                        .origin = (uint16_t)s->rank,
                                        .flags = r->kind == REQUEST_PULL_STATE ? WIRE_STATE : 0,
                                        .length = length,
                                        .tag = request_tag(r, i),
                                        .key = item->key,
                                        .term = to.term},
                    0);
    /* If the link has failed, the request ends when the shard is told. */
    if (e) fill(e, ref, r->kind, item->values);
    return true;
}

enum course { COURSE_HERE, COURSE_SEND, COURSE_SET, COURSE_WAIT };

/* A request of an earlier call of this worker for the key is under way. It may be forwarded to and
 * fro while the row moves, so a later one could be served first even if it goes the same way. (A
 * call promises no order among its own keys.) */
static bool may_overtake(const struct record *record, const struct request *r)
{
    return record->askers & asker_bit(r) && record->asked_last != request_place_of(r, 0);
}

/* What can be done now about an item of this key. `record` may be NULL. */
static enum course course_of(const struct shard *s, const struct record *record,
                             const struct request *r, struct location l)
{
    if ((l.is_here || l.is_replica) && r->kind == REQUEST_LOCALIZE) return COURSE_HERE;
    if (record && (record->set != REQUEST_NOWHERE || record->unseen_first != REQUEST_NOWHERE))
        return COURSE_WAIT;
    if (l.is_here || l.is_replica) {
        if (record && record->asked) return COURSE_WAIT;
        return l.is_replica && request_sets(r->kind) ? COURSE_SET : COURSE_HERE;
    }
    if (l.owner == s->rank) return COURSE_WAIT; /* the row is on its way */
    if (!record || record->asked == 0) return COURSE_SEND;
    if (record->localizing || record->route != l.owner || may_overtake(record, r))
        return COURSE_WAIT;
    return COURSE_SEND;
}

/* Also of a tag that was checked. */
static struct request_item *item_at(const struct shard *s, request_place place, struct request **r)
{
    size_t worker = request_tag_worker(place);
    *r = s->active[worker * REQUEST_NUMBERS_MAX + request_tag_number(place)];
    return &(*r)->item[request_tag_item(place)];
}

static void wait_in(struct shard *s, struct record *record, struct request *r, uint32_t i)
{
    struct request *last;
    request_place place = request_place_of(r, i);
    r->item[i].state = ITEM_WAITS;
    r->item[i].next = REQUEST_NOWHERE;
    if (record->waiting_first == REQUEST_NOWHERE)
        record->waiting_first = place;
    else
        item_at(s, record->waiting_last, &last)->next = place;
    record->waiting_last = place;
}

/* Does what the course says. False: the item must wait, for other requests or for credit.
 * `record`: NULL only if there is none and the course needs none. */
static bool go(struct shard *s, struct record *record, struct request *r, uint32_t i,
               struct row_ref ref, struct location l, enum course course)
{
    switch (course) {
    case COURSE_HERE: serve_item(s, r, i, ref); return true;
    case COURSE_SEND: return send_item(s, r, i, ref, l);
    case COURSE_SET: /* a replica, through its owner, in the key's entry (README.md) */
        r->item[i].state = ITEM_WAITS;
        record->set = request_place_of(r, i);
        shard_wake(s, record, WOKEN_REPLICA);
        return true;
    case COURSE_WAIT: return false;
    }
    return false;
}

bool origin_take_on(struct shard *s, struct request *r, uint32_t i)
{
    struct row_ref ref = store_row_ref(s->store, r->item[i].key);
    struct location l = location_of(s, ref);
    struct record *record = s->technique->moves ? record_find(&s->records, ref.index) : NULL;
    enum course course = course_of(s, record, r, l);
    if (record && record->waiting_first != REQUEST_NOWHERE) course = COURSE_WAIT; /* in order */
    if (course == COURSE_WAIT || course == COURSE_SET) record = record_get(&s->records, ref.index);
    if (course == COURSE_WAIT) wait_in(s, record, r, i);
    return go(s, record, r, i, ref, l, course) || course == COURSE_WAIT;
}

static void stall(struct shard *s, struct record *record)
{
    if (record->is_stalled) return;
    record->is_stalled = true;
    record->stalled_next = s->stalled;
    s->stalled = record->number;
}

/* False: the first that waits cannot go on yet. */
static bool first_goes_on(struct shard *s, struct record *record, struct row_ref ref)
{
    struct request *r;
    const struct request_item *item = item_at(s, record->waiting_first, &r);
    uint32_t i = request_tag_item(record->waiting_first);
    struct location l = location_of(s, ref);
    enum course course = course_of(s, record, r, l);
    request_place next = item->next; /* once served, the item is its worker's */
    bool goes = go(s, record, r, i, ref, l, course);
    if (goes) record->waiting_first = next;
    if (!goes && course == COURSE_SEND) stall(s, record);
    return goes;
}

void origin_go_on(struct shard *s, struct record *record)
{
    struct row_ref ref = shard_row_ref(s, record->index);
    while (record->waiting_first != REQUEST_NOWHERE)
        if (!first_goes_on(s, record, ref)) return;
}

void origin_wake_stalled(struct shard *s)
{
    uint32_t stalled = s->stalled;
    s->stalled = 0;
    while (stalled) {
        struct record *record = record_at(&s->records, stalled);
        stalled = record->stalled_next;
        record->is_stalled = false;
        shard_wake(s, record, WOKEN_ORIGIN);
    }
}

/* ---- answers ---- */

static void no_longer_asked(struct record *record, bool localizes)
{
    record->asked--;
    if (record->asked == 0) record->askers = 0;
    record->localizing -= localizes;
}

/* The request that the tag belongs to: the peer may have invented it. */
static struct request *find(const struct shard *s, uint32_t tag)
{
    uint32_t worker = request_tag_worker(tag);
    if (worker >= s->workers) return NULL;
    struct request *r = s->active[(size_t)worker * REQUEST_NUMBERS_MAX + request_tag_number(tag)];
    return r && request_tag_item(tag) < r->sent && request_tag(r, request_tag_item(tag)) == tag
               ? r
               : NULL;
}

static bool is_of(enum request_kind kind, const struct wire_entry *e)
{
    if (e->operation == WIRE_ROW) return kind == REQUEST_LOCALIZE;
    if (e->operation != operations[kind].asked && e->operation != operations[kind].answered)
        return false;
    return !request_pulls(kind) || !(e->flags & WIRE_STATE) == (kind != REQUEST_PULL_STATE);
}

const char *origin_check(const struct shard *s, const struct wire_entry *e)
{
    if (e->operation == WIRE_ROW && e->encoding != WIRE_BINARY32)
        return "a row for a localize that is our replica";
    const struct request *r = find(s, e->tag);
    if (!r) return "an answer to what was never asked";
    const struct request_item *item = &r->item[request_tag_item(e->tag)];
    if (item->key != e->key || !is_of(r->kind, e))
        return "an answer to something else than was asked";
    return item->state == ITEM_ASKED ? NULL : "an answer twice";
}

/* What was written at the owner has version `version` there: is it in our replica? */
static bool is_seen(const struct shard *s, const struct record *record, struct row_ref ref,
                    uint64_t version)
{
    return version == 0 || !location_of(s, ref).is_replica || record->version >= version;
}

static void wait_to_be_seen(struct record *record, struct request *r, uint32_t i, uint64_t version)
{
    r->item[i].state = ITEM_WAITS;
    r->item[i].next = record->unseen_first;
    record->unseen_first = request_place_of(r, i);
    if (version <= record->unseen_version) return;
    record->unseen_version = version;
    record->asked_unseen = false;
}

void origin_seen(struct shard *s, struct record *record)
{
    struct request *r;
    while (record->unseen_first != REQUEST_NOWHERE) {
        request_place place = record->unseen_first;
        record->unseen_first = item_at(s, place, &r)->next;
        item_done(s, r, request_tag_item(place));
    }
    record->unseen_version = 0;
}

void origin_set_value(const struct shard *s, const struct record *record, float *values)
{
    struct request *r;
    const struct request_item *item = item_at(s, record->set, &r);
    copy_row(shard_row_ref(s, record->index), r->kind, values, item->values, record->set);
}

void origin_set_done(struct shard *s, struct record *record, bool is_here)
{
    struct request *r;
    request_place place = record->set;
    item_at(s, place, &r);
    record->set = REQUEST_NOWHERE;
    if (is_here)
        serve_item(s, r, request_tag_item(place), shard_row_ref(s, record->index));
    else
        item_done(s, r, request_tag_item(place));
}

/* An item of ours was answered; a write got this version at the owner, 0: none. */
static void finish_item(struct shard *s, uint32_t tag, struct row_ref ref, uint64_t version)
{
    struct request *r;
    unsigned peer = item_at(s, tag, &r)->peer;
    uint32_t i = request_tag_item(tag);
    bool localizes = r->kind == REQUEST_LOCALIZE;
    struct record *record = s->technique->moves ? record_find(&s->records, ref.index) : NULL;
    shard_asks(s, peer, s->asked_bytes[peer] - cost(ref.partition));
    count_write(s, r->kind, false);
    bool waits = record && !is_seen(s, record, ref, version);
    if (waits)
        wait_to_be_seen(record, r, i, version);
    else
        item_done(s, r, i);
    if (!record) return;
    no_longer_asked(record, localizes);
    shard_wake(s, record, waits ? WOKEN_REPLICA : WOKEN_ORIGIN);
}

/* A request of ours has come back: the row has come here meanwhile. */
void origin_came_back(struct shard *s, const struct wire_entry *e, struct row_ref ref)
{
    struct request *r;
    float *values = item_at(s, e->tag, &r)->values;
    if (e->operation == WIRE_PULL)
        shard_read(ref, values, e->flags & WIRE_STATE ? ROW_WITH_STATE : 0);
    if (e->operation == WIRE_PUSH) shard_push(s, ref, e);
    if (e->operation == WIRE_SET) shard_write(s, ref, wire_values_const(e), ROW_SET_STORED);
    finish_item(s, e->tag, ref, 0);
}

const char *origin_answer(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    const char *wrong = origin_check(s, e);
    if (wrong) return wrong;
    struct request *r;
    const struct request_item *item = item_at(s, e->tag, &r);
    if (!s->technique->moves && item->peer != a->peer)
        return "an answer that another node was asked for";
    if (s->technique->moves) location_learn(s, a->ref, e->owner, e->term);
    if (e->length)
        partition_show(a->ref.partition, item->values, wire_values_const(e), e->flags & WIRE_STATE);
    if (s->once && request_writes(r->kind)) once_of(s, a->peer, s->rank)->count++;
    finish_item(s, e->tag, a->ref, e->version);
    return NULL;
}

void origin_row_is_here(struct shard *s, const struct arrival *a)
{
    finish_item(s, a->entry->tag, a->ref, 0);
}

/* ---- a node was lost ---- */

/* Of all items that were asked. */
static void each_asked(struct shard *s, void each(struct shard *, struct request *, uint32_t i))
{
    for (size_t k = 0; k < (size_t)s->workers * REQUEST_NUMBERS_MAX; k++) {
        struct request *r; /* it may end with its last item */
        for (uint32_t i = 0; (r = s->active[k]) && i < r->sent; i++)
            if (r->item[i].state == ITEM_ASKED) each(s, r, i);
    }
}

/* What was told stays so where another repair overtakes one. */
static void not_held(struct shard *s, struct request *r, uint32_t i)
{
    if (s->failure == 0 || r->item[i].next != REQUEST_TOLD) r->item[i].next = REQUEST_NOWHERE;
}

void origin_repairs(struct shard *s)
{
    each_asked(s, not_held);
}

const char *origin_held(struct shard *s, const struct wire_entry *e)
{
    struct request *r = find(s, e->tag);
    struct request_item *item = r ? &r->item[request_tag_item(e->tag)] : NULL;
    if (!item || item->key != e->key || item->state != ITEM_ASKED)
        return "a request is held that was never asked";
    item->next = request_place_of(r, request_tag_item(e->tag));
    return NULL;
}

/* It may also have been told by another one; and the answer of one that leaves may come yet. A note of
 * whose answer we have is old, and its tag may be another request's. */
const char *origin_told(struct shard *s, const struct wire_entry *e)
{
    if (!s->once || s->failure != SHARD_REPAIRS) return "writes of a node that was not lost";
    if (!loss_is_undecided(s->losses, e->owner)) return NULL; /* who says it has not decided */
    uint64_t answers = once_of(s, e->owner, s->rank)->count;
    for (uint64_t i = answers > e->version ? answers - e->version : 0; i < e->length; i++) {
        uint32_t tag;
        memcpy(&tag, wire_values_const(e) + i, sizeof tag);
        struct request *r = find(s, tag);
        struct request_item *item = r ? &r->item[request_tag_item(tag)] : NULL;
        if (!item || item->state != ITEM_ASKED) continue;
        if (!request_writes(r->kind)) return "a write that is none";
        item->next = REQUEST_TOLD;
    }
    return NULL;
}

/* Before what has waited longer for the key: it came later. */
static void wait_again(struct shard *s, struct request *r, uint32_t i, struct row_ref ref)
{
    struct request_item *item = &r->item[i];
    struct record *record = record_find(&s->records, ref.index);
    shard_asks(s, item->peer, s->asked_bytes[item->peer] - cost(ref.partition));
    count_write(s, r->kind, false);
    no_longer_asked(record, r->kind == REQUEST_LOCALIZE);
    item->state = ITEM_WAITS;
    item->next = record->waiting_first;
    record->waiting_first = request_place_of(r, i);
    if (item->next == REQUEST_NOWHERE) record->waiting_last = record->waiting_first;
    shard_count(&s->counters.asked_again, 1);
}

static void judge(struct shard *s, struct request *r, uint32_t i)
{
    struct row_ref ref = store_row_ref(s->store, r->item[i].key);
    if (r->item[i].next == REQUEST_TOLD)
        finish_item(s, request_tag(r, i), ref, 0);
    else if (r->item[i].next == REQUEST_NOWHERE)
        wait_again(s, r, i, ref);
}

void origin_ask_again(struct shard *s)
{
    each_asked(s, judge);
}
