# file: src/protocol/round.c
# what: quiesce does not wait for updates under way
/^static bool is_settled/,/^}/ s/if (!replica_are_answered(s)) return false;/if (kind != REQUEST_SETTLE_UPDATES \&\& !replica_are_answered(s)) return false;/
