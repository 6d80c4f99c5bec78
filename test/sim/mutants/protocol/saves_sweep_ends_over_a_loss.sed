# file: src/protocol/saves.c
# what: a sweep that a loss has cut short is over all the same
# run: protocol --seed 875 --nodes 0 --script survive --technique adaptive --schedule 0
/^void saves_repair(/,/^}/ s/v->is_sweeping = false/(void)0/
