#include "saved_export.h"

#include "fail.h"
#include "word2vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NONE, TSV, TEXT, BINARY };
const char *const saved_formats[] = {
    [NONE] = "none", [TSV] = "tsv", [TEXT] = "text", [BINARY] = "binary", [BINARY + 1] = NULL};

static const struct named {
    const char *tensor, *names;
} all[] = {{"entities", "entity_names"}, {"relations", "relation_names"},
           {"inputs", "word_names"},     {"outputs", "word_names"},
           {"rows", "row_names"},        {"columns", "column_names"},
           {"row_biases", "row_names"},  {"column_biases", "column_names"},
           {"vectors", "features"},      {"wide", "features"},
           {"embeddings", "nodes"},      {"layer1.weight", "features"},
           {"word_topics", "words"},     {"coefficients", "columns"}};

static const struct saved_tensor *find(const struct saved *s, const char *name)
{
    const struct saved_tensor *t = NULL;
    for (size_t i = 0; i < s->tensor_count && !t; i++)
        if (strcmp(s->tensors[i].name, name) == 0) t = &s->tensors[i];
    return t;
}

static bool is_table(const struct saved_tensor *t)
{
    return t->type == TENSORS_F32 || t->type == TENSORS_F64;
}

/* `tensor` NULL: the first one of those above. Sets where its names are, if it may have some. */
static const struct saved_tensor *choose(const struct saved *s, const char *tensor,
                                         const char **names)
{
    const struct saved_tensor *t = tensor ? find(s, tensor) : NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all && !*names; i++) {
        if (!tensor) t = find(s, all[i].tensor);
        if (t && (tensor || is_table(t)) && strcmp(t->name, all[i].tensor) == 0)
            *names = all[i].names;
    }
    if (!t && !tensor)
        saved_fail(s, "has no tensor whose rows may have names: --tensor says which to export");
    if (!t) saved_fail(s, "has no tensor \"%s\" (--tensor)", tensor);
    if (!is_table(t))
        saved_fail(s, "its tensor \"%s\" has the type %s, and is no table of numbers", t->name,
                   tensors_types[t->type].name);
    return t;
}

static void write_name(const struct names *n, uint64_t row)
{
    if (n->count == 0) printf("%" PRIu64, row);
    for (const char *c = n->count > 0 ? names_get(n, (uint32_t)(row % n->count)) : ""; *c; c++)
        putchar(*c == '\t' || *c == '\r' ? ' ' : *c);
}

static void write_tsv(const struct saved_tensor *t, const struct names *n)
{
    uint64_t columns = t->columns ? t->columns : 1;
    const float *floats = t->values;
    const double *doubles = t->values;
    for (uint64_t row = 0; row < t->rows; row++) {
        write_name(n, row);
        for (uint64_t i = row * columns; i < (row + 1) * columns; i++) {
            if (t->type == TENSORS_F32)
                printf("\t%.9g", (double)floats[i]);
            else
                printf("\t%.17g", doubles[i]);
        }
        putchar('\n');
    }
}

static void write_word2vec(const struct saved *s, const struct saved_tensor *t,
                           const struct names *n, bool is_binary)
{
    struct word2vec w;
    if (t->type != TENSORS_F32) saved_fail(s, "\"%s\" are doubles: --export tsv", t->name);
    word2vec_begin(&w, stdout, n, t->rows, t->columns ? t->columns : 1, is_binary);
    for (uint64_t row = 0; row < t->rows; row++) word2vec_put(&w, row, saved_row(t, row));
    word2vec_end(&w);
}

void saved_export(const struct saved *s, int format, const char *tensor)
{
    const char *where = NULL;
    struct names names;
    const struct saved_tensor *t = choose(s, tensor, &where);
    saved_row_names(s, t, where ? where : "", &names);
    if (format == TSV)
        write_tsv(t, &names);
    else
        write_word2vec(s, t, &names, format == BINARY);
    names_fini(&names);
}
