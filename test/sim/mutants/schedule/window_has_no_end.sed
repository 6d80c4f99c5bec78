# file: src/scheduling/port.c
# what: a worker takes more rounds than the window has
# run: schedule --seed 1
s/p->scheduled - p->synced < p->mail.window;/p->scheduled - p->synced <= p->mail.window;/
