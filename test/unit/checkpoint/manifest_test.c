#include "checkpoint/manifest.h"

#include "one_node.h"

#include <string.h>

static struct manifest whole(void)
{
    struct manifest m = {.number = 7, .time = 1700000000, .nodes = 2};
    struct manifest_section s = {.table = 1, .rows = 3, .rows_at = 4096, .keys_at = 4160};
    memset(m.nonce, 'a', MANIFEST_NONCE);
    CHECK_EQ(manifest_add_table(&m, "one", 10, 4, 0), 0);
    CHECK_EQ(manifest_add_table(&m, "\"two\"\n\xc3\xa9", 1, 1, LOCUS_TABLE_ENCODED), 0);
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

TEST(manifest, what_was_written_is_read)
{
    struct manifest m = whole();
    CHECK_EQ(manifest_rows(&m, 1), 3);
    CHECK_EQ(manifest_bytes(&m), 4224);
    CHECK_EQ(parse_again(&m), 0);
}

TEST(manifest, flags_are_known_ones)
{
    struct manifest m = whole();
    m.table[1].flags = LOCUS_TABLE_ENCODED + 1;
    CHECK_EQ(parse_again(&m), -EBADMSG);
    CHECK_STR(locus_error(), "a table that cannot be");
}

TEST(manifest, sections_lie_in_their_files)
{
    static const struct manifest_section wrong[] = {
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
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct manifest m = whole();
        m.file[0].section[0] = wrong[i];
        CHECK_EQ(parse_again(&m), -EBADMSG);
        CHECK_STR(locus_error(), "a section that");
    }
}

TEST(manifest, names_of_files_stay_in_the_folder)
{
    static const char *const wrong[] = {"../x", "/x", ".x", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct manifest m = whole();
        free(m.file[0].name);
        m.file[0].name = strdup(wrong[i]);
        CHECK_EQ(parse_again(&m), -EBADMSG);
        CHECK_STR(locus_error(), "a file whose name cannot be");
    }
}
