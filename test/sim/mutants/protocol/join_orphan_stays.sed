# file: src/protocol/repair.c
# what: an orphan asks the home of the time before a node joined
# run: protocol --seed 1692 --nodes 0 --script join --technique adaptive --schedule 0
/^static void find_orphan(/,/^}/ s/ || is_of_former_home//
