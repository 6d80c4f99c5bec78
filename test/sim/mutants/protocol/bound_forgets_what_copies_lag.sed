# file: src/actors/actor.c
# what: replicas answer as long as without workers' copies, which lag behind them
# run: protocol --seed 1171 --nodes 0 --script silence --technique replicate --schedule 0
s/staleness_ns -= COPIES_LAG_NS;/{}/
