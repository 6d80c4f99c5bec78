#include "cluster/late_name.h"

#include "test.h"

#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

static int failures, failure, questions;

void late_name_fails(int times, int code)
{
    __atomic_store_n(&failures, times, __ATOMIC_RELAXED);
    failure = code;
    questions = 0;
}

int late_name_questions(void)
{
    return __atomic_load_n(&questions, __ATOMIC_RELAXED);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **all)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    /* A pointer to a function, as POSIX has it. */
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    CHECK(real != NULL);
    if (!name || strcmp(name, LATE_NAME) != 0) return real(name, service, hints, all);
    __atomic_fetch_add(&questions, 1, __ATOMIC_RELAXED);
    if (__atomic_fetch_sub(&failures, 1, __ATOMIC_RELAXED) > 0) return failure;
    return real("127.0.0.1", service, hints, all);
}
