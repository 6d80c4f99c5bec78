#include "corpus.h"
#include "fail.h"
#include "libsvm.h"
#include "new_documents.h"
#include "predict.h"
#include "programs.h"

#include <stdlib.h>
#include <string.h>

struct using
{
    size_t topics;
    double alpha;
    uint64_t words;
    double *phi; /* of each word its probability in each topic */
    struct names names;
    double *theta, *next;
    const double **given; /* of the document's tokens */
    size_t count, capacity;
    uint64_t documents;
};

static void open(struct predict *p)
{
    struct using *u = p->program;
    const struct saved *s = &p->model;
    const struct saved_tensor *totals = saved_take(s, "topic_totals", TENSORS_F32, 0, 0),
                              *rows = saved_take(s, "word_topics", TENSORS_F32, 0, totals->rows);
    double beta = saved_number(s, "beta");
    u->alpha = saved_number(s, "alpha");
    u->topics = totals->rows;
    u->words = rows->rows;
    saved_names(s, "words", u->words, &u->names);
    u->phi = take_memory(u->words * u->topics + 1, sizeof *u->phi);
    for (uint64_t w = 0; w < u->words; w++)
        for (size_t k = 0; k < u->topics; k++)
            u->phi[w * u->topics + k] = ((double)saved_row(rows, w)[k] + beta) /
                                        ((double)*saved_row(totals, k) + (double)u->words * beta);
    u->theta = take_memory(u->topics + 1, sizeof *u->theta);
    u->next = take_memory(u->topics + 1, sizeof *u->next);
}

/* What the model does not know is left out. */
static void add(struct predict *p, uint32_t word, uint64_t times)
{
    struct using *u = p->program;
    if (word >= u->words) return;
    if (times > CORPUS_COUNT_MAX - u->count)
        lines_fail(&p->lines, "has more than %d words", CORPUS_COUNT_MAX);
    if (u->count + times > u->capacity) {
        u->capacity = 2 * (u->count + (size_t)times);
        u->given = resize_memory(u->given, u->capacity, sizeof *u->given, "words of a document");
    }
    for (uint64_t i = 0; i < times; i++) u->given[u->count++] = u->phi + word * u->topics;
}

/* A document of words; or, where the model has numbers or the line is one of LDA-C, of word:count
 * behind their number. */
static void read_document(struct predict *p)
{
    struct using *u = p->program;
    const struct lines *l = &p->lines;
    struct libsvm line;
    struct libsvm_pair pair;
    struct field word;
    u->count = 0;
    if (u->names.count > 0 && !corpus_is_ldac(l)) {
        for (const char *at = l->text; lines_text_word(l, &at, &word);)
            add(p, names_find(&u->names, word.text, word.length), 1);
        return;
    }
    libsvm_take_line(&line, l);
    while (libsvm_pair(&line, "word", &pair))
        add(p, pair.index, lines_take_whole(l, pair.value, 0, CORPUS_COUNT_MAX, "count"));
}

static void answer(struct predict *p)
{
    struct using *u = p->program;
    if (corpus_is_comment(&p->lines)) return;
    read_document(p);
    u->documents++;
    new_documents_one(u->given, u->count, u->count, u->topics, u->alpha, u->theta, u->next);
    if (p->best == 0) {
        predict_numbers(p, "topics", u->theta, u->topics);
        predict_end(p);
        return;
    }
    for (size_t k = 0; k < u->topics; k++) predict_offer(p, (uint32_t)k, (float)u->theta[k]);
    for (size_t i = 0; i < p->candidate_count; i++) {
        predict_number(p, "document", (double)u->documents);
        predict_number(p, "topic", p->candidates[i].number);
        predict_number(p, "share", u->theta[p->candidates[i].number]);
        predict_end(p);
    }
}

static void close(struct predict *p)
{
    struct using *u = p->program;
    names_fini(&u->names);
    free(u->phi);
    free(u->theta);
    free(u->next);
    free(u->given);
}

const struct predict_kind lda_predict_kind = {
    .model = "|lda|",
    .about =
        "Finds the topics of the document in each line of FILE, or of stdin, by a model that locus-lda has saved:\n"
        "words with blanks between, or LDA-C. Words that the model does not know are left out.",
    .more =
        "A line out: the share of each topic, from topic 0 on, found by expectation and maximization from equal\n"
        "shares. With --best: document, from 1, topic and share.\n\n"
        "example:\n"
        "  locus-lda predict --best 3 topics.safetensors new.txt",
    .program_bytes = sizeof(struct using),
    .is_text = true,
    .best_help = "the likeliest topics, a line each; 0: all, in a line",
    .open = open,
    .answer = answer,
    .close = close};
