#include "checkpoint.h"

#include "checkpoint/contents.h"
#include "checkpoint/series.h"
#include "export.h"
#include "plain.h"
#include "say.h"

#include "locus.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char help[] =
    "usage: locus checkpoint list DIR\n"
    "       locus checkpoint verify DIR\n"
    "       locus checkpoint show DIR\n"
    "       locus checkpoint export DIR OUT\n"
    "\n"
    "DIR is the folder that a job writes its checkpoints to; verify, show and export take the newest one in it. Or it is\n"
    "one checkpoint: model/checkpoint-000007. docs/guides/checkpoints.md describes the files.\n"
    "\n"
    "  list      a line for each, the newest first: when it was written, by how many nodes, rows and bytes\n"
    "  verify    reads every byte; status 1, and a sentence, if something is damaged\n"
    "  show      its tables and files\n"
    "  export    writes OUT/TABLE.safetensors for each table, with all of its rows, in one tensor, TABLE; tables of\n"
    "            locus.torch are refused: Job.export() writes them\n";

static int failed(void)
{
    return say_and(STATUS_FAILED, "%s", locus_error());
}

/* The manifest of a checkpoint in a folder; name "": of the folder itself. */
static int read_one(const char *dir, const char *name, char path[SERIES_PATH], struct manifest *m)
{
    char manifest[SERIES_PATH];
    int rc = series_path(path, dir, name);
    if (rc == 0) rc = series_path(manifest, path, MANIFEST_NAME);
    return rc ? rc : manifest_read(m, FILES_HERE, manifest, NULL);
}

static int read_newest(const char *dir, char path[SERIES_PATH], struct manifest *m)
{
    char name[SERIES_NAME];
    int rc = series_newest(dir, name);
    return rc ? rc : read_one(dir, name, path, m);
}

static uint64_t all_rows(const struct manifest *m)
{
    uint64_t rows = 0;
    for (unsigned i = 0; i < m->tables; i++) rows += manifest_rows(m, i);
    return rows;
}

static void print_line(const char *name, const struct manifest *m)
{
    char when[64] = "";
    time_t at = (time_t)m->time;
    struct tm tm;
    if (localtime_r(&at, &tm)) strftime(when, sizeof when, "%F %T", &tm);
    plain_print("%s  %s  %u node%s  %u table%s  %llu row%s  %llu bytes\n", name, when, m->nodes,
                plain_s(m->nodes), m->tables, plain_s(m->tables), (unsigned long long)all_rows(m),
                plain_s(all_rows(m)), (unsigned long long)manifest_bytes(m));
}

struct listing {
    const char *dir;
    unsigned count;
};

/* One that is damaged does not hide the others. */
static int list_one(void *context, const char *name)
{
    struct listing *l = context;
    char path[SERIES_PATH];
    struct manifest m;
    l->count++;
    if (read_one(l->dir, name, path, &m)) {
        plain_print("%s  damaged: %s\n", name, locus_error());
        return 0;
    }
    print_line(name, &m);
    manifest_fini(&m);
    return 0;
}

static int list(char *dir, const char *out)
{
    char name[SERIES_NAME], path[SERIES_PATH];
    struct listing l = {.dir = dir};
    struct manifest m;
    (void)out;
    if (series_list(dir, list_one, &l)) return failed();
    if (l.count > 0) return 0;
    if (series_newest(dir, name) || read_one(dir, name, path, &m)) return failed();
    print_line(path, &m); /* it is one itself */
    manifest_fini(&m);
    return 0;
}

static int verify_all(const struct contents *c)
{
    int damaged = 0;
    for (unsigned i = 0; i < c->manifest->files; i++)
        if (contents_verify(c, &c->manifest->file[i])) damaged = failed();
    return damaged;
}

static int verify(char *dir, const char *out)
{
    char path[SERIES_PATH];
    struct manifest m;
    struct blocks blocks;
    (void)out;
    if (read_newest(dir, path, &m)) return failed();
    struct seal *seals = contents_seals(&m);
    const struct contents c = {&blocks, path, &m, seals};
    int status = blocks_init(&blocks) || !seals ? say_and(STATUS_FAILED, "no memory")
                                                : verify_all(&c);
    if (status == 0)
        plain_print("%s is whole: %u file%s, %llu bytes\n", path, m.files, plain_s(m.files),
                    (unsigned long long)manifest_bytes(&m));
    blocks_fini(&blocks);
    contents_free_seals(seals, &m);
    manifest_fini(&m);
    return status;
}

static int show(char *dir, const char *out)
{
    char path[SERIES_PATH];
    struct manifest m;
    (void)out;
    if (read_newest(dir, path, &m)) return failed();
    print_line(path, &m);
    for (unsigned i = 0; i < m.tables; i++)
        plain_print("  table %s: %llu of %llu rows of %u float%s%s%s%s%s\n", m.table[i].name,
                    (unsigned long long)manifest_rows(&m, i), (unsigned long long)m.table[i].rows,
                    m.table[i].length, plain_s(m.table[i].length),
                    m.table[i].element ? " in two bytes each" : "",
                    m.table[i].flags ? ", encoded by its program" : "",
                    m.table[i].optimizer ? ", with the state of " : "",
                    m.table[i].optimizer ? row_type_name(m.table[i].optimizer) : "");
    for (unsigned i = 0; i < m.files; i++)
        plain_print("  file %s: %llu bytes, %u table%s\n", m.file[i].name,
                    (unsigned long long)m.file[i].bytes, m.file[i].sections,
                    plain_s(m.file[i].sections));
    manifest_fini(&m);
    return 0;
}

static int export(char *dir, const char *out)
{
    char path[SERIES_PATH];
    struct manifest m;
    if (read_newest(dir, path, &m)) return failed();
    int status = export_tables(path, &m, out) ? failed() : 0;
    manifest_fini(&m);
    return status;
}

static const struct deed {
    const char *name;
    int arguments;
    int (*main)(char *dir, const char *out);
} deeds[] = {{"list", 3, list}, {"verify", 3, verify}, {"show", 3, show}, {"export", 4, export}};

int checkpoint_main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    say_as("locus checkpoint");
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return fputs(help, stdout) < 0 || fflush(stdout) ? STATUS_FAILED : 0;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        const struct deed *d = &deeds[i];
        if (strcmp(word, d->name) != 0) continue;
        if (argc != d->arguments)
            return say_and(STATUS_USAGE, "%s takes %s", word,
                           d->arguments == 3 ? "one folder" : "a folder, and one to write to");
        for (int j = 2; j < argc; j++)
            if (!*argv[j]) return say_and(STATUS_USAGE, "%s: the name of a folder is empty", word);
        int status = d->main(argv[2], argc > 3 ? argv[3] : NULL);
        return fflush(stdout) ? STATUS_FAILED : status;
    }
    return say_and(STATUS_USAGE, "there is no \"%s\": it is list, verify, show or export", word);
}
