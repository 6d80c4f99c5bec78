# file: src/protocol/handover.c
# what: a row that moves keeps its epoch
# by: exhaustive
/^void handover_give/,/^}/ s/standing->epoch + 1;/standing->epoch + (standing->epoch == 0);/
