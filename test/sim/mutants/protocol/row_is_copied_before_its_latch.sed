# file: src/store/row.c
# what: a row that moves is copied before its latch is taken: what is added meanwhile is lost
# run: protocol --seed 6 --nodes 0 --script intents --technique relocate --schedule 0
/^int row_take(/,/^}/ {
s/^{/{\n    directory_word early = directory_load(row_ref_word(s)); bool copied = values \&\& directory_state(early) == DIRECTORY_MAIN; if (copied) floats_copy(values, slot_row(s.partition, early), s.partition->length); LOCUS_YIELD();/
s/if (\*written && values)/if (*written \&\& values \&\& !copied)/
s/else if (values)/else if (values \&\& !copied)/
}
