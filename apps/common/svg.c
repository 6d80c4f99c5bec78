#include "svg.h"

#include "markup.h"

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
