# file: src/checkpoint/restore.c
# what: some set rows while others still zero them
# run: checkpoint --seed 2
s/if (rc == 0) rc = stages_meet(s, COLLECTIVE_STAGE, changing(r, zero_rows(r)));/if (rc == 0) rc = zero_rows(r);/
