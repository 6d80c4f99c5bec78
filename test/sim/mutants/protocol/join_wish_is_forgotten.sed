# file: src/protocol/repair.c
# what: a row that is kept, and was given up, is not asked for
# run: protocol --seed 3512 --nodes 0 --script join --technique adaptive --schedule 0
/^static bool give_up(/,/^}/ s/if (key_is_wanted(.*$//
