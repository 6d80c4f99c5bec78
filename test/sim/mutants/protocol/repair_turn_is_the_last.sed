# file: src/actors/actor.c
# what: requests that the last turn of a repair refused wait for another wake
# run: protocol --script survive --technique adaptive
/^uint64_t shard_turn/,/^}/ s/return s->now_ns;.*$/return UINT64_MAX;/
