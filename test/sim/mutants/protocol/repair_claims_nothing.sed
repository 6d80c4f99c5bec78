# file: src/protocol/repair.c
# what: a node is lost: what is here is not claimed
# run: protocol --seed 4 --nodes 0 --script survive --technique relocate --schedule 0
/^static bool claim(/,/^}/ s/if (l.is_here)/if (false)/
