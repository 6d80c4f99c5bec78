# file: src/worker/call.c
# what: replicas of all shards are fresh when those of one are
# run: protocol --seed 36 --nodes 0 --script silence --technique adaptive --schedule 0
s/    bool all_speak = true;/    bool all_speak = false;/
s/all_speak &= sources_are_fresh/all_speak |= sources_are_fresh/
