# file: src/scheduling/mail.c
# what: all parts are the first worker's
# run: schedule --seed 1
s/at\[2\] = (float)parts->worker;/at[2] = 0;/
