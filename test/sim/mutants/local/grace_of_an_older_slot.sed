# file: src/store/store.c
# what: a slot is given back with those that left before it
# run: local_fibers --seed 1677
/^void mover_free/,/^}/ s/m->open/(*(m->is_waiting ? \&m->waiting : \&m->open))/g
