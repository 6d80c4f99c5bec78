#include "base/lab.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 32 };

static int read_word(struct lab *lab, const char *word)
{
    char rest;
    bool is_immediate = strcmp(word, "immediate") == 0, is_tcp = strcmp(word, "tcp") == 0;
    lab->is_immediate |= is_immediate;
    lab->is_tcp_only |= is_tcp;
    if (is_immediate || is_tcp || !*word) return 0;
    if (sscanf(word, "rounds=%u%c", &lab->rounds, &rest) == 1) return 0;
    return error_set(-EINVAL, "LOCUS_LAB has \"%s\": lab/README.md says what there is", word);
}

int lab_read(struct lab *lab)
{
    const char *text = getenv("LOCUS_LAB");
    int rc = 0;
    *lab = (struct lab){.rounds = 0};
    for (size_t length; text && *text && rc == 0; text += length + (text[length] == ',')) {
        char word[WORD_BYTES];
        length = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        rc = read_word(lab, word);
    }
    return rc;
}
