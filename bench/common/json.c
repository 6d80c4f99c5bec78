#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void cannot_write(const char *path)
{
    fprintf(stderr, "cannot write JSON to %s: %s\n", path, strerror(errno));
    exit(1);
}

FILE *json_open(const char *path)
{
    if (path == NULL) return NULL;
    FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (f == NULL) cannot_write(path);
    return f;
}

void json_close(FILE *f)
{
    if (f == NULL) return;
    if (fflush(f) != 0 || ferror(f)) cannot_write("the file");
    if (f != stdout) fclose(f);
}

static void put_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', f);
        if ((unsigned char)*text >= ' ') fputc(*text, f);
    }
    fputc('"', f);
}

void json_begin(FILE *f, const char *benchmark)
{
    if (f == NULL) return;
    fputs("{\"benchmark\": ", f);
    put_string(f, benchmark);
}

static void put_name(FILE *f, const char *name)
{
    fputs(", ", f);
    put_string(f, name);
    fputs(": ", f);
}

void json_text(FILE *f, const char *name, const char *value)
{
    if (f == NULL) return;
    put_name(f, name);
    put_string(f, value);
}

void json_number(FILE *f, const char *name, double value)
{
    if (f == NULL) return;
    put_name(f, name);
    if (isfinite(value)) {
        fprintf(f, "%.6g", value);
    } else {
        fputs("null", f);
    }
}

void json_count(FILE *f, const char *name, uint64_t value)
{
    if (f == NULL) return;
    put_name(f, name);
    fprintf(f, "%" PRIu64, value);
}

void json_spread(FILE *f, const char *name, struct spread s)
{
    const struct {
        const char *what;
        double value;
    } parts[] = {{"median", s.median}, {"mad", s.mad}, {"min", s.min}, {"max", s.max}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s_%s", name, parts[i].what);
        json_number(f, full, parts[i].value);
    }
}

void json_end(FILE *f)
{
    if (f == NULL) return;
    fputs("}\n", f);
    fflush(f);
}
