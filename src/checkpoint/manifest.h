/*
 * manifest.h - the parts of a checkpoint: its tables, its files, and what is where in them.
 * docs/guides/checkpoints.md has the format.
 *
 * It ends with the digest of all bytes before, so no byte of it can change unnoticed.
 *
 * Memory    malloc; manifest_fini gives it back. While it is read or written, its text and what
 *           jansson makes of that
 * Waiting   for the disk
 * Life      zeroed, or manifest_parse / manifest_read; manifest_add...; manifest_fini
 */
#ifndef LOCUS_CHECKPOINT_MANIFEST_H
#define LOCUS_CHECKPOINT_MANIFEST_H

#include "checkpoint/files.h"
#include "store/row_type.h"

#include <stdbool.h>
#include <stdint.h>

#define MANIFEST_NAME "manifest.json"

enum {
    MANIFEST_VERSION = 1,
    MANIFEST_NONCE = 32, /* hexadecimal digits */
    /* More is neither written nor read: 130,000 files with rows of a table each. While it is JSON it
     * takes up to 16 times the memory. */
    MANIFEST_BYTES_MAX = 1 << 26,
    MANIFEST_ROWS_MAX = 1 << 19, /* of a table in a file */
};
/* More than any job writes, and every reader of JSON knows it. */
#define MANIFEST_NUMBER_MAX UINT64_C(999999999999999)
#define MANIFEST_FILES ".safetensors" /* behind RANK-WORKER-N */

struct manifest_table {
    char *name;
    uint64_t rows;
    uint32_t length;
    uint32_t flags; /* of struct locus_table */
    enum locus_optimizer optimizer;
    enum locus_element element;
    uint32_t stored; /* floats of a row: its values, then the optimizer's state */
    /* of a row in a file: values have two bytes there as in memory, if no state is behind them */
    uint32_t bytes;
};

/* Rows of one table in a file, and their numbers in the table. */
struct manifest_section {
    unsigned table;
    uint64_t rows;             /* how many */
    uint64_t rows_at, keys_at; /* bytes from the beginning of the file */
};

struct manifest_file {
    char *name;
    uint64_t bytes, data_at; /* the header is before `data_at` */
    char header[DIGEST_TEXT], data[DIGEST_TEXT];
    struct manifest_section *section;
    unsigned sections;
};

struct manifest {
    uint64_t number; /* of the checkpoint in its folder */
    char nonce[MANIFEST_NONCE + 1];
    int64_t time; /* seconds since 1970 */
    unsigned nodes;
    unsigned tables, files;
    struct manifest_table *table;
    struct manifest_file *file;
    unsigned char *note; /* the program's */
    size_t note_bytes;   /* at most LOCUS_NOTE_MAX; 0: none */
    uint64_t draws;      /* of store_draws(); 0: no values are of 16 bits, or an older locus */
};

/* Is it the name of a file with rows? */
bool manifest_is_file(const char *name);
/* 0 or -ENOMEM. */
int manifest_add_table(struct manifest *, const char *name, uint64_t rows, uint32_t length,
                       uint32_t flags, enum locus_optimizer, enum locus_element);
/* The new file, empty; NULL: no memory. Valid until the next is added. */
struct manifest_file *manifest_add_file(struct manifest *, const char *name);
int manifest_add_section(struct manifest_file *, const struct manifest_section *);
int manifest_set_note(struct manifest *, const void *note, size_t bytes);
/* All files of `from`, which has none then. */
int manifest_move_files(struct manifest *to, struct manifest *from);
void manifest_fini(struct manifest *);

uint64_t manifest_rows(const struct manifest *, unsigned table); /* written ones */
uint64_t manifest_bytes(const struct manifest *);                /* of all files */

/* Its text; free() it. NULL: no memory, or a name that is not UTF-8. */
char *manifest_text(const struct manifest *);
/* Returns 0, -ENOMEM, or -EBADMSG with the reason in locus_error(): damaged, or not a manifest of a
 * known version. After 0 it is consistent: every section lies within its file. */
int manifest_parse(struct manifest *, const char *text, size_t bytes);

/* To a new file, synced. 0 or a negative errno, with the sentence. */
int manifest_write(const struct manifest *, const char *path);
/* As manifest_parse; -ENOENT: there is no such file; another: it cannot be read. `folder` as in
 * files.h; `digest`, or NULL: of the whole file. */
int manifest_read(struct manifest *, int folder, const char *path, char digest[DIGEST_TEXT]);

#endif
