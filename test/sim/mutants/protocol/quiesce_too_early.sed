# file: src/protocol/round.c
# what: quiesce does not wait for updates under way
# run: protocol --seed 179 --nodes 0 --script phases --technique adaptive --schedule 0
/^static bool is_flushed/,/^}/ s/if (s->replicas->awaited > 0) return false;/if (kind != REQUEST_FLUSH_UPDATES \&\& s->replicas->awaited > 0) return false;/
