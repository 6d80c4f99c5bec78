# file: src/protocol/once.c
# what: an origin is told what the lost node had written for another one
# run: protocol --seed 2 --nodes 0 --script survive --technique relocate --schedule 0
/^void once_tell_origins(/,/^}/ s/once_of(s, lost, origin)/once_of(s, lost, (origin + 1) % s->nodes)/
