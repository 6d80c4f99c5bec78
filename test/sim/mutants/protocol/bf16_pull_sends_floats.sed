# file: src/protocol/owner.c
# what: the answer to a pull has floats where its words are two values each
# run: protocol --seed 4 --nodes 0 --script stress --technique static --schedule 0
s/^               : ref.partition->bf16 ? ROW_AS_STORED/               : ref.partition->bf16 ? 0/
