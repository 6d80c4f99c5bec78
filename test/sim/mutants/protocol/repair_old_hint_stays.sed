# file: src/protocol/repair.c
# what: a hint from before the loss stays
# run: protocol --seed 2 --nodes 0 --script survive --technique relocate --schedule 0
/^static void decide_row(/,/^}/ s/directory_publish(row_ref_word(ref), next);/(void)next;/
