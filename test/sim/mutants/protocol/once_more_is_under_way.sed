# file: src/protocol/once.h
# what: more writes are under way than notes are kept
# run: protocol --seeds 1 --script survive --technique relocate
/once_may_ask/,/^}/ s/ONCE_WRITES_MAX/8 * &/
