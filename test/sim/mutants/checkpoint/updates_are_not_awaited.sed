# file: src/worker/call.c
# what: rows are written though updates are under way to the main copies
# run: checkpoint --seed 5
s/return rc ? rc : call_flush(w, REQUEST_FLUSH_UPDATES);/return rc;/
