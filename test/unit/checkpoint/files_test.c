/* Each call of the file system fails in turn, while a checkpoint is written and while it is
 * read. */
#include "checkpoint/files.h"

#include "common/memory_files.h"
#include "one_node.h"

#include <string.h>

enum { ROWS = 9, LENGTH = 3, CALLS_MAX = 400 };

static struct {
    uint64_t fails_at, failed; /* calls; 0: none */
    unsigned opened;           /* times that rows' files were */
    uint64_t sets_from;        /* the first call that reads rows to be set */
    int error;
} fault;

/* A memory_files_before. */
static int fail_once(const char *call, const char *path)
{
    bool is_open = strcmp(call, "open") == 0 && strstr(path, ".safetensors");
    if (is_open && ++fault.opened == 3) fault.sets_from = memory_files_calls();
    if (memory_files_calls() != fault.fails_at) return 0;
    fault.failed = memory_files_calls();
    return fault.error;
}

/* From now on, the call so many further on. */
static void fail_after(uint64_t calls, int error)
{
    fault.fails_at = calls ? memory_files_calls() + calls : 0;
    fault.failed = fault.opened = 0;
    fault.sets_from = UINT64_MAX;
    fault.error = error;
}

static void set_all(locus_worker *w, float value)
{
    for (locus_key key = 0; key < ROWS; key++) {
        const float row[LENGTH] = {value, (float)key, -value};
        CHECK_EQ(locus_set(w, &key, 1, row), 0);
    }
}

static bool all_are(locus_worker *w, float value)
{
    for (locus_key key = 0; key < ROWS; key++) {
        float row[LENGTH];
        CHECK_EQ(locus_pull(w, &key, 1, row), 0);
        if (row[0] != value || row[1] != (float)key || row[2] != -value) return false;
    }
    return true;
}

static locus_worker *open_node(locus **n)
{
    const struct locus_table table = {.name = "a", .rows = ROWS, .length = LENGTH};
    *n = node_of(&table, 1, 1, 1);
    return worker_of(*n);
}

static void says(const char *call, int error)
{
    CHECK_STR(locus_error(), call);
    CHECK_STR(locus_error(), ": node 0: cannot ");
    CHECK_STR(locus_error(), "model");
    CHECK_STR(locus_error(), strerror(-error));
}

/* Returns whether a call has failed. */
static bool write_with_a_fault(locus_worker *w, uint64_t calls, int error)
{
    memory_files_begin(fail_once);
    fail_after(0, 0);
    set_all(w, 3);
    CHECK_EQ(locus_checkpoint(w, "model"), 0);
    set_all(w, 5);
    fail_after(calls, error);
    int rc = locus_checkpoint(w, "model");
    bool has_failed = fault.failed > 0;
    if (rc) CHECK_EQ(rc, error);
    if (rc) says("locus_checkpoint", error);
    if (!has_failed) CHECK_EQ(rc, 0);
    fail_after(0, 0);
    CHECK(all_are(w, 5));
    CHECK_EQ(memory_files_open(), 0);
    set_all(w, 7);
    CHECK_EQ(locus_restore(w, "model"), 0);
    CHECK(all_are(w, rc ? 3 : 5));
    /* What is in the way of nobody. */
    set_all(w, 9);
    CHECK_EQ(locus_checkpoint(w, "model"), 0);
    set_all(w, 7);
    CHECK_EQ(locus_restore(w, "model"), 0);
    CHECK(all_are(w, 9));
    memory_files_end();
    return has_failed;
}

static void check_writing(int error)
{
    locus *n;
    locus_worker *w = open_node(&n);
    uint64_t calls = 1;
    while (write_with_a_fault(w, calls, error)) calls++;
    CHECK(calls > 40 && calls < CALLS_MAX);
    close_both(n, w);
}

TEST(files, checkpoint_with_any_failing_call_keeps_an_old_or_new_one)
{
    check_writing(-EIO);
    check_writing(-ENOSPC);
}

TEST(files, restore_with_any_failing_call_changes_nothing_while_verifying)
{
    locus *n;
    locus_worker *w = open_node(&n);
    bool has_failed = true;
    uint64_t calls = 1, refused = 0;
    memory_files_begin(fail_once);
    fail_after(0, 0);
    set_all(w, 3);
    CHECK_EQ(locus_checkpoint(w, "model"), 0);
    for (; has_failed; calls++) {
        set_all(w, 5);
        fail_after(calls, -EIO);
        int rc = locus_restore(w, "model");
        has_failed = fault.failed > 0;
        if (rc) CHECK_EQ(rc, -EIO);
        if (rc) says("locus_restore", -EIO);
        if (!rc) CHECK(all_are(w, 3));
        if (rc && fault.failed < fault.sets_from) CHECK(all_are(w, 5));
        refused += rc != 0;
        CHECK_EQ(memory_files_open(), 0);
    }
    CHECK(refused > 10 && calls < CALLS_MAX);
    memory_files_end();
    close_both(n, w);
}
