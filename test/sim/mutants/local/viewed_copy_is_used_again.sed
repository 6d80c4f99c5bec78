# file: src/store/copies.c
# what: a copy that a view shows becomes another row's
# run: copies --seed 3816
/^static unsigned free_slot(/,/^}/s/!is_seen/true/
