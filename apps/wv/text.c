#include "text.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The first end of a word at or behind `at`. */
static const char *between_words(const struct text *t, const char *at)
{
    while (at > t->file.next && at < t->file.end && !is_space(*at)) at++;
    return at;
}

void text_open(struct text *t, const char *path, unsigned place, unsigned places)
{
    *t = (struct text){0};
    lines_open(&t->file, path);
    if (!t->file.file) return;
    const char *text = t->file.next; /* nobody takes lines: it stays where the text begins */
    size_t bytes = (size_t)(t->file.end - text);
    t->first = t->at = between_words(t, text + bytes / places * place);
    t->end = place + 1 == places ? t->file.end
                                 : between_words(t, text + bytes / places * (place + 1));
}

static _Noreturn void complain(struct text *t, const char *what)
{
    t->file.number = 1;
    for (const char *c = t->file.file; c < t->word; c++) t->file.number += *c == '\n';
    t->file.text = t->word;
    lines_fail(&t->file, "%s", what);
}

static void check_end(struct text *t)
{
    t->word = t->at;
    if (t->at + 1 < t->file.end && t->at[1] != '\n')
        complain(t, "has a carriage return in it: lines must end with LF or CR LF");
}

/* A byte order mark before a line is no part of its first word. */
static void pass_mark(struct text *t)
{
    bool is_first = t->at == t->file.file || t->at[-1] == '\n';
    if (is_first) t->at += lines_mark(t->at, (size_t)(t->end - t->at));
}

enum text_event text_next(struct text *t)
{
    if (t->at < t->end) pass_mark(t);
    for (; t->at < t->end && is_space(*t->at); t->at++) {
        if (*t->at == '\n') {
            t->at++;
            return TEXT_LINE;
        }
        if (*t->at == '\r') check_end(t);
    }
    if (t->at == t->end) return TEXT_END;
    t->word = t->at;
    for (; t->at < t->end && !is_space(*t->at); t->at++) {
        if (*t->at == '\0') complain(t, LINES_ZERO_BYTE);
    }
    t->length = (size_t)(t->at - t->word);
    if (t->length > TEXT_WORD_MAX)
        complain(t, "there is a word of more than 1024 bytes: is this text?");
    return TEXT_WORD;
}

void text_rewind(struct text *t)
{
    t->at = t->first;
}

void text_close(struct text *t)
{
    lines_close(&t->file);
    *t = (struct text){0};
}
