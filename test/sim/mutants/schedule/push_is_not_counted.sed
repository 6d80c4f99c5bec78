# file: src/scheduling/port.c
# what: who has pushed is not counted
# run: schedule --seed 1
s/^    row\[0\] = 1;//
