# file: src/protocol/repair.c
# what: what is parked with its own origin is asked again
# run: protocol --seed 91 --nodes 0 --script survive --technique adaptive --schedule 0
/^static void say_held/,/^}/ s/            origin_held(s, e);/            (void)e;/
