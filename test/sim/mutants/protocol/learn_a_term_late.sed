# file: src/protocol/shard.c
# what: knowledge of the next term is not believed
# run: protocol --seed 2 --nodes 0 --script intents --technique adaptive --schedule 0
/^void location_learn/,/^}/ s/term <= known.term/term <= known.term + 1/
