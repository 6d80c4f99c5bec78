# file: src/store/optimizer.c
# what: the record of a replica begins with steps that the owner has
# run: protocol --seed 13 --nodes 0 --script bounds --technique adaptive --schedule 0
s/if (kept && is_first)/if (false)/
