# file: src/actors/actor.c
# what: who waited for credit is not looked at again
# run: protocol --seed 264 --nodes 0 --script stress --technique relocate --schedule 0
s/origin_wake_stalled(s);/(void)0;/
