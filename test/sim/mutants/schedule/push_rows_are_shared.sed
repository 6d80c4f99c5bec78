# file: src/scheduling/port.c
# what: pushes under way have one row
# run: schedule --seed 8
s/return &p->pushes\[round % p->mail.window\];/return \&p->pushes[0];/
