# file: src/store/directory.h
# what: a latched row counts as readable, and can be latched again
# run: local_fibers --seed 8
s/(w & (DIRECTORY_HAS_ROW | DIRECTORY_LATCH)) ==/(w \& DIRECTORY_HAS_ROW) ==/
