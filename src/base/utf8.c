#include "base/utf8.h"

#include <stddef.h>

/* How many bytes the character at `c` has; 0: it is none, or one that controls. */
static size_t bytes_of(const unsigned char *c)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = 1;
    if (*c >= 0x80) bytes = *c < 0xC0 || *c >= 0xF8 ? 0 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : 4;
    if (bytes == 0) return 0;
    unsigned code = bytes == 1 ? *c : *c & (0x7Fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (c[i] & 0x3Fu);
    }
    bool is_surrogate = code >= 0xD800 && code < 0xE000;
    bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    return code < least[bytes] || code > 0x10FFFF || is_surrogate || is_control ? 0 : bytes;
}

bool utf8_is_text(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    for (size_t bytes; *c; c += bytes)
        if ((bytes = bytes_of(c)) == 0) return false;
    return true;
}
