# file: src/checkpoint/series.c
# what: a checkpoint counts as written before its manifest is there for good
# run: checkpoint --seed 5
/^int series_commit/,/^}/ s/if (rc == 0) rc = series_sync(path);//
