# file: src/protocol/repair.c
# what: of a loss that was overtaken the node stays a holder
# run: protocol --seed 30 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void find_orphan(/,/^}/ s/changed->undecided\[i\]/changed->change.node/
