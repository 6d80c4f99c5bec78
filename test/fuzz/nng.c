#include "nng.h"

#include "input.h"

#include <nng/nng.h>
#include <nng/supplemental/util/platform.h>
#include <pthread.h>

enum { HEARD_BYTES = 4096 };

struct nng_aio {
    void (*callback)(void *);
    void *argument;
    nng_iov piece;
    int result;
    size_t count;
    void *output;
    bool is_queued, is_running; /* its end is told to the callback */
    struct nng_aio *next;
};

struct nng_stream {
    bool is_used, is_taken, is_closed, is_freed, has_ended, is_reset;
    nng_aio *receiving, *sending;
    size_t pace_in, pace_out;
    size_t have, heard;
    unsigned char in[PEER_BYTES], said[HEARD_BYTES];
};

struct nng_stream_listener {
    nng_aio *accepting;
    bool is_open, refuses;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static nng_aio *first, **end = &first; /* operations that have ended */
static bool is_busy;
static struct nng_stream stream[PEERS_MAX];
static nng_stream_listener listener;

static void unlock(const int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&mutex);
}
/* To the end of the block. */
#define LOCKED() __attribute__((cleanup(unlock), unused)) int is_locked = pthread_mutex_lock(&mutex)

/* ---- operations ------------------------------------------------------------------------------ */

static void finish(nng_aio *a, int result, size_t count)
{
    a->result = result;
    a->count = count;
    a->is_queued = true;
    a->next = NULL;
    *end = a;
    end = &a->next;
    pthread_cond_broadcast(&changed);
}

static void run_first(void)
{
    nng_aio *a = first;
    first = a->next;
    if (!first) end = &first;
    a->is_queued = false;
    a->is_running = true;
    is_busy = true;
    pthread_mutex_unlock(&mutex);
    if (a->callback) a->callback(a->argument);
    pthread_mutex_lock(&mutex);
    a->is_running = false;
    is_busy = false;
    pthread_cond_broadcast(&changed);
}

static void *run(void *unused)
{
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (!first) pthread_cond_wait(&changed, &mutex);
        run_first();
    }
    return unused;
}

#define AWAIT(condition) \
    LOCKED(); \
    while (!(condition)) pthread_cond_wait(&changed, &mutex)

void peer_settle(void)
{
    AWAIT(!first && !is_busy);
}

void peer_await_accept(void)
{
    AWAIT(listener.accepting);
}

void peer_await_taken(int peer)
{
    AWAIT(stream[peer].is_taken);
}

void nng_aio_wait(nng_aio *a)
{
    AWAIT(!a->is_queued && !a->is_running);
}

int nng_aio_alloc(nng_aio **out, void (*callback)(void *), void *argument)
{
    *out = fuzz_scratch(sizeof **out);
    (*out)->callback = callback;
    (*out)->argument = argument;
    return 0;
}

static void forget(nng_aio **place, const nng_aio *a)
{
    if (*place != a || !a) return;
    finish(*place, NNG_ECANCELED, 0);
    *place = NULL;
}

void nng_aio_stop(nng_aio *a)
{
    LOCKED();
    forget(&listener.accepting, a);
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        forget(&stream[i].receiving, a);
        forget(&stream[i].sending, a);
    }
    while (a->is_queued || a->is_running) pthread_cond_wait(&changed, &mutex);
}

void nng_aio_free(nng_aio *a)
{
    if (a) nng_aio_stop(a);
    free(a);
}

int nng_aio_result(nng_aio *a)
{
    return a->result;
}

size_t nng_aio_count(nng_aio *a)
{
    return a->count;
}

void *nng_aio_get_output(nng_aio *a, unsigned index)
{
    MUST(index == 0);
    return a->output;
}

int nng_aio_set_iov(nng_aio *a, unsigned pieces, const nng_iov *piece)
{
    MUST(pieces == 1 && piece->iov_len > 0);
    a->piece = *piece;
    return 0;
}

void nng_aio_set_timeout(nng_aio *a, nng_duration unused)
{
    (void)a, (void)unused;
}

/* ---- connections ----------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void go_on_receiving(nng_stream *s)
{
    nng_aio *a = s->receiving;
    if (!a) return;
    size_t n = smaller(smaller(a->piece.iov_len, s->have), s->pace_in);
    if (n == 0 && !s->is_closed && !s->is_reset && !s->has_ended) return;
    s->receiving = NULL;
    if (s->is_closed || s->is_reset || n == 0) {
        finish(a, s->is_closed ? NNG_ECLOSED : s->is_reset ? NNG_ECONNRESET : NNG_ECONNSHUT, 0);
        return;
    }
    memcpy(a->piece.iov_buf, s->in, n);
    s->have -= n;
    memmove(s->in, s->in + n, s->have);
    finish(a, 0, n);
}

static void note_said(nng_stream *s, const unsigned char *data, size_t bytes)
{
    size_t skip = bytes > HEARD_BYTES ? bytes - HEARD_BYTES : 0;
    data += skip;
    bytes -= skip;
    size_t keep = smaller(s->heard, HEARD_BYTES - bytes);
    memmove(s->said, s->said + s->heard - keep, keep);
    memcpy(s->said + keep, data, bytes);
    s->heard = keep + bytes;
}

static void go_on_sending(nng_stream *s)
{
    nng_aio *a = s->sending;
    if (!a) return;
    size_t n = smaller(a->piece.iov_len, s->pace_out);
    bool is_over = s->is_closed || s->is_reset;
    if (n == 0 && !is_over) return;
    s->sending = NULL;
    if (!is_over) note_said(s, a->piece.iov_buf, n);
    finish(a, s->is_closed ? NNG_ECLOSED : s->is_reset ? NNG_ECONNRESET : 0, is_over ? 0 : n);
}

static void begin(nng_stream *s, nng_aio **place, nng_aio *a, void (*go_on)(nng_stream *))
{
    LOCKED();
    MUST(!*place && !s->is_freed && !a->is_queued);
    *place = a;
    go_on(s);
}

void nng_stream_recv(nng_stream *s, nng_aio *a)
{
    begin(s, &s->receiving, a, go_on_receiving);
}

void nng_stream_send(nng_stream *s, nng_aio *a)
{
    begin(s, &s->sending, a, go_on_sending);
}

static void go_on_both(nng_stream *s)
{
    go_on_receiving(s);
    go_on_sending(s);
}

void nng_stream_close(nng_stream *s)
{
    LOCKED();
    MUST(!s->is_freed);
    s->is_closed = true;
    go_on_both(s);
}

void nng_stream_free(nng_stream *s)
{
    LOCKED();
    MUST(!s->is_freed && s->is_closed && !s->receiving && !s->sending);
    s->is_freed = true;
}

/* They are nowhere. */
int nng_stream_get_addr(nng_stream *s, const char *name, nng_sockaddr *a)
{
    (void)s, (void)name, (void)a;
    return NNG_ENOTSUP;
}

/* ---- the dialer ------------------------------------------------------------------------------ */

struct nng_stream_dialer {
    char unused;
};

int nng_stream_dialer_alloc(nng_stream_dialer **out, const char *url)
{
    static nng_stream_dialer dialer;
    MUST(*url);
    *out = &dialer;
    return 0;
}

int nng_stream_dialer_set_bool(nng_stream_dialer *d, const char *name, bool value)
{
    (void)d, (void)name, (void)value;
    return 0;
}

void nng_stream_dialer_free(nng_stream_dialer *d)
{
    (void)d;
}

/* The next peer that has not been taken. */
static nng_stream *take_peer(void)
{
    for (unsigned i = 0; i < PEERS_MAX && stream[i].is_used; i++) {
        if (stream[i].is_taken) continue;
        stream[i].is_taken = true;
        return &stream[i];
    }
    return NULL;
}

void nng_stream_dialer_dial(nng_stream_dialer *d, nng_aio *a)
{
    (void)d;
    LOCKED();
    a->output = take_peer();
    finish(a, a->output ? 0 : NNG_ECONNREFUSED, 0);
}

/* ---- the listener ---------------------------------------------------------------------------- */

static void go_on_accepting(nng_stream_listener *l)
{
    nng_aio *a = l->accepting;
    if (!a) return;
    if (!l->is_open || l->refuses) {
        l->accepting = NULL;
        l->refuses = false;
        finish(a, l->is_open ? NNG_ENOFILES : NNG_ECLOSED, 0);
        return;
    }
    a->output = take_peer();
    if (!a->output) return;
    l->accepting = NULL;
    finish(a, 0, 0);
}

int nng_stream_listener_alloc(nng_stream_listener **out, const char *url)
{
    MUST(*url && !listener.is_open);
    *out = &listener;
    return 0;
}

int nng_stream_listener_set_bool(nng_stream_listener *l, const char *name, bool value)
{
    MUST(l == &listener && *name);
    (void)value;
    return 0;
}

int nng_stream_listener_listen(nng_stream_listener *l)
{
    l->is_open = true;
    return 0;
}

/* It has no descriptor that a child could hold. */
int nng_stream_listener_get_addr(nng_stream_listener *l, const char *name, nng_sockaddr *a)
{
    (void)l, (void)name, (void)a;
    return NNG_ENOTSUP;
}

void nng_stream_listener_accept(nng_stream_listener *l, nng_aio *a)
{
    LOCKED();
    MUST(!l->accepting);
    l->accepting = a;
    pthread_cond_broadcast(&changed);
    go_on_accepting(l);
}

void nng_stream_listener_close(nng_stream_listener *l)
{
    LOCKED();
    l->is_open = false;
    go_on_accepting(l);
}

void nng_stream_listener_free(nng_stream_listener *l)
{
    nng_stream_listener_close(l);
}

/* ---- the peers ------------------------------------------------------------------------------- */

void nng_reset(void)
{
    static pthread_t thread;
    LOCKED();
    if (!thread) pthread_create(&thread, NULL, run, NULL);
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        if (!stream[i].is_used) break;
        MUST(!stream[i].is_taken || stream[i].is_freed);
        stream[i].is_used = false;
    }
    MUST(!listener.is_open && !listener.accepting && !first);
    listener.refuses = false;
}

int peer_connect(void)
{
    int peer = -1;
    LOCKED();
    for (int i = 0; i < PEERS_MAX && peer < 0; i++)
        if (!stream[i].is_used) peer = i;
    if (peer >= 0) {
        struct nng_stream *s = &stream[peer];
        memset(s, 0, offsetof(struct nng_stream, in));
        s->is_used = true;
        s->pace_in = s->pace_out = SIZE_MAX;
        go_on_accepting(&listener);
    }
    return peer;
}

void peer_send(int peer, const void *data, size_t bytes)
{
    struct nng_stream *s = &stream[peer];
    LOCKED();
    if (bytes > 0 && bytes <= PEER_BYTES - s->have && !s->has_ended) {
        memcpy(s->in + s->have, data, bytes);
        s->have += bytes;
        go_on_receiving(s);
    }
}

void peer_end(int peer)
{
    LOCKED();
    stream[peer].has_ended = true;
    go_on_both(&stream[peer]);
}

void peer_reset(int peer)
{
    LOCKED();
    stream[peer].is_reset = true;
    go_on_both(&stream[peer]);
}

void peer_pace(int peer, size_t in, size_t out)
{
    LOCKED();
    stream[peer].pace_in = in > 0 ? in : 1;
    stream[peer].pace_out = out;
    go_on_both(&stream[peer]);
}

size_t peer_heard(int peer, void *data, size_t max)
{
    LOCKED();
    size_t n = smaller(stream[peer].heard, max);
    memcpy(data, stream[peer].said + stream[peer].heard - n, n);
    return n;
}

void peer_refuse_next(void)
{
    LOCKED();
    listener.refuses = true;
    go_on_accepting(&listener);
}
