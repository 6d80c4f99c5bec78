# file: src/protocol/owner.c
# what: with relocation a row leaves that its owner keeps
# run: --script kept
/^static bool lets_go/,/^}/ s/return !s->records.state\[index\].is_kept;/return true;/
