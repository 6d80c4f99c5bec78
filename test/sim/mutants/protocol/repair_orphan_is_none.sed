# file: src/protocol/repair.c
# what: a replica of a lost row stays registered
# run: protocol --seed 5 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void find_orphan/,/^}/ s/if (may_be_orphan(s, l.owner) || (r->is_orphan && !is_claimed && is_hint_old))/if (false)/
