# file: src/scheduling/port.c
# what: who has pushed is not counted
s/push->row\[0\] = 1;//
