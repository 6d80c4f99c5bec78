# file: src/store/row.c
# what: a row that leaves does not free its slot
s/if (\*written) mover_free(m, s\.partition, directory_slot(w));/(void)m;/
