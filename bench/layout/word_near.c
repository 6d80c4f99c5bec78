/* The library's rows once more, compiled so that word i of the directory lies at place i. */
#define row_ref_word spread_row_ref_word
#include "store/store.h"
#undef row_ref_word

static inline directory_word *row_ref_word(struct row_ref s)
{
    return &s.partition->words[s.index];
}

/* Other names, because the library's are linked as well. */
#define row_read_slowly near_row_read_slowly
#define row_write_slowly near_row_write_slowly
#define row_take near_row_take
#define row_take_empty near_row_take_empty
#define row_take_unchanged near_row_take_unchanged
#define row_put near_row_put
#define row_ensure_replica near_row_ensure_replica
#define row_word near_row_word
#define row_write_shared near_row_write_shared
#define row_edit_shared near_row_edit_shared
#define row_edit_slowly near_row_edit_slowly
#define row_read_version near_row_read_version
#define row_share near_row_share
#define row_unshare near_row_unshare
#define row_clean near_row_clean
#define row_replicate near_row_replicate
#define row_refresh near_row_refresh
#define row_collect near_row_collect
#define row_forget_clean near_row_forget_clean
#define row_forget near_row_forget
#define row_promote near_row_promote
#define row_promote_as_it_is near_row_promote_as_it_is
#define row_give_way near_row_give_way
#define rows_fetch near_rows_fetch
#define rows_fetch_found near_rows_fetch_found
#define row_fetch_found near_row_fetch_found
#define row_fetch_to_write near_row_fetch_to_write
#define rows_read near_rows_read
#define rows_write near_rows_write
#include "store/row.c" /* NOLINT(bugprone-suspicious-include): the same code, other word places */

#include "word_work.h"

const struct layout layout_word_near = {"word-near", word_open, word_close, WORD_OPERATIONS};
