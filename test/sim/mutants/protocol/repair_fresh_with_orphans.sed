# file: src/protocol/repair.c
# what: replicas of lost rows count as fresh
# run: protocol --script survive --technique adaptive
/^static void end(/,/^}/ s/if (s->replicas->orphans == 0) //
