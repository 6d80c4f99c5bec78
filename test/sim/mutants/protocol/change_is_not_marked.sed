# file: src/store/row.c
# what: the shard does not hear of a change to a replica or to a row that has some
# by: exhaustive
/marks_set(/ s/marks_set(.*);/(void)0;/
