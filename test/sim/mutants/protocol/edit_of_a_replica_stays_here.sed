# file: src/store/row.c
# what: what a replica gains by an edit is not noted for its owner
/^int row_edit_shared/,/^}/ { /if (replica)$/{N;N}; s/if (replica)\n *s.partition->gain(.*);/(void)before;/ }
