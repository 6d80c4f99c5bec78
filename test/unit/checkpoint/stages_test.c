/* stages: what cannot begin. How workers go stage by stage, and how all end where one fails:
 * test/sim/checkpoint. */
#include "checkpoint/stages.h"

#include "one_node.h"

static int begin(locus_worker *w, const char *directory)
{
    struct stages s;
    return stages_begin(&s, "a_call", w, directory, COLLECTIVE_CHECKPOINT);
}

TEST(stages, begin_refuses_without_waiting_for_others)
{
    locus *n = one_node(10, 1, 2);
    locus_worker *w = worker_of(n), *other = worker_of(n); /* which never comes */
    REFUSED(begin(NULL, "folder"), -EINVAL, "a_call: the worker is NULL");
    REFUSED(begin(w, NULL), -EINVAL, "a_call: the directory is NULL");
    REFUSED(begin(w, ""), -EINVAL, "a_call: the directory is empty");
    locus_read_begin(w);
    REFUSED(begin(w, "folder"), -EDEADLK, "a_call: would wait inside a read section");
    locus_read_end(w);
    CHECK_EQ(locus_worker_close(other), 0);
    close_both(n, w);
}
