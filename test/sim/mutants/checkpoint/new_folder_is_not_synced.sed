# file: src/checkpoint/series.c
# what: the folder that the first checkpoint made may be gone
# run: checkpoint --seed 2
/^static int make_series/,/^}/ s/if (rc == 0) rc = series_sync(dirname(parent));//
