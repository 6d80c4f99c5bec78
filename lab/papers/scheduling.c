/*
 * Schedulers in a simulation: each is a fiber of its node. Who waits for a mailbox looks again
 * after a while, as it does on threads, and that while is virtual.
 *
 * The library calls these instead of its own: the linker sees to it.
 */
#include "scheduling/mail.h"

#include "scale/platform.h"
#include "scale/virtual.h"
#include "cluster.h"

static double look_ns;

void scheduling_begin(const struct papers *p)
{
    look_ns = p->machine.look;
}

static void be_scheduler(void *scheduler)
{
    scheduler_run(scheduler);
}

int __real_locus_scheduler_open(locus *, const struct locus_scheduler_config *, unsigned number,
                                locus_scheduler **out);
int __wrap_locus_scheduler_open(locus *, const struct locus_scheduler_config *, unsigned number,
                                locus_scheduler **out);
double __wrap_mail_now(void);
unsigned __wrap_mail_nap(struct mail_wait *);

int __wrap_locus_scheduler_open(locus *node, const struct locus_scheduler_config *c,
                                unsigned number, locus_scheduler **out)
{
    int rc = __real_locus_scheduler_open(node, c, number, out);
    if (rc == 0) virtual_start(virtual_node(), be_scheduler, *out);
    return rc;
}

double __wrap_mail_now(void)
{
    return (double)virtual_now_ns() * 1e-9;
}

/* First as fast as a look is, then the longer the longer it has lasted, as in mail.c. */
unsigned __wrap_mail_nap(struct mail_wait *w)
{
    enum { QUICK = 100, STEP_NS = 5000, STEPS_MAX = 100 };
    double steps = w->polls < QUICK ? 0 : (double)(w->polls - QUICK + 1);
    w->polls++;
    double ns = look_ns + STEP_NS * (steps < STEPS_MAX ? steps : STEPS_MAX);
    if (steps > 0)
        virtual_sleep_until(virtual_now_ns() + (uint64_t)ns);
    else
        platform_work(ns);
    return 0; /* nobody reads it */
}
