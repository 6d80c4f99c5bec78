# file: src/scheduling/mail.h
# what: schedulers share slots
s/round \/ m->schedulers % m->slots;/round % m->slots;/
s/return round % m->schedulers \* m->slots + /return /
