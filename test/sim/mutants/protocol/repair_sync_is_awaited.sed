# file: src/protocol/repair.c
# what: the answer of the lost node is awaited
# run: protocol --seed 3 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void find_orphan/,/^}/ s/if (r->sync \&\& !r->is_held)/if (false)/
