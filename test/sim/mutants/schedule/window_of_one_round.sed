# file: src/scheduling/scheduler.c
# what: the filter sees the round alone, although several are under way
# run: schedule --seed 10
s/c.window = s->mail.own_window;/c.window = 1;/
