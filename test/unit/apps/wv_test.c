#include "common/folder.h"
#include "ending.h"
#include "matrix.h"
#include "pools.h"
#include "programs.h"
#include "rows.h"
#include "tensors.h"
#include "test.h"
#include "wv/judge.h"
#include "wv/questions.h"
#include "wv/skipgram.h"
#include "wv/vocabulary.h"
#include "wv/windows.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[FOLDER_PATH_BYTES], path[2 * FOLDER_PATH_BYTES];

static const char *file_of(const char *text, size_t length)
{
    folder_new(folder);
    folder_write(folder, "text", text, length);
    snprintf(path, sizeof path, "%s/text", folder);
    return path;
}

/* ---- text ---- */

TEST(wv, text_has_words_and_lines)
{
    CLOSED_BY(text_close) struct text t;
    char said[128] = "";
    text_open(&t, file_of(" one\ttwo\n\nthree", 0), 0, 1);
    for (int round = 0; round < 2; round++, text_rewind(&t))
        for (enum text_event e = TEXT_WORD; e != TEXT_END;) {
            e = text_next(&t);
            sprintf(said + strlen(said),
                    e == TEXT_WORD   ? "%.*s "
                    : e == TEXT_LINE ? "/"
                                     : ".",
                    (int)t.length, t.word);
        }
    CHECK_EQ(strcmp(said, "one two //three .one two //three ."), 0);
}

TEST(wv, pieces_of_a_text_have_each_word_once)
{
    char text[2000] = "";
    for (int i = 0; i < 200; i++) sprintf(text + strlen(text), "w%d%s", i, i % 7 ? " " : "\n");
    file_of(text, 0);
    for (unsigned pieces = 1; pieces < 40; pieces++) {
        int next = 0;
        for (unsigned piece = 0; piece < pieces; piece++) {
            CLOSED_BY(text_close) struct text t;
            text_open(&t, path, piece, pieces);
            for (enum text_event e; (e = text_next(&t)) != TEXT_END;)
                if (e == TEXT_WORD) CHECK_EQ(atoi(t.word + 1), next++);
        }
        CHECK_EQ(next, 200);
    }
}

static void read_all(const void *unused)
{
    CLOSED_BY(text_close) struct text t;
    (void)unused;
    text_open(&t, path, 0, 1);
    while (text_next(&t) != TEXT_END) continue;
}

TEST(wv, text_that_is_none_is_refused_with_its_line)
{
    char longest[1200];
    memset(longest, 'x', sizeof longest);
    longest[1] = longest[3] = '\n';
    file_of("fine\nal\0so\n", 11);
    ends_with(read_all, NULL, 1, "text:2: has a zero byte: is it of gzip (zcat FILE |)?");
    file_of("one\ntwo\r\nthree\n", 0);
    ends_with(read_all, NULL, 1, "text:2: has a carriage return in it");
    file_of("\xEF\xBB\xBFone\n", 0);
    ends_with(read_all, NULL, 1, "text:1: begins with a byte order mark");
    file_of(longest, sizeof longest);
    ends_with(read_all, NULL, 1, "text:3: there is a word of more than 1024 bytes");
}

/* ---- vocabulary ---- */

/* By frequency; with a model, words that are rare in the text, or not in it, are of its words. */
/* Of these words, a line each. */
static const char *model_of(const char *words, unsigned count)
{
    static const float vectors[8];
    CLOSED_BY(tensors_close) struct tensors t;
    tensors_open(&t, folder_path(folder, "model"));
    tensors_declare(&t, "inputs", TENSORS_F32, count, 2);
    tensors_declare(&t, "word_names", TENSORS_U8, strlen(words), 0);
    tensors_begin(&t);
    tensors_write(&t, vectors, 2 * count * sizeof *vectors);
    tensors_write(&t, words, strlen(words));
    return folder_path(folder, "model");
}

TEST(wv, vocabulary_has_the_words_of_a_text_and_a_model)
{
    static const char *const words[] = {"a", "d", "b", "rare", "gone", "lost"};
    static const uint64_t counts[] = {4, 4, 2, 1, 0, 0};
    file_of("b a c a\nb a a d d d d rare", 0);
    for (uint32_t count = 3; count <= 6; count += 3) {
        CLOSED_BY(vocabulary_fini) struct vocabulary v;
        vocabulary_load(&v, path, 2, count == 6 ? model_of("gone\nrare\na\nlost\n", 4) : NULL);
        CHECK(v.words.count == count && v.read == 12 && v.total == (count == 6 ? 11 : 10));
        CLOSED_BY(free_at) double *weights = vocabulary_weights(&v);
        CHECK(fabs(weights[0] - pow(4, 0.75)) < 1e-12);
        for (uint32_t i = 0; i < count; i++) {
            CHECK(strcmp(names_get(&v.words, i), words[i]) == 0);
            CHECK_EQ(v.counts[i], counts[i]);
            CHECK((weights[i] > 0) == (i < 4) && isfinite(weights[i]));
        }
        CHECK(count == 3 || (v.kept == 2 && vocabulary_keep(&v, 5, 0.001) == 1));
    }
}

static void load_rare(const void *model)
{
    struct vocabulary v;
    vocabulary_load(&v, path, 5, model ? model_of(model, 1) : NULL);
}

TEST(wv, vocabulary_without_frequent_words_is_refused)
{
    file_of("a b c", 0);
    ends_with(load_rare, NULL, 1,
              "none of its 3 words occurs 5 times: choose a smaller --min-count");
    file_of("a a a a a", 0);
    ends_with(load_rare, "b\n", 1, "model: has no word of ");
}

/* A word of frequency 0.1 at the threshold 0.001: sqrt(0.01) + 0.01. */
TEST(wv, vocabulary_keep_thins_out_frequent_words_as_the_original)
{
    uint64_t counts[] = {100, 1};
    struct vocabulary v = {.counts = counts, .total = 1000};
    CHECK(fabs(vocabulary_keep(&v, 0, 0.001) - 0.11) < 1e-12);
    CHECK(vocabulary_keep(&v, 1, 0.001) == 1);
    CHECK(vocabulary_keep(&v, 0, 0) == 1);
}

/* ---- the baseline's negative samples ---- */

TEST(wv, noise_draws_in_proportion)
{
    const double weights[] = {1, 0, 5, 2};
    int counts[4] = {0};
    CLOSED_BY(noise_fini) struct noise n;
    struct rng rng;
    rng_init(&rng, 7, 7);
    noise_init(&n, weights, 4);
    for (int i = 0; i < 200000; i++) counts[noise_draw(&n, &rng)]++;
    for (int i = 0; i < 4; i++) /* more than 6 standard deviations, of a seed that is fixed */
        CHECK(abs(counts[i] - (int)weights[i] * 25000) < (i == 1 ? 1 : 1400));
}

/* ---- windows ---- */

static void tiny_init(struct wv *w, const char *text)
{
    *w = (struct wv){.options = {.dim = 6, .window = 2, .negatives = 3, .batch = 4, .rate = 0.1}};
    w->options.common =
        (struct settings){.epochs = 2, .seed = 3, .workers = 1, .is_baseline = true};
    w->options.common.data = file_of(text, 0);
    vocabulary_load(&w->vocabulary, path, 1, NULL);
    CLOSED_BY(free_at) double *weights = vocabulary_weights(&w->vocabulary);
    noise_init(&w->noise, weights, w->vocabulary.words.count);
}

static void tiny_fini(struct wv *w)
{
    noise_fini(&w->noise);
    vocabulary_fini(&w->vocabulary);
}

static void tiny_pool(struct pool *pool, const struct wv *w)
{
    const struct locus_table table = {.rows = w->vocabulary.words.count,
                                      .length = (uint32_t)wv_length(w)},
                             tables[] = {table, table};
    pool_open(pool, &(struct pool_config){.tables = tables,
                                          .table_count = 2,
                                          .workers = 1,
                                          .is_baseline = w->options.common.is_baseline});
}

/* Runs `work` on a text of numbers, on plain arrays or with locus. */
static void tiny_run(const char *text, bool is_baseline, pool_work *work)
{
    CLOSED_BY(tiny_fini) struct wv w;
    CLOSED_BY(pool_close) struct pool pool;
    tiny_init(&w, text);
    w.options.common.is_baseline = is_baseline;
    tiny_pool(&pool, &w);
    CLOSED_BY(free_at) double *weights = vocabulary_weights(&w.vocabulary);
    if (!is_baseline)
        CHECK_EQ(locus_distribution_weighted(pool.node, wv_output_key(&w, 0), weights,
                                             w.vocabulary.words.count, LOCUS_CONFORM, 0,
                                             &w.distribution),
                 0);
    pool_run(&pool, work, &w);
    if (!is_baseline) locus_distribution_free(w.distribution);
}

static int number_of(const struct wv *w, locus_key key)
{
    return atoi(names_get(&w->vocabulary.words, (uint32_t)(key % w->vocabulary.words.count)));
}

/* The words of a sentence are its numbers: neighbours are 1 or 2 apart, the middle is never its own
 * neighbour, and sentences do not mix. */
static void check_batch(const struct wv *w, const struct window_batch *b, int *middles, int *far)
{
    uint32_t words = w->vocabulary.words.count;
    CHECK_EQ(b->negatives, b->pairs * 3);
    for (uint32_t i = 0; i < b->keys_used; i++) {
        for (uint32_t j = 0; j < i; j++) CHECK(b->keys[i] != b->keys[j]);
    }
    for (uint32_t i = 0, pair = 0; i < b->middles; i++) {
        CHECK(b->keys[b->middle[i]] >= words);
        int middle = number_of(w, b->keys[b->middle[i]]);
        middles[middle]++;
        for (; pair < b->pairs_end[i]; pair++) {
            CHECK(b->keys[b->neighbour[pair]] < words);
            int apart = abs(number_of(w, b->keys[b->neighbour[pair]]) - middle);
            CHECK(apart == 1 || apart == 2);
            *far += apart == 2;
        }
    }
}

static void windows_work(struct pool_member *m, void *wv)
{
    const struct wv *w = wv;
    CLOSED_BY(free_at) struct windows *s = calloc(1, sizeof *s);
    const struct window_batch *b;
    int middles[30] = {0}, far = 0, ends = 0;
    uint64_t read = 0;
    CHECK(s != NULL);
    windows_open(s, w, m, 0);
    while ((b = windows_next(s)) != NULL) {
        check_batch(w, b, middles, &far);
        read += b->words;
        ends += b->is_last;
    }
    windows_close(s);
    CHECK_EQ(ends, 2);
    CHECK_EQ(read, 2 * w->vocabulary.total);
    for (int i = 1; i <= 9; i++) CHECK_EQ(middles[i], 2);
    for (int i = 21; i <= 25; i++) CHECK_EQ(middles[i], 2);
    CHECK_EQ(middles[15], 0);
    CHECK(far > 0);
}

TEST(wv, windows_are_of_one_sentence)
{
    tiny_run("1 2 3 4 5 6 7 8 9\n15\n21 22 23 24 25\n", true, windows_work);
}

/* ---- the step ---- */

static locus_key output_of(const struct window_batch *b, const locus_key *drawn, uint32_t middle,
                           uint32_t pair, size_t j, size_t negatives)
{
    return j == 0 ? b->keys[b->middle[middle]] : drawn[pair * negatives + j - 1];
}

/* By the book, in double precision: of the pairs one after the other. The rows are those of both
 * tables. */
static double reference(const struct wv *w, const struct window_batch *b,
                        const locus_key *negatives, double *rows)
{
    size_t dim = w->options.dim, n = w->options.negatives;
    double loss = 0, gradient[16], derivatives[16];
    for (uint32_t i = 0, pair = 0; i < b->middles; i++) {
        for (; pair < b->pairs_end[i]; pair++) {
            double *input = rows + b->keys[b->neighbour[pair]] * dim;
            memset(gradient, 0, sizeof gradient);
            /* A negative may have been drawn twice: the pair's scores are all of before. */
            for (size_t j = 0; j <= n; j++) {
                double score = 0, *output = rows + output_of(b, negatives, i, pair, j, n) * dim;
                for (size_t k = 0; k < dim; k++) score += input[k] * output[k];
                derivatives[j] = 1 / (1 + exp(-score)) - (j == 0);
                if (j > 0 && output_of(b, negatives, i, pair, j, n) == b->keys[b->middle[i]])
                    derivatives[j] = 0;
                if (j == 0 || derivatives[j] > 0) loss += log1p(exp(j == 0 ? -score : score));
            }
            for (size_t j = 0; j <= n; j++) {
                double *output = rows + output_of(b, negatives, i, pair, j, n) * dim;
                for (size_t k = 0; k < dim; k++) {
                    gradient[k] += derivatives[j] * output[k];
                    output[k] -= w->options.rate * derivatives[j] * input[k];
                }
            }
            for (size_t k = 0; k < dim; k++) input[k] -= w->options.rate * gradient[k];
        }
    }
    return loss;
}

static void fill_row(const void *unused, uint64_t row, float *values)
{
    (void)unused;
    for (int i = 0; i < 6; i++) values[i] = (float)sin((double)row * 7 + i);
}

static void step_work(struct pool_member *m, void *wv)
{
    const struct wv *w = wv;
    CLOSED_BY(free_at) struct windows *windows = calloc(1, sizeof *windows);
    struct skipgram step;
    static struct pools_copy before, after;
    CHECK(windows != NULL);
    wv_first_rows(m, w);
    pools_copy(m, &before);
    for (size_t i = before.count / 2; i < before.count; i++)
        CHECK(before.values[i] == 0); /* outputs */
    rows_init(m, WV_INPUTS, fill_row, NULL);
    rows_init(m, WV_OUTPUTS, fill_row, NULL);
    windows_open(windows, w, m, 0);
    skipgram_open(&step, w, m);
    for (int batch = 0; batch < 3; batch++) {
        const struct window_batch *b = windows_next(windows);
        CHECK(b->pairs > 4);
        pools_copy(m, &before);
        double loss = skipgram_train(&step, b),
               expected = reference(w, b, step.keys + b->keys_used, before.values);
        CHECK(fabs(loss - expected) < 1e-3);
        pools_copy(m, &after);
        for (size_t i = 0; i < after.count; i++)
            CHECK(fabs(after.values[i] - before.values[i]) < 1e-4);
    }
    skipgram_close(&step);
    windows_close(windows);
}

/* With locus, too: a word that is a middle and a negative of one batch has one row. */
TEST(wv, skipgram_steps_follow_the_formulas)
{
    static const char text[] = "1 2 3 4 5 6 7 8 9\n21 22 23 24 25 26 27 28 29 30\n";
    tiny_run(text, true, step_work);
    tiny_run(text, false, step_work);
}

/* Trains with what the file has now; its vocabulary was taken before. */
static void train_all(const void *context)
{
    struct wv w = *(const struct wv *)context;
    struct training *t = calloc(1, sizeof *t);
    struct pool pool;
    tiny_pool(&pool, &w);
    training_open(t, &wv_training, &w, &w.options.common, &pool);
    pool_run(&pool, training_work, t);
}

/* Nobody sees from outside that the second one did. */
TEST(wv, text_that_changes_is_named_as_the_cause)
{
    static const char *const texts[] = {"9 8 7 6 5\n", "1 2 3 4 x\n", "1 2 3 4 5\n"};
    CLOSED_BY(tiny_fini) struct wv w;
    tiny_init(&w, texts[2]);
    for (int i = 0; i < 3; i++) {
        const struct stat *about = &w.vocabulary.text;
        folder_write(folder, "text", texts[i], 0);
        if (i > 0)
            utimensat(AT_FDCWD, path, (struct timespec[]){about->st_atim, about->st_mtim}, 0);
        ends_with(train_all, &w, i < 2,
                  i < 2 ? "/text was changed or replaced while it was read: start again\n"
                        : "epoch   2");
    }
}

/* ---- questions ---- */

TEST(wv, analogies_are_counted_by_section)
{
    CLOSED_BY(vocabulary_fini) struct vocabulary v;
    CLOSED_BY(analogies_fini) struct analogies a;
    vocabulary_load(&v, file_of("king queen man woman paris france", 0), 1, NULL);
    folder_write(
        folder, "questions",
        ": family\nMan Woman King Queen\nman woman king empress\n: capitals\nparis france man rome\n",
        0);
    snprintf(path, sizeof path, "%s/questions", folder);
    analogies_load(&a, path, &v, 0);
    CHECK(a.total == 3 && a.count == 1 && a.sections.count == 2);
    CHECK_STR(names_get(&a.sections, 1), "capitals");
    CHECK(a.asked[0] == 2 && a.answerable[0] == 1 && a.answerable[1] == 0);
    CHECK_EQ(a.list[0].words[3], names_find(&v.words, "queen", 5));
    analogies_fini(&a);
    analogies_load(&a, path, &v, 3);
    CHECK_EQ(a.count, 0);
}

TEST(wv, analogies_are_answered_by_the_nearest_word)
{
    /* man woman king queen other */
    static const float vectors[] = {0, 1, 1, 1, 0, 3, 1, 3, 0.6F, 0.8F};
    float panels[1024];
    struct wv w = {.options.dim = 2};
    struct judge j = {
        .wv = &w, .candidates = 5, .vectors = (float *)(uintptr_t)vectors, .panels = panels};
    const float *rows[5];
    for (int i = 0; i < 5; i++) rows[i] = vectors + 2 * i;
    CHECK(matrix_panels(2, 5) <= 1024);
    matrix_pack_turned(panels, rows, 2, 5);
    struct analogy list[] = {{.words = {0, 1, 2, 3}}, {.words = {0, 1, 2, 4}, .section = 1}};
    uint64_t correct[2] = {0};
    judge_answer(&j, list, 2, correct);
    CHECK_EQ(correct[0], 1);
    CHECK_EQ(correct[1], 0);
}

static void load_questions(const void *similarity)
{
    struct vocabulary v;
    names_init(&v.words);
    if (similarity) {
        struct similarities s;
        similarities_load(&s, path, &v);
    } else {
        struct analogies a;
        analogies_load(&a, path, &v, 0);
    }
}

TEST(wv, malformed_questions_are_refused_with_their_line)
{
    static const struct {
        bool is_similarity;
        const char *text, *part;
    } cases[] = {
        {false, ": s\na b c d\na b c\n", "text:3: has fewer than 4 words with one blank between"},
        {false, ": s\na  b c d\n", "text:2: has fewer than 4 words"},
        {false, "a b c d\n", "text:1: comes before the first section"},
        {true, "a\tb\t1\na\tc\thigh\n", "text:2: \"high\" is no rating"},
        {true, "a,b,3\n", "text:1: has 1 field with tabs between, not 3"},
        {true, "a\tb\tA\t1\n", "text:1: has 4 fields"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_of(cases[i].text, 0);
        ends_with(load_questions, cases[i].is_similarity ? "" : NULL, 1, cases[i].part);
    }
}

TEST(wv, similarities_have_known_words)
{
    CLOSED_BY(vocabulary_fini) struct vocabulary v;
    CLOSED_BY(similarities_fini) struct similarities s;
    vocabulary_load(&v, file_of("a b", 0), 1, NULL);
    similarities_load(&s, file_of("a\tb\t0.25\nB\ta\t3\na\tc\t1\n", 0), &v);
    CHECK(s.total == 3 && s.count == 2 && s.list[0].rating == 0.25 && s.list[1].rating == 3);
}

TEST(wv, spearman_correlates_ranks)
{
    const double x[] = {1, 2, 3, 4, 5}, y[] = {5, 6, 7, 8, 7}, z[] = {3, 3, 3, 3, 3},
                 down[] = {9, 7, 4, 2, 0};
    /* By hand: ranks 1 2 3.5 5 3.5 against 1 ... 5: 8 / sqrt(10 * 9.5). */
    CHECK(fabs(spearman(x, y, 5) - 8 / sqrt(95)) < 1e-12);
    CHECK(fabs(spearman(x, down, 5) + 1) < 1e-12);
    CHECK(isnan(spearman(x, z, 5)));
    CHECK(isnan(spearman(x, y, 1)));
}
