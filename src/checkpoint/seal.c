#include "checkpoint/seal.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

_Static_assert((int)SEAL_TAG == crypto_onetimeauth_BYTES, "a tag is Poly1305's");
_Static_assert((int)SEAL_KEY == crypto_onetimeauth_KEYBYTES, "so is the key");

int seal_begin(struct seal *s, uint64_t from, uint64_t end)
{
    seal_end(s);
    uint64_t tags = (end - from + SEAL_BYTES - 1) / SEAL_BYTES;
    *s = (struct seal){.from = from, .end = end, .tag = calloc(tags + 1, SEAL_TAG)};
    /* One key for all: tags are shown to nobody. */
    randombytes_buf(s->key, sizeof s->key);
    return s->tag ? 0 : -ENOMEM;
}

void seal_end(struct seal *s)
{
    free(s->tag);
    *s = (struct seal){.tag = NULL};
}

void seal_put(struct seal *s, uint64_t at, const void *data, size_t bytes)
{
    crypto_onetimeauth(s->tag[(at - s->from) / SEAL_BYTES], data, bytes, s->key);
}

bool seal_holds(const struct seal *s, uint64_t at, const void *data, size_t bytes)
{
    const unsigned char *tag = s->tag[(at - s->from) / SEAL_BYTES];
    return crypto_onetimeauth_verify(tag, data, bytes, s->key) == 0;
}
