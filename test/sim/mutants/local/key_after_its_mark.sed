# file: src/store/row.c
# what: who changes a row second goes on before the shard hears of the first
# run: copies --seed 693
/^static void publish_changed(/,/^}/{s/^    add_if_clean(s, w);//;s/^        unlatch(s, changed(w));/{\n&\nLOCUS_YIELD();\nadd_if_clean(s, w);\n}/}
