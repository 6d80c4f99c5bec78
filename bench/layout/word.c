/* The library as it is. */
#include "word_work.h"

const struct layout layout_word = {"word", word_open, word_close, WORD_OPERATIONS};
