# file: src/protocol/replica.c
# what: what a worker adds while the replica is about to go is lost
# run: --script phases --technique adaptive
/^static bool forget_clean/,/^}/ {
s/if (row_is_dirty(spot))/if (false)/
s/if (row_forget_clean(&s->mover, spot, next)) return true;/row_forget(\&s->mover, spot, NULL, next); return true;/
}
