#include "membership/dial.h"

#ifdef LOCUS_TSAN
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

/* nng counts a dialer's users with atomics that the thread sanitizer does not see: its connections,
 * which nng ends on another thread, and us. */
static void free_dialer(nng_stream_dialer *dialer)
{
#ifdef LOCUS_TSAN
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
    nng_stream_dialer_free(dialer);
#ifdef LOCUS_TSAN
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

int rendezvous_dial(const char *url, uint64_t timeout_ns, nng_stream **stream)
{
    nng_stream_dialer *dialer;
    nng_aio *aio;
    int result = nng_stream_dialer_alloc(&dialer, url);
    if (result) return result;
    result = nng_aio_alloc(&aio, NULL, NULL);
    if (result == 0) {
        /* not nng's default for streams */
        nng_stream_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, true);
        nng_aio_set_timeout(aio, (nng_duration)(timeout_ns / 1000000 + 1));
        nng_stream_dialer_dial(dialer, aio);
        nng_aio_wait(aio);
        result = nng_aio_result(aio);
        if (result == 0) *stream = nng_aio_get_output(aio, 0);
        nng_aio_free(aio);
    }
    free_dialer(dialer);
    return result;
}
