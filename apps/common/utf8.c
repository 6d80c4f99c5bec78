#include "utf8.h"

#include <stdbool.h>

size_t utf8_length(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t length = c[0] < 0x80                   ? 1
                    : c[0] >= 0xC2 && c[0] < 0xE0 ? 2
                    : c[0] >= 0xE0 && c[0] < 0xF0 ? 3
                                                  : 4;
    if ((c[0] >= 0x80 && c[0] < 0xC2) || c[0] > 0xF4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80) return 0;
    bool is_long = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    bool is_surrogate = c[0] == 0xED && c[1] > 0x9F, is_beyond = c[0] == 0xF4 && c[1] > 0x8F;
    return is_long || is_surrogate || is_beyond ? 0 : length;
}
