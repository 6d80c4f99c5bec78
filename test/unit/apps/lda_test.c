/* The sampler of lda: topics are drawn with the probabilities that the counts give. */
#include "common/folder.h"
#include "lda/sampler.h"
#include "lda/shelf.h"
#include "worker/chi_square.h"
#include "ending.h"
#include "tensors.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOPICS = 11, WORDS = 5, DRAWS = 200000 };

/* Two documents; word 4 is once in the second one. */
static uint32_t tokens[] = {0, 1, 1, 2, 3, 0, 0, 1, 2, 2, 2, 3, 3, 3, 0, 4, 1, 1};
static uint64_t starts[] = {0, 5, sizeof tokens / sizeof *tokens};

static struct lda lda_of_two(void)
{
    struct lda l = {.options = {.topics = TOPICS, .alpha = 0.3, .beta = 0.2},
                    .corpus = {.documents = 2, .words = WORDS, .start = starts, .token = tokens}};
    l.options.common.seed = 5;
    return l;
}

/* What the token's probabilities are in proportion to, when it does not count itself. */
static void expect(const struct lda *l, const struct shelf *s, const float *row,
                   const float *totals, double *expected)
{
    uint32_t own = s->train.topic[s->train.start[4]];
    double counts[TOPICS] = {0}, sum = 0;
    for (uint32_t i = 0; i < s->pair_count[1]; i++)
        counts[s->pairs[s->pair_start[1] + i].topic] = s->pairs[s->pair_start[1] + i].count;
    for (uint32_t k = 0; k < TOPICS; k++) {
        double self = k == own;
        expected[k] = (counts[k] - self + l->options.alpha) *
                      ((double)row[k] - self + l->options.beta) /
                      ((double)totals[k] - self + l->options.beta * WORDS);
        sum += expected[k];
    }
    for (uint32_t k = 0; k < TOPICS; k++) expected[k] *= DRAWS / sum;
}

/* Other workers have this word, too. The word has one token here: draws are independent. */
TEST(lda, sampler_draws_by_the_counts)
{
    struct lda l = lda_of_two();
    CLOSED_BY(shelf_close) struct shelf s;
    CLOSED_BY(sampler_close) struct sampler draws;
    float row[TOPICS], totals[TOPICS] = {0};
    double expected[TOPICS], freedom;
    uint64_t seen[TOPICS] = {0};
    shelf_open(&s, &l, 0, 1, 1);
    sampler_open(&draws, &s, 0);
    for (uint64_t t = 0; t < s.tokens; t++) totals[s.train.topic[t]]++;
    for (int k = 0; k < TOPICS; k++) {
        row[k] = (float)(k % 4);
        totals[k] += row[k];
    }
    row[s.train.topic[s.train.start[4]]]++;
    sampler_set_totals(&draws, totals);
    expect(&l, &s, row, totals, expected);
    for (int i = 0; i < DRAWS; i++) {
        sampler_draw_word(&draws, 4, row);
        seen[s.train.topic[s.train.start[4]]]++;
    }
    double statistic = chi_square(seen, expected, TOPICS, &freedom);
    if (statistic > chi_square_bound(freedom))
        test_fail(__FILE__, __LINE__, "chi-square %f of %f degrees", statistic, freedom);
}

/* Each token is counted in the rows, the totals and the pairs of the shelf: or, by -1, not any more. */
static void count_tokens(struct shelf *s, float by, float rows[WORDS][TOPICS], float *totals)
{
    for (uint32_t w = 0; w < WORDS; w++)
        for (uint64_t t = s->train.start[w]; t < s->train.start[w + 1]; t++) {
            rows[w][s->train.topic[t]] += by;
            totals[s->train.topic[t]] += by;
            if (by < 0) shelf_take(s, s->train.document[t], s->train.topic[t]);
        }
}

/* After any number of draws what is counted is what the tokens say. */
TEST(lda, sampler_counts_follow_the_tokens)
{
    static float rows[WORDS][TOPICS], totals[TOPICS];
    struct lda l = lda_of_two();
    CLOSED_BY(shelf_close) struct shelf s;
    CLOSED_BY(sampler_close) struct sampler draws;
    shelf_open(&s, &l, 0, 1, 1);
    sampler_open(&draws, &s, 0);
    count_tokens(&s, 1, rows, totals);
    sampler_set_totals(&draws, totals);
    for (uint32_t i = 0; i < 100 * WORDS; i++)
        sampler_draw_word(&draws, i % WORDS, rows[i % WORDS]);
    memset(totals, 0, sizeof totals);
    count_tokens(&s, -1, rows, totals);
    for (int k = 0; k < TOPICS; k++) {
        CHECK_EQ(draws.totals[k], -totals[k]);
        for (uint32_t w = 0; w < WORDS; w++) CHECK_EQ(rows[w][k], 0);
    }
    CHECK_EQ(s.pair_count[0] + s.pair_count[1], 0);
}

/* Each token is on one worker's shelf, to train with or held back, in a block of its word's. */
TEST(lda, shelves_divide_the_tokens)
{
    enum { PLACES = 2, BLOCKS = 3 };
    struct lda l = lda_of_two();
    uint64_t all = 0, block_of[WORDS] = {0}; /* and 1 */
    l.options.held_back = 0.3;
    for (unsigned place = 0; place < PLACES; place++) {
        CLOSED_BY(shelf_close) struct shelf s;
        shelf_open(&s, &l, place, PLACES, BLOCKS);
        all += s.tokens + s.held_tokens;
        for (uint32_t b = 0; b < BLOCKS; b++)
            for (uint32_t i = s.block_start[b]; i < s.block_start[b + 1]; i++) {
                uint32_t w = s.words[i];
                CHECK(block_of[w] == 0 || block_of[w] == b + 1);
                CHECK(s.train.start[w + 1] > s.train.start[w]);
                block_of[w] = b + 1;
            }
    }
    CHECK_EQ(all, sizeof tokens / sizeof *tokens);
}

/* Word 4 is unknown to the model; all others have a topic each, with next to nothing else. */
static void write_model(const char *path, const char *names)
{
    float rows[4][TOPICS] = {{0}}, totals[TOPICS] = {0};
    CLOSED_BY(tensors_close) struct tensors t;
    for (int w = 0; w < 4; w++) rows[w][2 * w + 1] = 1e6F;
    for (int k = 0; k < TOPICS; k++) totals[k] = 1e6F;
    tensors_open(&t, path);
    tensors_declare(&t, "word_topics", TENSORS_F32, 4, TOPICS);
    tensors_declare(&t, "topic_totals", TENSORS_F32, TOPICS, 0);
    if (names) tensors_declare(&t, "words", TENSORS_U8, strlen(names), 0);
    tensors_begin(&t);
    tensors_write(&t, rows, sizeof rows);
    tensors_write(&t, totals, sizeof totals);
    if (names) tensors_write(&t, names, strlen(names));
}

/* Of words without names 4 is unknown; of those with names a word is where the model has it. */
static void check_warm(const void *names)
{
    struct lda l = lda_of_two();
    CLOSED_BY(shelf_close) struct shelf s;
    char path[FOLDER_PATH_BYTES], name[] = "a";
    snprintf(path, sizeof path, "%s", folder_file("", 0));
    write_model(path, names);
    l.options.beta = 1e-6;
    names_init(&l.corpus.names);
    for (uint32_t w = 0; names && w < WORDS; w++, name[0]++) names_add(&l.corpus.names, name, 1);
    shelf_open(&s, &l, 0, 1, 1);
    uint32_t unknown = s.train.topic[s.train.start[4]];
    lda_warm(&s, path, true);
    for (uint32_t w = 0; w < (names ? 1 : 4); w++)
        for (uint64_t i = s.train.start[w]; i < s.train.start[w + 1]; i++)
            CHECK_EQ(s.train.topic[i], names ? 7 : 2 * w + 1);
    CHECK_EQ(s.train.topic[s.train.start[4]], unknown);
    CHECK(names || s.pair_count[0] == 4); /* words 0 to 3 */
    names_fini(&l.corpus.names);
}

TEST(lda, warm_topics_are_those_of_a_model)
{
    ends_with(check_warm, NULL, 0, " words begin as ");
    ends_with(check_warm, "W\nX\nY\na\n", 0, ": 1 of ");
    ends_with(check_warm, "W\nX\nY\nZ\n", 1, "has no word of the documents (--from)");
}
