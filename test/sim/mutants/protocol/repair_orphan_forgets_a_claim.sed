# file: src/protocol/repair.c
# what: the new home of an orphan's key forgets who has the row
# run: protocol --seed 4778 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void find_orphan(/,/^}/ s/bool is_claimed = .*/bool is_claimed = false,/
