# file: src/store/row_replica.c
# what: a row that comes to a replica hides the steps that were made there
# run: protocol --seed 13 --nodes 0 --script bounds --technique adaptive --schedule 0
/^static void merge_updates/,/^}/ s/if (!(w & DIRECTORY_DIRTY)) return;/if (!(w \& DIRECTORY_DIRTY) || p->optimizer) return;/
