# file: src/scheduling/mail.c
# what: a round looks like the one before in its slot
# run: schedule --seed 1
s/return (float)(round \/ m->schedulers % .*/return 1;/
