#include "checkpoint/manifest.h"

#include "base/error.h"
#include "base/notation.h"
#include "locus.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
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

/* A number as it is written, and what is behind it; NULL: there is none. */
static const char *behind_number(const char *text)
{
    const char *at = text;
    while (*at >= '0' && *at <= '9') at++;
    return at > text ? at : NULL;
}

bool manifest_is_file(const char *name)
{
    for (int i = 0; i < 3; i++) {
        if (!(name = behind_number(name))) return false;
        if (i < 2 && *name++ != '-') return false;
    }
    return strcmp(name, MANIFEST_FILES) == 0;
}

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
                       uint32_t flags, enum locus_optimizer optimizer, enum locus_element element)
{
    uint32_t stored = (uint32_t)row_type_stored(row_type_of(optimizer), length);
    void *array = m->table;
    if (!grow(&array, m->tables, sizeof *m->table)) return -ENOMEM;
    m->table = array;
    m->table[m->tables] = (struct manifest_table){
        .name = strdup(name),
        .rows = rows,
        .length = length,
        .flags = flags,
        .optimizer = optimizer,
        .element = element,
        .stored = stored,
        .bytes = stored == length ? row_type_packed(element, length) * 4 : stored * 4};
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

int manifest_set_note(struct manifest *m, const void *note, size_t bytes)
{
    if (bytes == 0) return 0;
    m->note = malloc(bytes);
    if (!m->note) return -ENOMEM;
    memcpy(m->note, note, bytes);
    m->note_bytes = bytes;
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
    free(m->note);
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

/* Files call it "record", as they did before it was a note. */
#define NOTE "record"

/* False: no memory. */
static bool add_note(json_t *all, const struct manifest *m)
{
    size_t digits = 2 * m->note_bytes + 1;
    char *text = all && m->note_bytes ? malloc(digits) : NULL;
    if (text) sodium_bin2hex(text, digits, m->note, m->note_bytes);
    bool ok = text && json_object_set_new(all, NOTE, json_string(text)) == 0;
    free(text);
    return ok || !m->note_bytes;
}

static json_t *manifest_json(const struct manifest *m)
{
    json_t *tables = json_array(), *list = json_array();
    for (unsigned i = 0; i < m->tables; i++) {
        const struct manifest_table *t = &m->table[i];
        json_t *table = json_pack("{sssIsIsI}", "name", t->name, "rows", (json_int_t)t->rows,
                                  "length", (json_int_t)t->length, "flags", (json_int_t)t->flags);
        if (table && t->optimizer)
            json_object_set_new(table, "optimizer", json_string(row_type_of(t->optimizer)->name));
        if (table && t->element)
            json_object_set_new(table, "element", json_string(row_type_element_name(t->element)));
        json_array_append_new(tables, table);
    }
    for (unsigned i = 0; i < m->files; i++) {
        const struct manifest_file *f = &m->file[i];
        json_array_append_new(
            list, json_pack("{sssIsIssssso}", "name", f->name, "bytes", (json_int_t)f->bytes,
                            "data_at", (json_int_t)f->data_at, "header_blake2b", f->header,
                            "data_blake2b", f->data, "sections", sections_json(f)));
    }
    bool whole = json_array_size(tables) == m->tables && json_array_size(list) == m->files;
    json_t *all = json_pack("{sssisIsssIsisoso}", "format", FORMAT, "version", MANIFEST_VERSION,
                            "number", (json_int_t)m->number, "nonce", m->nonce, "time",
                            (json_int_t)m->time, "nodes", (int)m->nodes, "tables", tables, "files",
                            list);
    if (all && m->draws) json_object_set_new(all, "draws", json_integer((json_int_t)m->draws));
    if (add_note(all, m) && whole) return all;
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

static bool is_tail(const char *tail)
{
    return memcmp(tail, TAIL_BEFORE, BEFORE_BYTES) == 0 &&
           memcmp(tail + BEFORE_BYTES + DIGEST_HEX, TAIL_BEHIND, BEHIND_BYTES) == 0;
}

static bool is_whole(const char *text, size_t bytes)
{
    char digest[DIGEST_TEXT];
    if (bytes < TAIL_BYTES) return false;
    const char *tail = text + bytes - TAIL_BYTES;
    if (!is_tail(tail)) return false;
    digest_of(text, bytes - TAIL_BYTES, digest);
    return memcmp(tail + BEFORE_BYTES, digest, DIGEST_HEX) == 0;
}

/* ---- reading the text ---- */

static const char no_memory[] = "no memory";

static bool has(const json_t *o, const char *name)
{
    return json_object_get(o, name) != NULL;
}

static bool get_count(const json_t *o, const char *name, uint64_t max, uint64_t *to)
{
    const json_t *member = json_object_get(o, name);
    json_int_t n = json_integer_value(member);
    *to = (uint64_t)n;
    return json_is_integer(member) && n >= 0 && (uint64_t)n <= max;
}

/* A text of at least one character, all of which can be shown; NULL: it is none. */
static const char *get_text(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text && *text && notation_is_text(text) ? text : NULL;
}

static bool get_digest(const json_t *o, const char *name, char digest[DIGEST_TEXT])
{
    const char *text = get_text(o, name);
    if (!text || strlen(text) != DIGEST_HEX) return false;
    snprintf(digest, DIGEST_TEXT, "%s", text);
    return true;
}

/* Every item of a list is taken, until there is something wrong with one, which is returned. */
typedef const char *take_item(struct manifest *, const json_t *);

static const char *take_all(struct manifest *m, const json_t *list, take_item *take)
{
    const char *wrong = json_is_array(list) ? NULL : "no list where one must be";
    for (size_t i = 0; !wrong && i < json_array_size(list); i++)
        wrong = take(m, json_array_get(list, i));
    return wrong;
}

/* False: there is none of that name. */
static bool get_optimizer(const json_t *o, enum locus_optimizer *optimizer)
{
    const char *name = get_text(o, "optimizer");
    *optimizer = LOCUS_NO_OPTIMIZER;
    if (!has(o, "optimizer")) return true;
    for (unsigned i = 1; name && i < row_types; i++)
        if (strcmp(row_type_of((enum locus_optimizer)i)->name, name) == 0)
            *optimizer = (enum locus_optimizer)i;
    return *optimizer != LOCUS_NO_OPTIMIZER;
}

static bool get_element(const json_t *o, enum locus_element *element)
{
    const char *name = get_text(o, "element");
    *element = has(o, "element") ? LOCUS_BF16 : LOCUS_F32;
    return *element == LOCUS_F32 || (name && strcmp(name, row_type_element_name(LOCUS_BF16)) == 0);
}

static const char *take_table(struct manifest *m, const json_t *o)
{
    uint64_t rows, length, flags = 0; /* none: before there were any */
    enum locus_optimizer optimizer;
    enum locus_element element;
    const char *name = get_text(o, "name");
    if (m->tables == LOCUS_TABLES_MAX || !name || strlen(name) > LOCUS_NAME_MAX ||
        !get_count(o, "rows", LOCUS_KEYS_MAX, &rows) || rows == 0 ||
        !get_count(o, "length", LOCUS_LENGTH_MAX, &length) || length == 0 ||
        (has(o, "flags") && !get_count(o, "flags", LOCUS_TABLE_ENCODED, &flags)) ||
        !get_optimizer(o, &optimizer) || !get_element(o, &element) ||
        row_type_delta(row_type_of(optimizer), (uint32_t)length) > LOCUS_LENGTH_MAX)
        return "a table that cannot be";
    for (unsigned i = 0; i < m->tables; i++)
        if (strcmp(m->table[i].name, name) == 0) return "two tables of one name";
    return manifest_add_table(m, name, rows, (uint32_t)length, (uint32_t)flags, optimizer, element)
               ? no_memory
               : NULL;
}

/* Of the last file. */
static const char *take_section(struct manifest *m, const json_t *o)
{
    struct manifest_file *f = &m->file[m->files - 1];
    struct manifest_section s;
    uint64_t table;
    if (f->sections == LOCUS_TABLES_MAX || !get_count(o, "table", LOCUS_TABLES_MAX - 1, &table) ||
        !get_count(o, "rows", MANIFEST_ROWS_MAX, &s.rows) || s.rows == 0 ||
        !get_count(o, "rows_at", INT64_MAX, &s.rows_at) ||
        !get_count(o, "keys_at", INT64_MAX, &s.keys_at))
        return "a section that cannot be";
    s.table = (unsigned)table;
    return manifest_add_section(f, &s) ? no_memory : NULL;
}

static const char *take_file(struct manifest *m, const json_t *o)
{
    const char *name = get_text(o, "name");
    if (!name || !manifest_is_file(name)) return "a file whose name cannot be";
    struct manifest_file *f = manifest_add_file(m, name);
    if (!f) return no_memory;
    if (!get_count(o, "bytes", INT64_MAX, &f->bytes) ||
        !get_count(o, "data_at", f->bytes, &f->data_at) ||
        !get_digest(o, "header_blake2b", f->header) || !get_digest(o, "data_blake2b", f->data) ||
        !has(o, "sections"))
        return "a file that cannot be";
    return take_all(m, json_object_get(o, "sections"), take_section);
}

/* Hexadecimal digits, if there is one. */
static const char *take_note(struct manifest *m, const json_t *o)
{
    const char *text = get_text(o, NOTE);
    size_t digits = text ? strlen(text) : 0;
    if (!has(o, NOTE)) return NULL;
    if (digits == 0 || digits % 2 || digits > 2 * (size_t)LOCUS_NOTE_MAX)
        return "a note that cannot be";
    m->note = malloc(digits / 2);
    if (!m->note) return no_memory;
    if (sodium_hex2bin(m->note, digits / 2, text, digits, NULL, &m->note_bytes, NULL) ||
        m->note_bytes != digits / 2)
        return "a note that cannot be";
    return NULL;
}

static const char *take_whole(struct manifest *m, const json_t *o)
{
    const char *format = get_text(o, "format"), *nonce = get_text(o, "nonce"), *wrong;
    uint64_t version, nodes, time;
    if (!format || strcmp(format, FORMAT) != 0) return "not the manifest of a checkpoint";
    if (!get_count(o, "version", INT64_MAX, &version) || version != MANIFEST_VERSION)
        return "a version of the format that this locus does not know";
    if (!nonce || strlen(nonce) != MANIFEST_NONCE || !get_count(o, "nodes", 4096, &nodes) ||
        !get_count(o, "number", MANIFEST_NUMBER_MAX, &m->number) ||
        !get_count(o, "time", INT64_MAX, &time))
        return "no nonce, number, time or nodes";
    if (has(o, "draws") && !get_count(o, "draws", MANIFEST_NUMBER_MAX, &m->draws))
        return "draws that cannot be";
    snprintf(m->nonce, sizeof m->nonce, "%s", nonce);
    m->nodes = (unsigned)nodes;
    m->time = (int64_t)time;
    if (!has(o, "tables") || !has(o, "files")) return "no tables, or no files";
    wrong = take_all(m, json_object_get(o, "tables"), take_table);
    if (!wrong && m->tables == 0) wrong = "no tables, or no files";
    if (!wrong) wrong = take_all(m, json_object_get(o, "files"), take_file);
    return wrong ? wrong : take_note(m, o);
}

/* ---- is it consistent? ---- */

static bool lies_in(const struct manifest_file *f, uint64_t at, uint64_t bytes)
{
    return at % 8 == 0 && at >= f->data_at && at <= f->bytes && bytes <= f->bytes - at;
}

/* Sections lie one after the other, rows before keys: they are read from the front. */
static const char *check(const struct manifest *m)
{
    uint64_t rows[LOCUS_TABLES_MAX] = {0};
    for (const struct manifest_file *f = m->file; f < m->file + m->files; f++) {
        uint64_t from = f->data_at;
        for (const struct manifest_section *s = f->section; s < f->section + f->sections; s++) {
            if (s->table >= m->tables) return "a section that is of no table";
            const struct manifest_table *t = &m->table[s->table];
            uint64_t bytes = s->rows * t->bytes;
            if (s->rows > t->rows || !lies_in(f, s->rows_at, bytes) ||
                !lies_in(f, s->keys_at, s->rows * sizeof(int64_t)) || s->rows_at < from ||
                s->keys_at < s->rows_at + bytes)
                return "a section that does not lie in its file";
            from = s->keys_at + s->rows * sizeof(int64_t);
            rows[s->table] += s->rows;
            if (rows[s->table] > t->rows) return "more rows than a table has";
        }
    }
    return NULL;
}

/* Has it more values than any manifest in so many bytes, which as JSON take up to 240 bytes each? The
 * names of 1,024 tables may look as if they were some. */
static bool is_too_dense(const char *text, size_t bytes)
{
    size_t values = 0;
    for (size_t i = 0; i < bytes; i++) values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return values > bytes / 8 + (size_t)LOCUS_TABLES_MAX * LOCUS_NAME_MAX;
}

static const char *parse(struct manifest *m, const char *text, size_t bytes)
{
    json_error_t error;
    if (is_too_dense(text, bytes)) return "too many values";
    errno = 0;
    json_t *o = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    bool is_twice = !o && json_error_code(&error) == json_error_duplicate_key;
    const char *wrong = o                 ? take_whole(m, o)
                        : errno == ENOMEM ? no_memory
                        : is_twice        ? "one name twice"
                                          : "not JSON";
    json_decref(o);
    return wrong ? wrong : check(m);
}

static int no_digest(uint64_t bytes)
{
    return error_set(-EBADMSG, "damaged: its %llu bytes do not have the digest at its end",
                     (unsigned long long)bytes);
}

int manifest_parse(struct manifest *m, const char *text, size_t bytes)
{
    *m = (struct manifest){.tables = 0};
    if (!is_whole(text, bytes)) return no_digest(bytes);
    const char *wrong = parse(m, text, bytes);
    if (!wrong) return 0;
    manifest_fini(m);
    if (wrong == no_memory) return error_set(-ENOMEM, "too large for the memory that is left");
    return error_set(-EBADMSG, "damaged, or of another program: %s", wrong);
}

/* ---- files ---- */

int manifest_write(const struct manifest *m, const char *path)
{
    char *text = manifest_text(m);
    if (!text) return error_set(-ENOMEM, "no memory for the text of %s", path);
    size_t bytes = strlen(text);
    int fd = bytes > MANIFEST_BYTES_MAX
                 ? -EFBIG
                 : files->open(FILES_HERE, path, O_WRONLY | O_CREAT | O_EXCL);
    int rc = fd < 0 ? fd : files_write(fd, text, bytes, 0);
    if (rc == 0) rc = files->sync(fd);
    int closed = fd < 0 ? 0 : files->close(fd);
    if (rc == 0) rc = closed;
    free(text);
    return rc ? error_set(rc, "cannot write %s: %s", path, strerror(-rc)) : 0;
}

/* All of it, into memory to be free()d; NULL: it does not end as a manifest, and has cost none. */
static int read_open(int fd, char **text, uint64_t *bytes)
{
    char tail[TAIL_BYTES];
    int64_t size = files->size(fd);
    if (size < 0) return (int)size;
    *bytes = (uint64_t)size;
    if (size < TAIL_BYTES) return 0;
    int rc = files_read(fd, tail, TAIL_BYTES, *bytes - TAIL_BYTES);
    if (rc || !is_tail(tail)) return rc;
    if (size > MANIFEST_BYTES_MAX) return -EFBIG;
    *text = malloc(*bytes);
    return *text ? files_read(fd, *text, *bytes, 0) : -ENOMEM;
}

int manifest_read(struct manifest *m, int folder, const char *path, char digest[DIGEST_TEXT])
{
    char *text = NULL, why[256];
    uint64_t bytes = 0;
    *m = (struct manifest){.tables = 0};
    int fd = files->open(folder, path, O_RDONLY), rc = fd < 0 ? fd : read_open(fd, &text, &bytes);
    if (fd >= 0) files->close(fd);
    if (rc) {
        free(text);
        return error_set(rc, "cannot read %s: %s", path, files_strerror(rc));
    }
    if (digest && text) digest_of(text, bytes, digest);
    rc = text ? manifest_parse(m, text, bytes) : no_digest(bytes);
    free(text);
    if (rc == 0) return 0;
    snprintf(why, sizeof why, "%s", locus_error());
    return error_set(rc, "%s is %s", path, why);
}
