# file: src/protocol/repair.c
# what: nobody says what the lost node had written for others
# run: protocol --seed 167 --nodes 0 --script survive --technique adaptive --schedule 0
s/once_tell_origins(s);/(void)s;/
