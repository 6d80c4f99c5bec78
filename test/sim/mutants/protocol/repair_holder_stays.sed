# file: src/protocol/repair.c
# what: the lost node stays a holder
# run: protocol --seed 2 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void find_orphan(/,/^}/ s/holders_remove(r, ref, changed->undecided\[i\]);/continue;/
