# file: src/protocol/owner.c
# what: a holder that got the row just now never hears of what changed since
# run: protocol --seed 48 --nodes 0 --script phases --technique replicate --schedule 0
/^void owner_changed/,/^}/ s/if (once_more)/if (false)/
