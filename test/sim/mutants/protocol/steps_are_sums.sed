# file: src/store/row.h
# what: what is pushed to a row of an optimizer is added
# run: protocol --seed 4 --nodes 0 --script relay --technique adaptive --schedule 0
/^static .* row_is_told/,/^}/ s/ && !s.partition->optimizer//
