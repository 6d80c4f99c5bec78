# file: src/scheduling/port.c
# what: who has pushed is not counted
s/p->pushed\[0\] = 1;//
