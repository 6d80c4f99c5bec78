# file: src/protocol/repair.c
# what: a home does not decide about a row of its own that nobody claims
# run: protocol --seed 2 --nodes 0 --script survive --technique relocate --schedule 0
/^static void decide_row(/,/^}/ s/    row_put(ref, NULL);/    if (!is_heir) return;\n    row_put(ref, NULL);/
