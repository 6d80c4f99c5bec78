# file: src/store/change.h
# what: the shard does not hear of a change to a replica or to a row that has some
# run: exhaustive --scenario "adaptive 0:keep 1:keep,push"
/dirty_set_add(/ s/dirty_set_add(.*);/(void)0;/
