# file: src/protocol/dispatch.c
# what: of rows that are claimed in one message only the first is learned
# run: protocol --seed 9 --nodes 3 --script survive --technique relocate --schedule 0
/^static const char \*learn_locations(/,/^}/ s/more = e->version/more = 0/
