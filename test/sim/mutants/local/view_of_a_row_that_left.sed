# file: src/store/row.c
# what: a view of a row that is elsewhere shows zeros
# run: local_fibers --seed 1
s|if (!row_ref_is_held(s, w)) return NULL;||
