#include "markup.h"

#include "utf8.h"

#include <string.h>

static const char *name_of(char c)
{
    switch (c) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    default: return NULL;
    }
}

/* XML 1.0, 2.2: Char. */
static size_t character(const char *text)
{
    size_t length = utf8_length(text);
    int is_control = length == 1 && (unsigned char)*text < ' ' && !strchr("\t\n\r", *text);
    int is_none = length == 3 &&
                  (memcmp(text, "\xEF\xBF\xBE", 3) == 0 || memcmp(text, "\xEF\xBF\xBF", 3) == 0);
    return is_control || is_none ? 0 : length;
}

void markup_text(FILE *f, const char *text)
{
    while (*text) {
        size_t length = character(text);
        const char *name = name_of(*text);
        if (name)
            fputs(name, f);
        else if (length == 0)
            fputs("\xEF\xBF\xBD", f);
        else
            fwrite(text, 1, length, f);
        text += length ? length : 1;
    }
}
