#include "checkpoint/manifest.h"

#include "common/folder.h"
#include "one_node.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct manifest whole(void)
{
    struct manifest m = {.number = 7, .time = 1700000000, .nodes = 2, .draws = 9};
    struct manifest_section s = {.table = 1, .rows = 3, .rows_at = 4096, .keys_at = 4160};
    memset(m.nonce, 'a', MANIFEST_NONCE);
    CHECK_EQ(manifest_add_table(&m, "one", 10, 4, 0, LOCUS_NO_OPTIMIZER, LOCUS_F32), 0);
    CHECK_EQ(manifest_add_table(&m, "\"two\" \\ \xc3\xa9", 1, 1, LOCUS_TABLE_ENCODED,
                                LOCUS_NO_OPTIMIZER, LOCUS_BF16),
             0);
    m.table[1].rows = 5;
    struct manifest_file *f = manifest_add_file(&m, "0-0-0.safetensors");
    CHECK(f != NULL);
    f->bytes = 4224;
    f->data_at = 4096;
    memset(f->header, 'b', DIGEST_HEX);
    memset(f->data, 'c', DIGEST_HEX);
    CHECK_EQ(manifest_add_section(f, &s), 0);
    return m;
}

static int parse_again(struct manifest *m)
{
    struct manifest again;
    char *text = manifest_text(m);
    CHECK(text != NULL);
    int rc = manifest_parse(&again, text, strlen(text));
    if (rc == 0) {
        char *twice = manifest_text(&again);
        CHECK_STR(twice, text);
        free(twice);
        manifest_fini(&again);
    }
    free(text);
    manifest_fini(m);
    return rc;
}

TEST(manifest, text_is_parsed_to_what_it_was_made_of)
{
    static const char note[] = "\"record\": \"00ff10\"";
    struct manifest m = whole(), again;
    CHECK_EQ(manifest_rows(&m, 1), 3);
    CHECK_EQ(manifest_bytes(&m), 4224);
    CHECK_EQ(manifest_set_note(&m, "\0\xff\x10", 3), 0);
    char *text = manifest_text(&m), *at = strstr(text, note);
    CHECK(at != NULL);
    CHECK_EQ(manifest_parse(&again, text, strlen(text)), 0);
    CHECK_EQ(again.note_bytes, 3);
    CHECK_EQ(again.draws, 9);
    CHECK_EQ(memcmp(again.note, m.note, 3), 0);
    free(text);
    manifest_fini(&again);
    CHECK_EQ(parse_again(&m), 0);
}

static void set_name(char **name, const char *text)
{
    free(*name);
    *name = strdup(text);
    CHECK(*name != NULL);
}

/* One table, file or section is another one. */
TEST(manifest, parse_refuses_parts_that_cannot_be)
{
    static const char *const tables[] = {"two\n", "", "a\x1b[31m"}, *const names[] = {
                                                                        "../x",
                                                                        "/x",
                                                                        ".x",
                                                                        "",
                                                                        "0-0.safetensors",
                                                                        "x-0-0.safetensors",
                                                                        "0-0-0.safetensors.x",
                                                                        "manifest.json"};
    static const struct manifest_section sections[] = {
        {.table = 2, .rows = 3, .rows_at = 4096, .keys_at = 4160},
        {.table = 1, .rows = 6, .rows_at = 4096, .keys_at = 4160},
        {.table = 1, .rows = 0, .rows_at = 4096, .keys_at = 4160},
        {.table = 1, .rows = 3, .rows_at = 4088, .keys_at = 4160},
        {.table = 1, .rows = 3, .rows_at = 4097, .keys_at = 4160},
        {.table = 1, .rows = 3, .rows_at = 4096, .keys_at = 4104},
        {.table = 1, .rows = 3, .rows_at = 4160, .keys_at = 4096},
        {.table = 1, .rows = 3, .rows_at = 4096, .keys_at = 4208},
        {.table = 1, .rows = 3, .rows_at = UINT64_C(1) << 62, .keys_at = 4160},
    };
    struct manifest m;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        m = whole();
        set_name(&m.table[1].name, tables[i]);
        REFUSED(parse_again(&m), -EBADMSG, "a table that cannot be");
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        m = whole();
        set_name(&m.file[0].name, names[i]);
        REFUSED(parse_again(&m), -EBADMSG, "a file whose name cannot be");
    }
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        m = whole();
        m.file[0].section[0] = sections[i];
        REFUSED(parse_again(&m), -EBADMSG, "a section that");
    }
    m = whole();
    m.table[1].flags = LOCUS_TABLE_ENCODED + 1;
    REFUSED(parse_again(&m), -EBADMSG, "a table that cannot be");
    m = whole();
    set_name(&m.table[1].name, "one");
    REFUSED(parse_again(&m), -EBADMSG, "two tables of one name");
    m = whole();
    struct manifest_file *more = manifest_add_file(&m, "1-0-0.safetensors"), *first = m.file;
    more->bytes = first->bytes;
    more->data_at = first->data_at;
    memcpy(more->header, first->header, sizeof more->header);
    memcpy(more->data, first->data, sizeof more->data);
    CHECK_EQ(manifest_add_section(more, &first->section[0]), 0);
    REFUSED(parse_again(&m), -EBADMSG, "more rows than a table has");
}

/* ---- texts that no manifest has ---- */

/* With its digest, whatever it is: the beginning, a part so many times, the end. */
static int parse_text(const char *before, const char *part, size_t times, const char *behind)
{
    char digest[DIGEST_TEXT];
    struct manifest m;
    size_t bytes = strlen(before) + times * strlen(part) + strlen(behind), at = 0;
    char *text = malloc(bytes + 128);
    CHECK(text != NULL);
    at += (size_t)sprintf(text, "%s", before);
    for (size_t i = 0; i < times; i++, at += strlen(part)) memcpy(text + at, part, strlen(part));
    at += (size_t)sprintf(text + at, "%s", behind);
    digest_of(text, at, digest);
    at += (size_t)sprintf(text + at, ",\n \"blake2b\": \"%s\"\n}\n", digest);
    int rc = manifest_parse(&m, text, at);
    if (rc == 0) manifest_fini(&m);
    free(text);
    return rc;
}

#define FRONT \
    "{\"format\": \"locus checkpoint\", \"version\": 1, \"number\": 7, \"time\": 1, \"nodes\": 2, " \
    "\"nonce\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", "
#define TABLES "\"tables\": [{\"name\": \"one\", \"rows\": 10, \"length\": 4}]"
/* In MiB; the largest that it has been. */
static long resident(void)
{
    struct rusage usage;
    CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss / 1024;
}

/* What no node could read is not written. */
TEST(manifest, write_refuses_more_than_read_takes)
{
    char f[FOLDER_PATH_BYTES];
    CLOSED_BY(manifest_fini) struct manifest m = whole();
    CLOSED_BY(free_at) char *name = calloc(MANIFEST_BYTES_MAX + 1, 1);
    CHECK(name != NULL);
    folder_new(f);
    memset(name, 'a', MANIFEST_BYTES_MAX);
    set_name(&m.table[1].name, name);
    REFUSED(manifest_write(&m, folder_path(f, "manifest.json")), -EFBIG, "cannot write ");
    CHECK(access(folder_path(f, "manifest.json"), F_OK) != 0);
}

/* Lists, texts and numbers in the place of what must be there. */
TEST(manifest, parse_refuses_items_of_other_kinds)
{
    static const char *const parts[] = {"[],", "{},", "\"a\",", "1,", "[[{\"a\":[]}]],"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        CHECK_EQ(parse_text(FRONT TABLES ", \"files\": [], \"more\": [", parts[i], 100, "0]"), 0);
        CHECK_EQ(parse_text(FRONT TABLES ", \"files\": [", parts[i], 100, "0]"), -EBADMSG);
        CHECK_EQ(parse_text(FRONT "\"files\": [], \"tables\": [", parts[i], 100, "0]"), -EBADMSG);
    }
    CHECK_EQ(parse_text(FRONT TABLES ", \"files\": [{\"name\": \"", "long text", 30000, "\"}]"),
             -EBADMSG);
}

static unsigned left; /* allocations */

static void *allocate(size_t bytes)
{
    if (left > 0) return left--, malloc(bytes);
    errno = ENOMEM;
    return NULL;
}

/* Then an older checkpoint would be taken. */
TEST(manifest, parse_without_memory_is_no_damage)
{
    CLOSED_BY(manifest_fini) struct manifest m = whole();
    CLOSED_BY(free_at) char *text = manifest_text(&m);
    struct manifest again = {.tables = 0};
    unsigned allowed = 0;
    int rc = -ENOMEM;
    for (; rc; allowed++) {
        left = allowed;
        json_set_alloc_funcs(allocate, free);
        rc = manifest_parse(&again, text, strlen(text));
        json_set_alloc_funcs(malloc, free);
        if (rc) CHECK_EQ(rc, -ENOMEM);
    }
    CHECK(allowed > 50);
    manifest_fini(&again);
}

/* The largest text that is read, of the values that take most. */
TEST(manifest, parse_of_a_large_text_has_bounded_memory)
{
    long before = resident();
    REFUSED(parse_text(FRONT TABLES ", \"files\": [], \"more\": [", "{},", MANIFEST_BYTES_MAX / 3,
                       "0]"),
            -EBADMSG, "too many values");
#if !defined(LOCUS_ASAN) && !defined(LOCUS_TSAN) /* which keep what was freed */
    CHECK(resident() - before < 2 * MANIFEST_BYTES_MAX >> 20);
#else
    (void)before;
#endif
}

/* Of another program, or of a disk: 4 GiB, none of which is read. */
TEST(manifest, read_of_a_large_other_file_costs_nothing)
{
    char f[FOLDER_PATH_BYTES];
    struct manifest m;
    folder_new(f);
    folder_write(f, "manifest.json", "{}", 2);
    REFUSED(manifest_read(&m, FILES_HERE, folder_path(f, "manifest.json"), NULL), -EBADMSG,
            "manifest.json is damaged: its 2 bytes do not have the digest at its end");
    CHECK_EQ(truncate(folder_path(f, "manifest.json"), (off_t)1 << 32), 0);
    long before = resident();
    REFUSED(manifest_read(&m, FILES_HERE, folder_path(f, "manifest.json"), NULL), -EBADMSG,
            "its 4294967296 bytes do not have the digest");
    CHECK(resident() - before < 2);
}

TEST(manifest, parse_refuses_each_changed_byte)
{
    CLOSED_BY(manifest_fini) struct manifest m = whole();
    struct manifest again;
    CLOSED_BY(free_at) char *text = manifest_text(&m);
    for (size_t at = 0, bytes = strlen(text); at < bytes; at++) {
        text[at] ^= 1;
        CHECK_EQ(manifest_parse(&again, text, bytes), -EBADMSG);
        text[at] ^= 1;
    }
}

TEST(manifest, parse_takes_members_in_any_order_once)
{
    CHECK_EQ(parse_text("{\"files\": [], " TABLES ", ", "", 0, &(FRONT "\"x\": null")[1]), 0);
    REFUSED(parse_text(FRONT TABLES ", " TABLES ", \"files\": []", "", 0, ""), -EBADMSG,
            "one name twice");
    REFUSED(parse_text(FRONT TABLES, "", 0, ""), -EBADMSG, "no tables, or no files");
    CHECK_EQ(parse_text(FRONT "\"tables\": [], \"files\": []", "", 0, ""), -EBADMSG);
    REFUSED(parse_text(FRONT TABLES ", \"files\": {}", "", 0, ""), -EBADMSG,
            "no list where one must be");
}

TEST(manifest, parse_refuses_what_is_no_json)
{
    static const char *const wrong[] = {"[",   "]", "{\"a\"", "\"", "\"\\",
                                        ", ,", ":", "1 2",    "{",  "}}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(parse_text(FRONT TABLES ", \"files\": [], \"more\": ", "", 0, wrong[i]), -EBADMSG);
        CHECK_EQ(parse_text(FRONT TABLES ", \"files\": ", "", 0, wrong[i]), -EBADMSG);
        CHECK_EQ(parse_text(wrong[i], "", 0, ""), -EBADMSG);
    }
}
