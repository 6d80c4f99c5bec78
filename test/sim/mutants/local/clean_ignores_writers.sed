# file: src/store/row_replica.c
# what: the shard does not wait for a writer who has told it of the key
# run: copies --seed 20
/^void row_clean(/,/^}/s/(DIRECTORY_DIRTY | DIRECTORY_LATCH)/DIRECTORY_DIRTY/
