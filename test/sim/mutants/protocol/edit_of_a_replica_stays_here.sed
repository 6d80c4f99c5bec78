# file: src/store/row.c
# what: what a replica gains by an edit is not noted for its owner
/^static int edit_shared/,/^}/ s/add_update(p, w, update);/(void)update;/
