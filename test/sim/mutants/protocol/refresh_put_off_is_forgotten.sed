# file: src/protocol/owner.c
# what: a holder that got the row just now never hears of what changed since
# run: --script phases --technique replicate
/^void owner_changed/,/^}/ s/if (once_more)/if (false)/
