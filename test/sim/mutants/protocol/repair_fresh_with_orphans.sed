# file: src/protocol/repair.c
# what: replicas of lost rows count as fresh
# run: protocol --seed 11360 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void end(/,/^}/ s/if (s->replicas->orphans == 0) //
