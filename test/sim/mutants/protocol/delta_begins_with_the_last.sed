# file: src/store/optimizer.c
# what: the delta of a replica begins with its last step
# run: protocol --seed 13 --nodes 0 --script bounds --technique adaptive --schedule 0
s/if (unsent && is_first && what == ROW_ADD/if (unsent \&\& what == ROW_ADD/
