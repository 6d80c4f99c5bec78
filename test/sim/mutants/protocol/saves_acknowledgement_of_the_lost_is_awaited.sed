# file: src/protocol/saves.c
# what: a sweep waits for the lost node
# run: protocol --seed 18 --nodes 0 --script survive --technique relocate --schedule 0
/^void saves_repair(/,/^}/ s/v->awaited -= is_lost \&\& p->asked != 0/(void)0/
