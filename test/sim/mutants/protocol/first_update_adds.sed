# file: src/store/row.c
# what: the first update since the last were taken out is added to those
/^static void add_update/,/^}/ s/if (w & DIRECTORY_DIRTY)/if (true)/
