# file: src/actors/relocation.c
# what: a row that moves keeps its epoch
# by: exhaustive
/^void relocation_give/,/^}/ s/\[spot.index\] + 1;/[spot.index] + (s->records.epoch[spot.index] == 0);/
