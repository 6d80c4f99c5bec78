# file: src/scheduling/scheduler.c
# what: workers wait for a round that fits to what they have under way
# run: schedule --seed 17
s/bool is_awaited = .*/bool is_awaited = false;/
