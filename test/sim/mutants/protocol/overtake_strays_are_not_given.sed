# file: src/protocol/saves.c
# what: the save of a former guardian does not go to the next home
# run: protocol --seed 7131 --nodes 0 --script join --technique relocate --schedule 0
/^void saves_repair(/,/^}/ s/give_strays(s);/(void)s;/
