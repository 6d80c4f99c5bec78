# file: src/scheduling/mail.h
# what: schedulers share slots
# run: schedule --seed 1
s/round \/ m->schedulers % m->slots;/round % m->slots;/
s/return round % m->schedulers \* m->slots + /return /
