# file: src/store/optimizer.c
# what: a row that comes to a replica hides the steps that were made there
# run: protocol --seed 7 --nodes 0 --script bounds --technique adaptive --schedule 0
/^static void refresh_floats/,/^}/ s/fold_floats(.*);/(void)draw; (void)unsent;/
