# file: src/scheduling/scheduler.c
# what: workers wait for a round that fits to what they have under way
s/return s->done < s->given \&\& .*/return false;/
