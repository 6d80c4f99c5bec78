# file: src/protocol/saves.c
# what: a sweep is over before what was given away has been received
# run: protocol --seed 8688 --nodes 0 --script survive --technique relocate --schedule 0
/^static void say_batch/,/^}/ s/ \&\& !(is_empty(&v->taken) \&\& p->first < p->count)//
