# file: src/protocol/origin.c
# what: a request overtakes those that wait for the same key
# run: protocol --seed 50 --nodes 0 --script race --technique replicate --schedule 0
/^bool origin_take_on/,/^}/ s/course = COURSE_WAIT;.*/(void)0;/
