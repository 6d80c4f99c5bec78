# file: src/store/row.c
# what: what a replica gains by an edit is not noted for its owner
# run: protocol --seed 1 --nodes 0 --script phases --technique adaptive --schedule 0
/^static int edit_tracked/,/^}/ s/^    publish_changed(.*);/    if (replica) floats_copy(unsent_row(s.partition, w), slot_row(s.partition, w), s.partition->length);\n&/
