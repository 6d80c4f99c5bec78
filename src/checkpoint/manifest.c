#include "checkpoint/manifest.h"

#include "base/error.h"
#include "checkpoint/files.h"
#include "locus.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "locus checkpoint"
/* The end of every manifest: this, the digest of all before it, and that. */
#define TAIL_BEFORE ",\n \"blake2b\": \""
#define TAIL_BEHIND "\"\n}\n"
enum {
    BEFORE_BYTES = sizeof TAIL_BEFORE - 1,
    BEHIND_BYTES = sizeof TAIL_BEHIND - 1,
    TAIL_BYTES = BEFORE_BYTES + DIGEST_HEX + BEHIND_BYTES,
};

/* ---- building ---- */

/* Room for one more behind `count`, which doubles at powers of two. */
static bool grow(void **array, unsigned count, size_t bytes)
{
    if (count & (count - 1)) return true;
    void *larger = realloc(*array, (count ? 2 * (size_t)count : 1) * bytes);
    if (larger) *array = larger;
    return larger != NULL;
}

int manifest_add_table(struct manifest *m, const char *name, uint64_t rows, uint32_t length,
                       uint32_t flags)
{
    void *array = m->table;
    if (!grow(&array, m->tables, sizeof *m->table)) return -ENOMEM;
    m->table = array;
    m->table[m->tables] = (struct manifest_table){strdup(name), rows, length, flags};
    return m->table[m->tables++].name ? 0 : -ENOMEM;
}

static struct manifest_file *new_file(struct manifest *m)
{
    void *array = m->file;
    if (!grow(&array, m->files, sizeof *m->file)) return NULL;
    m->file = array;
    m->file[m->files] = (struct manifest_file){.name = NULL};
    return &m->file[m->files++];
}

struct manifest_file *manifest_add_file(struct manifest *m, const char *name)
{
    struct manifest_file *f = new_file(m);
    if (f) f->name = strdup(name);
    return f && f->name ? f : NULL;
}

int manifest_add_section(struct manifest_file *f, const struct manifest_section *s)
{
    void *array = f->section;
    if (!grow(&array, f->sections, sizeof *f->section)) return -ENOMEM;
    f->section = array;
    f->section[f->sections++] = *s;
    return 0;
}

int manifest_move_files(struct manifest *to, struct manifest *from)
{
    for (; from->files > 0; from->files--) {
        struct manifest_file *f = new_file(to);
        if (!f) return -ENOMEM;
        *f = from->file[from->files - 1];
    }
    return 0;
}

void manifest_fini(struct manifest *m)
{
    for (unsigned i = 0; i < m->tables; i++) free(m->table[i].name);
    for (unsigned i = 0; i < m->files; i++) {
        free(m->file[i].name);
        free(m->file[i].section);
    }
    free(m->table);
    free(m->file);
    *m = (struct manifest){.tables = 0};
}

uint64_t manifest_rows(const struct manifest *m, unsigned table)
{
    uint64_t rows = 0;
    for (unsigned i = 0; i < m->files; i++)
        for (unsigned s = 0; s < m->file[i].sections; s++)
            if (m->file[i].section[s].table == table) rows += m->file[i].section[s].rows;
    return rows;
}

uint64_t manifest_bytes(const struct manifest *m)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < m->files; i++) bytes += m->file[i].bytes;
    return bytes;
}

/* ---- text ---- */

static json_t *sections_json(const struct manifest_file *f)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < f->sections; i++) {
        const struct manifest_section *s = &f->section[i];
        json_array_append_new(
            list, json_pack("{sisIsIsI}", "table", (int)s->table, "rows", (json_int_t)s->rows,
                            "rows_at", (json_int_t)s->rows_at, "keys_at", (json_int_t)s->keys_at));
    }
    return list;
}

static json_t *manifest_json(const struct manifest *m)
{
    json_t *tables = json_array(), *files = json_array();
    for (unsigned i = 0; i < m->tables; i++) {
        const struct manifest_table *t = &m->table[i];
        json_array_append_new(
            tables, json_pack("{sssIsIsI}", "name", t->name, "rows", (json_int_t)t->rows, "length",
                              (json_int_t)t->length, "flags", (json_int_t)t->flags));
    }
    for (unsigned i = 0; i < m->files; i++) {
        const struct manifest_file *f = &m->file[i];
        json_array_append_new(
            files, json_pack("{sssIsIssssso}", "name", f->name, "bytes", (json_int_t)f->bytes,
                             "data_at", (json_int_t)f->data_at, "header_blake2b", f->header,
                             "data_blake2b", f->data, "sections", sections_json(f)));
    }
    bool whole = json_array_size(tables) == m->tables && json_array_size(files) == m->files;
    json_t *all = json_pack("{sssisIsssIsisoso}", "format", FORMAT, "version", MANIFEST_VERSION,
                            "number", (json_int_t)m->number, "nonce", m->nonce, "time",
                            (json_int_t)m->time, "nodes", (int)m->nodes, "tables", tables, "files",
                            files);
    if (whole) return all;
    json_decref(all);
    return NULL;
}

char *manifest_text(const struct manifest *m)
{
    json_t *all = manifest_json(m);
    char *plain = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
    size_t bytes = plain ? strlen(plain) : 0;
    char *text = bytes > 2 ? malloc(bytes + TAIL_BYTES + 1) : NULL, digest[DIGEST_TEXT];
    if (text) {
        bytes -= 2; /* "\n}" */
        digest_of(plain, bytes, digest);
        snprintf(text, bytes + TAIL_BYTES + 1, "%.*s" TAIL_BEFORE "%s" TAIL_BEHIND, (int)bytes,
                 plain, digest);
    }
    free(plain);
    json_decref(all);
    return text;
}

static bool is_whole(const char *text, size_t bytes)
{
    char digest[DIGEST_TEXT];
    if (bytes < TAIL_BYTES) return false;
    const char *tail = text + bytes - TAIL_BYTES;
    if (memcmp(tail, TAIL_BEFORE, BEFORE_BYTES) != 0) return false;
    if (memcmp(tail + BEFORE_BYTES + DIGEST_HEX, TAIL_BEHIND, BEHIND_BYTES) != 0) return false;
    digest_of(text, bytes - TAIL_BYTES, digest);
    return memcmp(tail + BEFORE_BYTES, digest, DIGEST_HEX) == 0;
}

/* ---- reading the text ---- */

static bool get_count(const json_t *from, const char *name, uint64_t max, uint64_t *to)
{
    const json_t *value = json_object_get(from, name);
    json_int_t n = json_integer_value(value);
    *to = (uint64_t)n;
    return json_is_integer(value) && n >= 0 && (uint64_t)n <= max;
}

/* A text of at least one character, without a zero byte in it; NULL: it is none. */
static const char *get_text(const json_t *from, const char *name)
{
    const json_t *value = json_object_get(from, name);
    const char *text = json_string_value(value);
    return text && *text && strlen(text) == json_string_length(value) ? text : NULL;
}

static bool get_digest(const json_t *from, const char *name, char digest[DIGEST_TEXT])
{
    const char *text = get_text(from, name);
    if (!text || strlen(text) != DIGEST_HEX) return false;
    snprintf(digest, DIGEST_TEXT, "%s", text);
    return true;
}

static const char *parse_table(struct manifest *m, const json_t *json)
{
    uint64_t rows, length, flags = 0; /* none: before there were any */
    const char *name = get_text(json, "name");
    if (!name || !get_count(json, "rows", LOCUS_KEYS_MAX, &rows) || rows == 0 ||
        !get_count(json, "length", LOCUS_LENGTH_MAX, &length) || length == 0 ||
        (json_object_get(json, "flags") && !get_count(json, "flags", LOCUS_TABLE_ENCODED, &flags)))
        return "a table that cannot be";
    return manifest_add_table(m, name, rows, (uint32_t)length, (uint32_t)flags) ? "no memory"
                                                                                : NULL;
}

static bool lies_in(const struct manifest_file *f, uint64_t at, uint64_t bytes)
{
    return at % 8 == 0 && at >= f->data_at && at <= f->bytes && bytes <= f->bytes - at;
}

/* Sections lie one after the other, rows before keys: they are read from the front. */
static const char *parse_section(const struct manifest *m, struct manifest_file *f,
                                 const json_t *json, uint64_t *from)
{
    struct manifest_section s;
    uint64_t table;
    if (!get_count(json, "table", m->tables - 1, &table) ||
        !get_count(json, "rows", LOCUS_KEYS_MAX, &s.rows) ||
        !get_count(json, "rows_at", f->bytes, &s.rows_at) ||
        !get_count(json, "keys_at", f->bytes, &s.keys_at))
        return "a section that cannot be";
    s.table = (unsigned)table;
    const struct manifest_table *t = &m->table[table];
    uint64_t row_bytes = t->length * sizeof(float);
    if (s.rows == 0 || s.rows > t->rows || !lies_in(f, s.rows_at, s.rows * row_bytes) ||
        !lies_in(f, s.keys_at, s.rows * sizeof(int64_t)) || s.rows_at < *from ||
        s.keys_at < s.rows_at + s.rows * row_bytes)
        return "a section that does not lie in its file";
    *from = s.keys_at + s.rows * sizeof(int64_t);
    return manifest_add_section(f, &s) ? "no memory" : NULL;
}

static const char *parse_file(struct manifest *m, const json_t *json)
{
    const char *name = get_text(json, "name"), *wrong = NULL;
    struct manifest_file *f;
    const json_t *sections = json_object_get(json, "sections"), *section;
    size_t i;
    if (!name || strchr(name, '/') || name[0] == '.') return "a file whose name cannot be";
    if (!(f = manifest_add_file(m, name))) return "no memory";
    if (!get_count(json, "bytes", INT64_MAX, &f->bytes) ||
        !get_count(json, "data_at", f->bytes, &f->data_at) ||
        !get_digest(json, "header_blake2b", f->header) ||
        !get_digest(json, "data_blake2b", f->data) || !json_is_array(sections))
        return "a file that cannot be";
    uint64_t from = f->data_at;
    json_array_foreach(sections, i, section)
    {
        if ((wrong = parse_section(m, f, section, &from))) return wrong;
    }
    return NULL;
}

static const char *parse_lists(struct manifest *m, const json_t *json)
{
    const json_t *tables = json_object_get(json, "tables"), *files = json_object_get(json, "files");
    const char *wrong = NULL;
    const json_t *item;
    size_t i;
    if (!json_is_array(tables) || json_array_size(tables) == 0 ||
        json_array_size(tables) > LOCUS_TABLES_MAX || !json_is_array(files))
        return "no tables, or no files";
    json_array_foreach(tables, i, item)
    {
        if ((wrong = parse_table(m, item))) return wrong;
    }
    json_array_foreach(files, i, item)
    {
        if ((wrong = parse_file(m, item))) return wrong;
    }
    return NULL;
}

static const char *parse_json(struct manifest *m, const json_t *json)
{
    const char *format = get_text(json, "format"), *nonce = get_text(json, "nonce");
    uint64_t version, nodes, time;
    if (!format || strcmp(format, FORMAT) != 0) return "not the manifest of a checkpoint";
    if (!get_count(json, "version", INT64_MAX, &version) || version != MANIFEST_VERSION)
        return "a version of the format that this locus does not know";
    if (!nonce || strlen(nonce) != MANIFEST_NONCE || !get_count(json, "nodes", 4096, &nodes) ||
        !get_count(json, "number", INT64_MAX, &m->number) ||
        !get_count(json, "time", INT64_MAX, &time))
        return "no nonce, number, time or nodes";
    snprintf(m->nonce, sizeof m->nonce, "%s", nonce);
    m->nodes = (unsigned)nodes;
    m->time = (int64_t)time;
    return parse_lists(m, json);
}

int manifest_parse(struct manifest *m, const char *text, size_t bytes)
{
    *m = (struct manifest){.tables = 0};
    if (!is_whole(text, bytes))
        return error_set(-EBADMSG, "damaged: its %zu bytes do not have the digest at its end",
                         bytes);
    json_error_t error;
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    const char *wrong = json ? parse_json(m, json) : "not JSON";
    json_decref(json);
    if (!wrong) return 0;
    manifest_fini(m);
    return error_set(-EBADMSG, "damaged, or of another program: %s", wrong);
}

/* ---- files ---- */

int manifest_write(const struct manifest *m, const char *path)
{
    char *text = manifest_text(m);
    if (!text) return error_set(-ENOMEM, "no memory for the text of %s", path);
    int fd = files()->open(path, O_WRONLY | O_CREAT | O_TRUNC);
    int rc = fd < 0 ? fd : files_write(fd, text, strlen(text), 0);
    if (rc == 0) rc = files()->sync(fd);
    int closed = fd < 0 ? 0 : files()->close(fd);
    if (rc == 0) rc = closed;
    free(text);
    return rc ? error_set(rc, "cannot write %s: %s", path, strerror(-rc)) : 0;
}

static int read_whole(int fd, char *text, size_t bytes)
{
    ssize_t n = files_read(fd, text, bytes, 0);
    if (n < 0) return (int)n;
    return (size_t)n == bytes ? 0 : -EIO;
}

/* All of it, into memory to be free()d. */
static int read_text(const char *path, char **text, size_t *bytes)
{
    int fd = files()->open(path, O_RDONLY);
    if (fd < 0) return fd;
    int64_t size = files()->size(fd);
    bool is_readable = size >= 0 && size <= MANIFEST_BYTES_MAX;
    int rc = is_readable ? 0 : size < 0 ? (int)size : -EFBIG;
    *bytes = is_readable ? (size_t)size : 0;
    *text = is_readable ? malloc(*bytes + 1) : NULL;
    if (rc == 0) rc = *text ? read_whole(fd, *text, *bytes) : -ENOMEM;
    files()->close(fd);
    return rc;
}

int manifest_read(struct manifest *m, const char *path, char digest[DIGEST_TEXT])
{
    char *text = NULL, why[256];
    size_t bytes;
    *m = (struct manifest){.tables = 0};
    int rc = read_text(path, &text, &bytes);
    if (rc) {
        free(text);
        return error_set(rc, "cannot read %s: %s", path, files_strerror(rc));
    }
    if (digest) digest_of(text, bytes, digest);
    rc = manifest_parse(m, text, bytes);
    free(text);
    if (rc == 0) return 0;
    snprintf(why, sizeof why, "%s", locus_error());
    return error_set(rc, "%s is %s", path, why);
}
