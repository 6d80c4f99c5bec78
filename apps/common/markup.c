#include "markup.h"

#include "plain.h"

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

void svg_text(FILE *f, double x, double y, int size, const char *colour, const char *anchor,
              const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" fill=\"%s\" text-anchor=\"%s\">", x, y,
            size, colour, anchor);
    markup_text(f, text);
    fputs("</text>\n", f);
}

void svg_begin(struct saving *s, const char *path, int width, int height, const char *title,
               const char *subtitle)
{
    saving_open(s, path);
    fprintf(
        s->file,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"Helvetica,Arial,sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        width, height, width, height);
    svg_text(s->file, 20, 32, 18, "#111111", "start", title);
    svg_text(s->file, 20, 54, 12, "#555555", "start", subtitle);
}

void svg_end(struct saving *s)
{
    fputs("</svg>\n", s->file);
    saving_close(s);
}
