#include "actors/mailbox.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>

TEST(mailbox, put_has_a_place_for_every_request_of_a_worker)
{
    static struct mailbox m;
    static struct request request[REQUEST_NUMBERS_MAX];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < REQUEST_NUMBERS_MAX; i++) mailbox_put(&m, &request[i]);
        for (int i = 0; i < REQUEST_NUMBERS_MAX; i++) CHECK(mailbox_take(&m) == &request[i]);
    }
}

enum { MANY = 100000 };

struct pair {
    struct mailbox mailbox;
    struct request request[REQUEST_NUMBERS_MAX];
};

/* Fills each request before it is put; the reader must see that. */
static void *put_many(void *argument)
{
    struct pair *p = argument;
    for (uint32_t i = 0; i < MANY; i++) {
        struct request *r = &p->request[i % REQUEST_NUMBERS_MAX];
        while (__atomic_load_n(&r->busy, __ATOMIC_ACQUIRE)) sched_yield();
        r->count = i;
        __atomic_store_n(&r->busy, 1, __ATOMIC_RELAXED);
        mailbox_put(&p->mailbox, r);
    }
    return NULL;
}

TEST(mailbox, take_sees_what_was_written_before_put)
{
    static struct pair p;
    pthread_t writer;
    CHECK_EQ(pthread_create(&writer, NULL, put_many, &p), 0);
    for (uint32_t i = 0; i < MANY;) {
        struct request *r = mailbox_take(&p.mailbox);
        if (!r) {
            sched_yield();
            continue;
        }
        CHECK_EQ(r->count, i++);
        __atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
    }
    pthread_join(writer, NULL);
}
