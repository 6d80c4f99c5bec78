# file: src/protocol/saves.h
# what: a replica becomes the row though the save is of a later owner
# run: protocol --seed 2691 --nodes 0 --script survive --technique adaptive --schedule 0
/^static inline bool saves_has_later/,/^}/ s/return .*/return s == NULL \&\& index == term;/
