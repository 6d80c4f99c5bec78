# file: src/protocol/dispatch.c
# what: a row that arrives during a repair is not claimed
# run: protocol --seed 28 --nodes 0 --script survive --technique relocate --schedule 0
/^static .*void arrived_in_repair(/,/^}/ s/a->entry->term < loss_term(s->losses)/false/
