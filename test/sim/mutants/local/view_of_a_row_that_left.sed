# file: src/store/row.h
# what: a view of a row that is elsewhere shows zeros
s|return row_ref_is_held(s, w) ? st->zeros : NULL;|return st->zeros;|
