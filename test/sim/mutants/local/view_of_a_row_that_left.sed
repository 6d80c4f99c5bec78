# file: src/store/row.h
# what: a view of a row that is elsewhere shows zeros
s|return spot_is_held(s, w) ? st->zeros : NULL;|return st->zeros;|
