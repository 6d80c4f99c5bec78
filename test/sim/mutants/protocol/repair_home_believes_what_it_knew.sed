# file: src/protocol/repair.c
# what: a home does not decide about a row of its own that nobody claims
# run: protocol --seed 2 --nodes 0 --script survive --technique relocate --schedule 0
/^static void decide_row(/,/^}/ s/begin_row(s, ref, l.is_replica);/if (row_ref_home(ref) != s->rank) &/
