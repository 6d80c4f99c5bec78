#include "checkpoint/digest.h"

enum { DIGEST_BYTES = DIGEST_HEX / 2 };

void digest_begin(struct digest *d)
{
    crypto_generichash_init(&d->state, NULL, 0, DIGEST_BYTES);
}

void digest_add(struct digest *d, const void *data, size_t bytes)
{
    crypto_generichash_update(&d->state, data, bytes);
}

void digest_end(struct digest *d, char text[DIGEST_TEXT])
{
    unsigned char raw[DIGEST_BYTES];
    crypto_generichash_final(&d->state, raw, sizeof raw);
    sodium_bin2hex(text, DIGEST_TEXT, raw, sizeof raw);
}

void digest_of(const void *data, size_t bytes, char text[DIGEST_TEXT])
{
    struct digest d;
    digest_begin(&d);
    digest_add(&d, data, bytes);
    digest_end(&d, text);
}
