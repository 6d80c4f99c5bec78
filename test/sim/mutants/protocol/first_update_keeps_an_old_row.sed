# file: src/store/change.h
# what: what a replica was before its first change is that of long ago
# run: protocol --seed 3 --nodes 0 --script shared --technique adaptive --schedule 0
/^static inline void write_at/,/^}/ s/if (unsent && is_first)/if (false)/
