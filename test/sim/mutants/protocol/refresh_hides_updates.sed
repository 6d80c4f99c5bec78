# file: src/store/row_replica.c
# what: a refresh hides what was added to the replica
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push,push"
/^static void refresh_dirty/,/^}/ s/p->add(row.*);/(void)0;/
