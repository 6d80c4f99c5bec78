/* The files of lda: one set of documents in each of its formats, and what is refused. */
#include "common/folder.h"
#include "ending.h"
#include "lda/corpus.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static char folder[FOLDER_PATH_BYTES];

static void load(struct corpus *c, const char *text)
{
    corpus_load(c, folder_file(text, 0), FORMAT_AUTO, NULL);
}

/* Three documents of four words: the tokens that all files below have. */
static const uint32_t tokens[] = {0, 0, 0, 1, 1, 0, 2, 2, 3, 1, 3, 3, 3, 3}, ends[] = {5, 9, 14};
enum { TOKENS = sizeof tokens / sizeof *tokens, DOCUMENTS = 3, WORDS = 4 };

static void expect(const struct corpus *c, const char *text, enum format format)
{
    uint32_t document = 0;
    if (c->format != format || c->words != WORDS || c->start[c->documents] != TOKENS ||
        memcmp(c->token, tokens, sizeof tokens) != 0)
        test_fail(__FILE__, __LINE__, "format %d, %u words, %llu tokens in:\n%s", c->format,
                  c->words, (unsigned long long)c->start[c->documents], text);
    for (uint32_t d = 0; d < c->documents; d++) {
        if (c->start[d + 1] == c->start[d]) continue; /* it has no words */
        CHECK(document < DOCUMENTS);
        CHECK_EQ(c->start[d + 1], ends[document++]);
    }
    CHECK_EQ(document, DOCUMENTS);
}

/* Blank lines, comments and documents without words are passed over, in any order of entries. */
TEST(corpus, formats_are_told_apart_and_have_the_same_documents)
{
    static const struct {
        enum format format;
        const char *text;
    } cases[] = {
        {FORMAT_LDAC, "2 0:3 1:2\n3 0:1 2:2 3:1\n2 1:1 3:4\n"},
        {FORMAT_LDAC, "# ldac\n \t\n2 0:3 1:2 # first\r\n% more\n3 0:1 2:2 3:1  \n\n2 1:1 3:4\n\n"},
        {FORMAT_DOCWORD, "3\n4\n7\n1 1 3\n1 2 2\n2 1 1\n2 3 2\n2 4 1\n3 2 1\n3 4 4\n  \n"},
        {FORMAT_DOCWORD,
         "# head\n3\n\n4 # words\r\n7\n% entries\n3 2 1\n1 1 3\n1 2 2\n2 1 1\n2 3 2\n"
         "2 4 1\n3 4 4"},
        {FORMAT_MATRIX,
         "\n% from elsewhere\n%%matrixmarket matrix coordinate real general\n% more\n"
         "3 4 8\n1 1 3\n2 1 1.0\n1 2 2\n3 2 1\n2 3 2e0\n2 2 0\n2 4 1\n3 4 4\n\n"},
        {FORMAT_TEXT, "# by hand\n\n\ta  a a b b \r\n% more\na c c d\n \nb d d d d\n\n"},
        {FORMAT_TEXT, "1984 1984 1984 b b\n1984 c c d\nb d d d d\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLOSED_BY(corpus_fini) struct corpus c;
        load(&c, cases[i].text);
        expect(&c, cases[i].text, cases[i].format);
    }
}

TEST(corpus, a_pattern_has_each_word_once)
{
    CLOSED_BY(corpus_fini) struct corpus c;
    load(&c, "%%MatrixMarket matrix coordinate pattern general\n2 9 3\n2 1\n1 2\n1 9\n");
    CHECK(c.token[0] == 1 && c.token[1] == 8 && c.token[2] == 0 && c.start[1] == 2 && c.words == 9);
}

TEST(corpus, digests_tell_words_apart)
{
    CLOSED_BY(corpus_fini) struct corpus a;
    CLOSED_BY(corpus_fini) struct corpus b;
    load(&a, "1984\nthe cat\n"); /* a number alone is a document */
    load(&b, "1984\nthe cow\n");
    CHECK(a.format == FORMAT_TEXT && a.documents == 2 && a.words == 3);
    CHECK(corpus_digest(&a) != corpus_digest(&b));
}

static void load_text(const void *text)
{
    struct corpus c;
    load(&c, text);
}

/* Who names it knows. */
TEST(corpus, a_format_that_is_named_is_taken)
{
    static const char *const texts[] = {"2 ox:3 cow:1\n1 ox:2\n", "2 0:3 1:2\n1 3:1\n",
                                        "d1\tthe first\nd2\tthe second one\n"};
    struct corpus c;
    for (int i = 0; i < 3; i++) {
        corpus_load(&c, folder_file(texts[i], 0), FORMAT_TEXT, NULL);
        CHECK_EQ(c.documents, 2);
        CHECK_EQ(c.words, 5 + (i == 2));
        corpus_fini(&c);
    }
}

/* No memory is taken for what is only a number. */
TEST(corpus, files_that_may_be_of_another_format_or_are_wrong_are_refused)
{
    static const char *const cases[][2] = {
        {"document words\n2 0:3 1:2\n", ":2: is a line of LDA-C, and the first one is not"},
        {"1 1 3\n1 2 2\n2 1 1\n", "has no letter, and at most three numbers a line"},
        {"a b\n#b c\n", ":2: is a comment, or a document that begins so"},
        {"2 ox:3 cow:1\n1 ox:2\n", "has word:count in each line"},
        {"d1\tthe first\nd2\tthe second one\n", "has columns, with tabs between"},
        {"id,text\n1,\"the first\"\n2,\"the second one\"\n", "has columns, with commas"},
        {"{\"text\": \"the first\"}\n{\"text\": \"one\"}\n", "has lines in quotation marks"},
        {"0 the first\n1 the second one\n2 the third\n", "numbers its lines"},
        {"2 0:1 1:1.5\n", ":1: \"1.5\" is no count: must be a whole number from 0 to 16777215"},
        {"1\n2\n2\n1 1 1\n", "the file ends after 1 of 2 entries"},
        {"2 0:1 100000000:1\n2 0:1 3:1\n", "has 100000001 words by its numbers, and only 4"},
        {"1000000000000\n2\n1\n1 1 2\n", ":1: \"1000000000000\" is no number of documents"}};
    ENDS_EACH(load_text, 1, cases);
}

/* ---- vocabularies, and documents to test with ---- */

static const char *file_of(const char *name, const char *text)
{
    folder_write(folder, name, text, 0);
    return folder_path(folder, name);
}

static char data[2 * FOLDER_PATH_BYTES];

static void begin(const char *text)
{
    folder_new(folder);
    snprintf(data, sizeof data, "%s", file_of("data", text));
}

static void load_named(const void *vocabulary)
{
    CLOSED_BY(corpus_fini) struct corpus c;
    corpus_load(&c, data, FORMAT_AUTO, file_of("words", vocabulary));
    printf("%s %u\n", names_get(&c.names, 1), c.words);
}

TEST(corpus, a_vocabulary_has_a_word_a_line)
{
    static const char *const right[][2] = {
        {"a\nb\n", "b 2"},
        {"# of Associated Press\n\na \n\tb\n\nnew york\n\n", "b 3"},
        {"2001\nroute 66\nroute 67\n", "route 66 3"}};
    static const char *const wrong[][2] = {
        {"Word\na\nb\n", "/words: \"Word\", its first line, may be a heading"},
        {"0\ta\n1\tb\n", "/words has a number beside each word"},
        {"a\n", "/words has 1 words, and the documents have 2"}};
    begin("2 0:3 1:2\n");
    ENDS_EACH(load_named, 0, right);
    ENDS_EACH(load_named, 1, wrong);
    begin("1\n2\n2\n1 1 1\n1 2 1\n");
    ends_with(load_named, "a\nb\n", 0, "b 2");
    ends_with(load_named, "word\na\nb\n", 1, "/words has 3 words, and the documents have 2");
}

static void load_test(const void *text)
{
    struct corpus known, c;
    corpus_load(&known, data, FORMAT_AUTO, NULL);
    corpus_load_test(&c, file_of("test", text), &known);
    printf("%llu tokens, %llu unknown\n", (unsigned long long)c.start[c.documents],
           (unsigned long long)c.unknown);
    corpus_fini(&c);
    corpus_fini(&known);
}

TEST(corpus, documents_to_test_have_the_words_trained_with)
{
    static const struct {
        const char *train, *test;
        int status;
        const char *said;
    } cases[] = {{"a a b\nc d\n", "c c x\n", 0, "2 tokens, 1 unknown"},
                 {"a a b\nc d\n", "1 0:3\n", 1, "/test has numbers of words"},
                 {"2 0:3 1:2\n", "2 1:3 700000000:2\n", 0, "3 tokens"},
                 {"2 0:3 1:2\n", "%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 2 4\n",
                  0, "4 tokens"},
                 {"3 0:3 1:2 4:1\n", "3 1:3 2:2 5:1\n", 1,
                  "/test has words 1 to 5, and the documents to train"},
                 {"3 0:3 1:2 4:1\n", "3 1:3 2:2 6:1\n", 0, "5 tokens, 1 unknown"},
                 {"1\n3\n2\n1 1 1\n1 2 1\n", "1\n2\n1\n1 2 1\n", 1,
                  "/test has 2 words by its head, and the documents"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i].train);
        ends_with(load_test, cases[i].test, cases[i].status, cases[i].said);
    }
}
