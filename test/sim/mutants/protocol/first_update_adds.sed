# file: src/store/row_private.h
# what: the first update since the last were taken out is added to those
# run: protocol --seed 3 --nodes 0 --script shared --technique adaptive --schedule 0
/^static inline void write_at/,/^}/ s/if (updates && is_first)/if (false)/
