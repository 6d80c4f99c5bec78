# file: src/checkpoint/series.c
# what: the folder of a checkpoint may be gone
# run: checkpoint --seed 4
/^int series_commit/,/^}/ s/if (rc == 0) rc = series_sync(dir);//
