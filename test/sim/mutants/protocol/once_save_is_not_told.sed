# file: src/protocol/saves.c
# what: a guardian is not told which writes of others a save has
# run: protocol --seed 1578 --nodes 0 --script survive --technique relocate --schedule 0
/^static size_t save(/,/^}/ s/once_tell(s, to);//
