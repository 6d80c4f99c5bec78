# file: src/checkpoint/series.c
# what: the newest checkpoint is removed with the old ones
s/if (kept > keep || (kept > 0 \&\& whole == 0)) series_remove(path);/if (kept <= 1) series_remove(path);/
