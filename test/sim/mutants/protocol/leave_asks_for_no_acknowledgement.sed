# file: src/protocol/saves.c
# what: the saves at who leaves count as acknowledged
# run: protocol --seed 25 --nodes 0 --script survive --technique adaptive --schedule 0
/^void saves_repair(/,/^}/ s/is_lost = !loss_is_leave(s->losses)/is_lost = true/
