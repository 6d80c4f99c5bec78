# file: src/actors/actor.c
# what: requests that the last turn of a repair refused wait for another wake
# run: protocol --seed 3 --nodes 0 --script survive --technique adaptive --schedule 0
/^uint64_t shard_turn/,/^}/ s/return s->failure ? UINT64_MAX : s->now_ns;/return UINT64_MAX;/
