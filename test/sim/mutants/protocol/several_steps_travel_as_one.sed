# file: src/store/optimizer.c
# what: of several steps the gradient of the first is told
# run: protocol --seed 7 --nodes 0 --script bounds --technique adaptive --schedule 0
s/^        o->type->note(.*);/        unsent = NULL;/
