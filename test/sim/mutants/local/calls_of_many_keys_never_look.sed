# file: src/store/copies.c
# what: behind a call with many keys a worker never looks how old its copies are
# run: copies --seed 5
/^void copies_use_many(/,/^}/s/begin ? CHECK_ONCE : CHECK_EACH/CHECKED/
