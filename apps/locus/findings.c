#include "findings.h"

#include "json.h"
#include "plain.h"
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const words[FIND_VERDICTS] = {
    [FIND_OK] = "ok", [FIND_WARN] = "warn", [FIND_FAIL] = "fail", [FIND_SKIP] = "skip"};

void findings_init(struct findings *all, bool is_json)
{
    *all = (struct findings){.is_json = is_json};
}

static void print_json(enum verdict v, const char *about, const char *text)
{
    struct json j;
    json_begin(&j, "check");
    json_text(&j, "check", about);
    json_text(&j, "verdict", words[v]);
    json_text(&j, "text", text);
    json_end(&j);
}

/* Texts of several lines (the picture of the cores) go on below themselves. */
static void print_text(enum verdict v, const char *about, const char *text)
{
    char shown[2 * FINDING_TEXT_MAX];
    plain_print("%-5s %-12s ", words[v], about);
    plain_copy(shown, sizeof shown, text);
    for (const char *c = shown; *c; c++) {
        putchar(*c);
        if (*c == '\n') printf("%19s", "");
    }
    putchar('\n');
}

void find(struct findings *all, enum verdict v, const char *about, const char *format, ...)
{
    char text[FINDING_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    all->count[v]++;
    if (all->is_json)
        print_json(v, about, text);
    else
        print_text(v, about, text);
    fflush(stdout);
}

int findings_end(const struct findings *all)
{
    const unsigned *n = all->count;
    if (all->is_json) {
        struct json j;
        json_begin(&j, "doctor");
        for (unsigned v = 0; v < FIND_VERDICTS; v++) json_count(&j, words[v], n[v]);
        json_end(&j);
    } else {
        printf("\n%u ok, %u warning%s, %u failure%s, %u skipped\n", n[FIND_OK], n[FIND_WARN],
               plain_s(n[FIND_WARN]), n[FIND_FAIL], plain_s(n[FIND_FAIL]), n[FIND_SKIP]);
    }
    return fflush(stdout) || ferror(stdout) || n[FIND_FAIL] ? STATUS_FAILED : 0;
}
