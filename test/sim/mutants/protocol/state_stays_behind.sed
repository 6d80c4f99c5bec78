# file: src/store/row.c
# what: a row that is taken out leaves its state behind
# run: protocol --seed 7 --nodes 0 --script chain --technique adaptive --schedule 0
/^int row_take(/,/^}/ s/floats_copy(\(.*\)s\.partition->stored);/{ floats_zero(values, s.partition->stored); floats_copy(\1s.partition->length); }/
