/* share: what the workers of a node share begins anew with each checkpoint. */
#include "checkpoint/share.h"

#include "test.h"

#include <pthread.h>

TEST(share, begins_anew_with_each_checkpoint)
{
    struct share *s = share_new();
    CHECK(s != NULL);
    share_begin(s);
    s->dealt = (struct slice){.table = 2, .shard = 1, .from = 10, .end = 20};
    s->next_file = 3;
    CHECK_EQ(manifest_add_table(&s->manifest, "users", 10, 4, 0, LOCUS_NO_OPTIMIZER, LOCUS_F32), 0);
    CHECK(manifest_add_file(&s->manifest, "0-0-0.safetensors") != NULL);
    share_begin(s);
    CHECK_EQ(s->dealt.table + s->dealt.shard + s->dealt.from + s->dealt.end, 0);
    CHECK_EQ(s->next_file, 0);
    CHECK_EQ(s->manifest.tables, 0);
    CHECK_EQ(s->manifest.files, 0);
    CHECK(s->manifest.table == NULL && s->manifest.file == NULL);
    share_free(s);
    share_free(NULL);
}

/* With what a checkpoint left behind that was not finished: the leak checks look. */
TEST(share, is_given_back_with_what_is_in_it)
{
    struct share *s = share_new();
    share_begin(s);
    CHECK(manifest_add_file(&s->manifest, "0-0-0.safetensors") != NULL);
    share_free(s);
}

enum { THREADS = 4, TIMES = 2000 };

static void *count(void *share)
{
    struct share *s = share;
    for (int i = 0; i < TIMES; i++) {
        share_lock(s);
        s->next_file++;
        share_unlock(s);
    }
    return NULL;
}

TEST(share, is_one_workers_at_a_time)
{
    pthread_t thread[THREADS];
    struct share *s = share_new();
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&thread[i], NULL, count, s), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
    CHECK_EQ(s->next_file, THREADS * TIMES);
    share_free(s);
}
