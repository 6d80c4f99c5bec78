# file: src/protocol/backlog.c
# what: quiesce does not wait for rows that went to a holder as an answer, instead of a refresh
# run: --script phases --technique adaptive --nodes 3 --seeds 12000
/^void backlog_owes/,/^}/ s/owes = true/owes = false/
