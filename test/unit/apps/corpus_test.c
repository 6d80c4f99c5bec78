/* The files of lda: one set of documents in both of its forms, and what is refused. */
#include "common/folder.h"
#include "ending.h"
#include "lda/corpus.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void load(struct corpus *c, const char *text)
{
    corpus_load(c, folder_file(text, 0), NULL);
}

/* Three documents of four words: the tokens that all files below have. */
static const uint32_t tokens[] = {0, 0, 0, 1, 1, 0, 2, 2, 3, 1, 3, 3, 3, 3}, ends[] = {5, 9, 14};
enum { TOKENS = sizeof tokens / sizeof *tokens, DOCUMENTS = 3, WORDS = 4 };

static void expect(const struct corpus *c, const char *text, bool is_docword)
{
    uint32_t document = 0;
    if (c->is_docword != is_docword || c->words != WORDS || c->start[c->documents] != TOKENS ||
        memcmp(c->token, tokens, sizeof tokens) != 0)
        test_fail(__FILE__, __LINE__, "%u words, %llu tokens in:\n%s", c->words,
                  (unsigned long long)c->start[c->documents], text);
    for (uint32_t d = 0; d < c->documents; d++) {
        if (c->start[d + 1] == c->start[d]) continue; /* it has no words */
        CHECK(document < DOCUMENTS);
        CHECK_EQ(c->start[d + 1], ends[document++]);
    }
    CHECK_EQ(document, DOCUMENTS);
}

/* By the first line; a document may have no words, and entries have any order. */
TEST(corpus, corpus_load_forms_are_told_apart_and_have_the_same_documents)
{
    static const struct {
        bool is_docword;
        const char *text;
    } cases[] = {{false, "2 0:3 1:2\n3 0:1 2:2 3:1\n2 1:1 3:4\n"},
                 {false, "0\n2 0:3 1:2\n0\n4 0:1 2:1 2:1 3:1\n2 1:1 3:4"},
                 {true, "3\n4\n7\n1 1 3\n1 2 2\n2 1 1\n2 3 2\n2 4 1\n3 2 1\n3 4 4\n"},
                 {true, "5\n4\n8\n5 2 1\n2 1 3\n2 2 2\n3 1 1\n3 3 1\n3 3 1\n3 4 1\n5 4 4"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLOSED_BY(corpus_fini) struct corpus c;
        load(&c, cases[i].text);
        expect(&c, cases[i].text, cases[i].is_docword);
    }
}

static void load_text(const void *text)
{
    CLOSED_BY(corpus_fini) struct corpus c;
    load(&c, text);
}

/* No memory is taken for what is only a number. */
TEST(corpus, corpus_load_refuses_all_that_is_no_document)
{
    static const char *const cases[][2] = {
        {"", "is empty. A line must be"},
        {"0\n0\n", "has no words"},
        {"the cat\n", ":1: \"the\" is no number of words: must be a whole number from 0 to "
                      "1073741823. A line must be \"count word:count ...\""},
        {"# ldac\n1 0:1\n", ":1: \"#\" is no number of words"},
        {"1 0:1\n\n1 0:1\n", ":2: is empty"},
        {"1 0:1\r\n", ":1: has a carriage return"},
        {"2 0:1 ox:1\n", ":1: \"ox\" is no word"},
        {"2 0:1 1:1.5\n", ":1: \"1.5\" is no count: must be a whole number from 0 to 16777215"},
        {"2 0:1\n", ":1: has 1 words, and says that it has 2"},
        {"2 0:1  1:1\n", ":1: has two blanks"},
        {"1 0:1:1\n", ":1: has two colons in a word:count"},
        {"2 0:1 100000000:1\n2 0:1 3:1\n", "has 100000001 words by its numbers, and only 4"},
        {"1\n2\n", ":2: the file ends in its head of three lines"},
        {"1\n2\n0\n", ":3: \"0\" is no number of documents, words or entries"},
        {"1\n2 2\n1\n1 1 1\n", ":2: must be one number"},
        {"1\n2\n2\n1 1 1\n", ":4: the file ends after 1 of 2 entries"},
        {"1\n2\n1\n1 1 1\n1 2 1\n", ":5: there are more entries than declared"},
        {"1\n2\n1\n1 3 1\n", ":4: \"3\" is no word: must be a whole number from 1 to 2. A line must"
                             " be \"document word count, after three lines of their numbers\""},
        {"1\n2\n1\n1 1\n", ":4: must be three numbers, with one blank between"},
        {"1000000000000\n2\n1\n1 1 2\n", ":1: \"1000000000000\" is no number of words"},
        {"%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 2 4\n",
         ":1: \"%%MatrixMarket\" is no number of words"}};
    ENDS_EACH(load_text, 1, cases);
}

/* ---- vocabularies ---- */

static char folder[FOLDER_PATH_BYTES], data[2 * FOLDER_PATH_BYTES];

static void begin(const char *text)
{
    folder_new(folder);
    folder_write(folder, "data", text, 0);
    snprintf(data, sizeof data, "%s", folder_path(folder, "data"));
}

static void load_named(const void *vocabulary)
{
    CLOSED_BY(corpus_fini) struct corpus c;
    folder_write(folder, "words", vocabulary, 0);
    corpus_load(&c, data, folder_path(folder, "words"));
    printf("%s %u\n", names_get(&c.names, 1), c.words);
}

TEST(corpus, corpus_load_vocabulary_has_a_word_a_line)
{
    static const char *const right[][2] = {{"a\nb\n", "b 2"}, {"# 1\nnew york \nc", "new york  3"}};
    static const char *const wrong[][2] = {
        {"0\ta\n1\tb\n",
         "/words:1: has 2 fields with tabs between, not 1. A line must be \"word\""},
        {"a\n\nb\n", "/words:2: is empty"},
        {"a\nb\na\n", "/words:3: has a word that was there before"},
        {"a\n", "/words has 1 words, and the documents have 2"}};
    begin("2 0:3 1:2\n");
    ENDS_EACH(load_named, 0, right);
    ENDS_EACH(load_named, 1, wrong);
    begin("1\n2\n2\n1 1 1\n1 2 1\n");
    ends_with(load_named, "a\nb\n", 0, "b 2");
    ends_with(load_named, "word\na\nb\n", 1, "/words has 3 words, and the documents have 2");
}

TEST(corpus, corpus_digest_tells_names_apart)
{
    CLOSED_BY(corpus_fini) struct corpus a;
    CLOSED_BY(corpus_fini) struct corpus b;
    begin("2 0:3 1:2\n");
    folder_write(folder, "cat", "the\ncat\n", 0);
    folder_write(folder, "cow", "the\ncow\n", 0);
    corpus_load(&a, data, folder_path(folder, "cat"));
    corpus_load(&b, data, folder_path(folder, "cow"));
    CHECK(corpus_digest(&a) != corpus_digest(&b));
}
