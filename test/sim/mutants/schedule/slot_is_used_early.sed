# file: src/scheduling/scheduler.c
# what: a slot is used again while it is
# run: schedule --seed 2
s/s->given - s->done < s->mail.slots/s->given - s->done <= s->mail.slots/
