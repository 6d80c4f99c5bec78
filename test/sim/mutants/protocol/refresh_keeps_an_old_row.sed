# file: src/store/row_replica.c
# what: what comes from the owner to a changed replica goes back as its update
# run: exhaustive --scenario "adaptive 0:begin 1:begin,push,push"
/^static void refresh_dirty/,/^}/ s/floats_copy(unsent, values, .*);/(void)0;/
