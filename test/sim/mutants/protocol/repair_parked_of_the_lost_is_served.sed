# file: src/protocol/repair.c
# what: what the lost node has parked is served
# run: protocol --seed 3539 --nodes 0 --script survive --technique relocate --schedule 0
/^static void note_lost_sender(/,/^}/ s/parked_drop(s, r);/(void)s;/
