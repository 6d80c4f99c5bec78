/* Addresses as texts: of a rendezvous, and of peers as rank 0 tells them (numeric, so that nobody
 * is asked). */
#include "input.h"

#include "cluster/address.h"
#include "net/mesh_address.h"

static void resolve(const char *text, int flags)
{
    struct addrinfo *all;
    char shown[MESH_ADDRESS_MAX];
    if (mesh_address_resolve("the address", text, flags | AI_NUMERICHOST, AF_UNSPEC, &all)) return;
    for (const struct addrinfo *a = all; a; a = a->ai_next) {
        struct mesh_address m = {.bytes = a->ai_addrlen};
        memcpy(&m.as, a->ai_addr, a->ai_addrlen);
        mesh_address_is_any(&m);
        if (mesh_address_text(&m, mesh_address_port(&m), shown) == 0)
            MUST(strlen(shown) < sizeof shown);
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
        MUST(strlen(a.host) < sizeof a.host && strlen(a.shown) < sizeof a.shown &&
             strtoul(a.port, NULL, 10) < 65536);
    resolve(text, flags);
    free(text);
    return 0;
}
