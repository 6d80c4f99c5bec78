# file: src/store/optimizer.c
# what: a row that is set keeps the state that it had
/case ROW_SET:/,/break/ s/floats_zero(.*);/(void)stored;/
