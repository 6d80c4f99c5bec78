#include "base/error.h"
#include "cluster/admission.h"
#include "cluster/hub.h"
#include "net/forked.h"
#include "net/secret.h"

#include <errno.h>
#include <time.h>

static const uint64_t SECOND_NS = 1000000000;
/* for an earlier rank 0's port to become free */
static const uint64_t PORT_TIMEOUT_NS = 2 * SECOND_NS;
static const uint64_t PORT_RETRY_NS = 10000000;
/* after accepting has failed: no descriptors, say */
static const uint64_t ACCEPT_PAUSE_NS = 50000000;
/* after each while there are more than members: nng closes descriptors some time after their
 * connections ended, and those of a flood would use up what the process may have */
static const uint64_t CROWDED_PAUSE_NS = 1000000;
/* while the job runs: a flood of connections takes little of rank 0's time */
static const uint64_t CALM_PAUSE_NS = 10000000;

/* ---- accepting ---- */

static void limit_unauthenticated(const struct acceptor *acceptor)
{
    struct unauthenticated s = {.count = 0};
    for (struct channel *c = acceptor->hub->last; c; c = c->previous)
        if (c->rank < 0 && !c->is_closed) unauthenticated_add(&s, c, c->is_challenged);
    struct channel *leaves = unauthenticated_first_to_go(&s, acceptor->members);
    if (leaves) channel_close(leaves);
}

static unsigned channels_max(const struct acceptor *acceptor)
{
    return 2 * (UNAUTHENTICATED_MAX + acceptor->members);
}

/* Not before ending channels have ended: otherwise a flood of unauthenticated peers would fill the
 * memory faster than it is freed. */
static void accept_next(struct acceptor *acceptor)
{
    acceptor->accept_ns = 0;
    if (!acceptor->listener || acceptor->is_accepting ||
        acceptor->hub->channels >= channels_max(acceptor))
        return;
    acceptor->is_accepting = true;
    nng_stream_listener_accept(acceptor->listener, acceptor->accepting);
}

static void take_unauthenticated(struct acceptor *acceptor, nng_stream *stream)
{
    if (acceptor->listener) limit_unauthenticated(acceptor);
    if (acceptor->listener && channel_open(acceptor->hub, stream, time_now_ns() + PROVING_NS))
        return;
    nng_stream_close(stream);
    nng_stream_free(stream);
}

static void on_accepted(void *context)
{
    struct acceptor *acceptor = context;
    hub_lock(acceptor->hub);
    acceptor->is_accepting = false;
    int result = nng_aio_result(acceptor->accepting);
    if (result == 0) take_unauthenticated(acceptor, nng_aio_get_output(acceptor->accepting, 0));
    if (result == NNG_ENOFILES) acceptor->lacks_descriptors = true;
    uint64_t pause_ns = result ? ACCEPT_PAUSE_NS : acceptor->pause_ns;
    if (pause_ns == 0 && acceptor->hub->channels > acceptor->members) pause_ns = CROWDED_PAUSE_NS;
    if (pause_ns == 0)
        accept_next(acceptor);
    else
        acceptor->accept_ns = time_now_ns() + pause_ns;
    if (acceptor->accept_ns) hub_note(acceptor->hub);
    hub_unlock(acceptor->hub);
}

void acceptor_calm(struct acceptor *acceptor)
{
    acceptor->pause_ns = CALM_PAUSE_NS;
}

uint64_t acceptor_tick(struct acceptor *acceptor, uint64_t now_ns)
{
    if (now_ns >= acceptor->accept_ns) accept_next(acceptor);
    return acceptor->accept_ns ? acceptor->accept_ns : HUB_NEVER;
}

/* ---- listening ---- */

static int listening_failed(const char *shown, int result)
{
    const char *what = "rank 0 cannot listen at the rendezvous";
    switch (result) {
    case NNG_EADDRINUSE:
        return error_set(
            -EADDRINUSE,
            "%s %.300s: the port is taken, by another program or by a cluster that still runs: end it, or "
            "choose another port",
            what, shown);
    case NNG_EADDRINVAL:
        return error_set(
            -EINVAL,
            "%s %.300s: this machine has no such address: give an address of the machine of rank 0",
            what, shown);
    case NNG_EPERM:
        return error_set(-EACCES, "%s %.300s: it is not permitted: choose a port above 1023", what,
                         shown);
    case NNG_ENOFILES:
        return error_set(-EMFILE, "%s %.300s: no descriptors are left: raise `ulimit -n`", what,
                         shown);
    default: return error_set(-EIO, "%s %.300s: %s", what, shown, nng_strerror(result));
    }
}

static int listen_at(struct acceptor *acceptor, const char *url)
{
    nng_stream_listener *l;
    int result = nng_stream_listener_alloc(&l, url);
    if (result) return result;
    /* By default nng's streams let small messages wait for acknowledgements of earlier ones. */
    result = nng_stream_listener_set_bool(l, NNG_OPT_TCP_NODELAY, true);
    if (result == 0) result = nng_stream_listener_listen(l);
    if (result) {
        nng_stream_listener_free(l);
        return result;
    }
    acceptor->listener = l;
    acceptor->fd = streams_descriptor_of_listener(l);
    if (acceptor->fd >= 0) forked_register(acceptor->fd); /* no memory: children keep the port */
    return 0;
}

static int listen_at_any(struct acceptor *acceptor, const struct rendezvous_address *a,
                         bool loopback_only)
{
    int result = NNG_EADDRINVAL;
    for (unsigned i = 0; i < a->urls; i++) {
        if (loopback_only && !a->is_loopback[i]) continue;
        result = listen_at(acceptor, a->url[i]);
        if (result == 0 || result == NNG_EADDRINUSE) return result;
    }
    return result;
}

static int start_listening(struct acceptor *acceptor, const struct rendezvous_address *a,
                           bool loopback_only, uint64_t deadline_ns)
{
    const struct timespec pause = {.tv_nsec = (long)PORT_RETRY_NS};
    uint64_t until_ns = time_now_ns() + PORT_TIMEOUT_NS;
    if (until_ns > deadline_ns) until_ns = deadline_ns;
    int result = listen_at_any(acceptor, a, loopback_only);
    while (result == NNG_EADDRINUSE && time_now_ns() < until_ns) {
        nanosleep(&pause, NULL);
        result = listen_at_any(acceptor, a, loopback_only);
    }
    return result ? listening_failed(a->shown, result) : 0;
}

/* ---- life ---- */

int acceptor_init(struct acceptor *acceptor, struct hub *hub, unsigned members)
{
    acceptor->hub = hub;
    acceptor->members = members;
    return nng_aio_alloc(&acceptor->accepting, on_accepted, acceptor) ? -ENOMEM : 0;
}

int acceptor_open(struct acceptor *acceptor, const struct rendezvous_address *a, bool loopback_only,
                  uint64_t deadline_ns)
{
    bool may_listen = !loopback_only;
    for (unsigned i = 0; i < a->urls; i++) may_listen |= a->is_loopback[i];
    if (!may_listen) return address_not_on_loopback(a->shown);
    return start_listening(acceptor, a, loopback_only, deadline_ns);
}

void acceptor_close(struct acceptor *acceptor)
{
    if (!acceptor->listener) return;
    forked_unregister(acceptor->fd);
    nng_stream_listener_close(acceptor->listener);
    nng_stream_listener_free(acceptor->listener); /* returns when the descriptor is closed */
    acceptor->listener = NULL;
}

void acceptor_stop(struct acceptor *acceptor)
{
    nng_aio_stop(acceptor->accepting);
}

void acceptor_fini(struct acceptor *acceptor)
{
    nng_aio_free(acceptor->accepting);
}
