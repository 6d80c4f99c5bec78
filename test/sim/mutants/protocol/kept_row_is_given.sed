# file: src/protocol/owner.c
# what: with relocation a row leaves that its owner keeps
# run: protocol --seed 3 --nodes 0 --script kept --technique relocate --schedule 0
/^static bool lets_go/,/^}/ s/return !s->records.state\[index\].is_kept;/return true;/
