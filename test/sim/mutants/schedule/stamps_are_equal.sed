# file: src/scheduling/mail.c
# what: a round looks like the one before in its slot
s/return (float)(round \/ m->schedulers % .*/return 1;/
