# file: src/protocol/origin.c
# what: the credit of a request that was lost stays in use
# run: protocol --seed 2 --nodes 0 --script survive --technique relocate --schedule 0
/^static void wait_again/,/^}/ s/shard_asks(s, item->peer.*$//
