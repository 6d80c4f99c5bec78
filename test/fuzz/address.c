/* Addresses as texts: of a rendezvous, and of peers as rank 0 tells them (numeric, so that nobody
 * is asked). */
#include "input.h"

#include "net/address.h"

static void resolve(const char *text, int flags)
{
    struct addrinfo *all;
    char shown[ADDRESS_MAX];
    if (address_resolve("the address", text, flags | AI_NUMERICHOST, AF_UNSPEC, &all)) return;
    for (const struct addrinfo *a = all; a; a = a->ai_next) {
        const struct address m = address_from(a->ai_addr);
        if (address_text(&m, address_port(&m), shown) == 0) MUST(strlen(shown) < sizeof shown);
    }
    freeaddrinfo(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    struct rendezvous_address a;
    int flags = input_rarely(&in, 2) ? AI_PASSIVE : 0;
    char *text = input_text(&in, 600);
    if (rendezvous_address_parse(&a, text) == 0)
        MUST(strlen(a.host) < sizeof a.host && strlen(a.shown) < sizeof a.shown && a.port > 0 &&
             a.port < 65536);
    resolve(text, flags);
    free(text);
    return 0;
}
