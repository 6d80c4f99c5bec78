# file: src/api/save.c
# what: a checkpoint that failed is not removed
s/series_remove(directory, s.name);/(void)0;/
