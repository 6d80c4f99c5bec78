# file: src/protocol/backlog.c
# what: quiesce does not wait for rows that went to a holder as an answer, instead of a refresh
# run: protocol --seed 6706 --nodes 3 --script phases --technique adaptive --schedule 0
/^void backlog_owes/,/^}/ s/owes = true/owes = false/
