/* The manifest of a checkpoint: whatever stands in it, with the right digest behind, is consistent
 * or refused; what is consistent is written as it was read. */
#include "input.h"

#include "checkpoint/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look_at(const struct manifest *m)
{
    for (unsigned i = 0; i < m->files; i++) {
        const struct manifest_file *f = &m->file[i];
        MUST(*f->name && *f->name != '.' && !strchr(f->name, '/') && f->data_at <= f->bytes);
        for (unsigned s = 0; s < f->sections; s++) {
            const struct manifest_section *o = &f->section[s];
            MUST(o->table < m->tables);
            uint64_t rows = o->rows * m->table[o->table].length * sizeof(float);
            MUST(o->rows <= m->table[o->table].rows && o->rows_at >= f->data_at);
            MUST(o->rows_at + rows <= o->keys_at && o->keys_at + 8 * o->rows <= f->bytes);
        }
    }
    MUST(manifest_bytes(m) + manifest_rows(m, 0) + 1 != 0);
}

static void write_again(const struct manifest *m)
{
    struct manifest again;
    char *text = manifest_text(m);
    MUST(text && manifest_parse(&again, text, strlen(text)) == 0);
    char *twice = manifest_text(&again);
    MUST(twice && strcmp(text, twice) == 0);
    manifest_fini(&again);
    free(text);
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest m;
    char digest[DIGEST_TEXT], tail[128];
    if (manifest_parse(&m, (const char *)data, size) == 0) manifest_fini(&m);
    char *text = malloc(size + sizeof tail);
    MUST(text != NULL);
    memcpy(text, data, size);
    digest_of(text, size, digest);
    size_t more = (size_t)snprintf(tail, sizeof tail, ",\n \"blake2b\": \"%s\"\n}\n", digest);
    memcpy(text + size, tail, more);
    if (manifest_parse(&m, text, size + more) == 0) {
        look_at(&m);
        write_again(&m);
        manifest_fini(&m);
    }
    free(text);
    return 0;
}
