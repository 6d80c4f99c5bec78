# file: src/protocol/sources.c
# what: a frame of one node counts for all
# run: protocol --seed 19 --nodes 0 --script silence --technique relocate --schedule 0
s/^    source->heard_ns = s->now_ns;$/    for (unsigned n = 0; n < s->nodes; n++) s->sources->source[n].heard_ns = s->now_ns;/
