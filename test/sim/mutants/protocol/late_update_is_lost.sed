# file: src/protocol/replica.c
# what: what a worker adds while the replica is about to go is lost
# run: protocol --seed 836 --nodes 0 --script phases --technique adaptive --schedule 0
/^static bool forget_clean/,/^}/ {
s/if (row_is_dirty(ref))/if (false)/
s/if (row_forget_clean(&s->mover, ref, next)) return true;/row_forget(\&s->mover, ref, NULL, next); return true;/
}
