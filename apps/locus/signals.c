#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int told[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE};
static int ends[2] = {-1, -1};
static volatile sig_atomic_t end_is_wanted;
static const int asked[] = {SIGNAL_END, SIGNAL_NOW, SIGNAL_OVER};
enum { ASKED = sizeof asked / sizeof *asked };
static struct sigaction before[ASKED]; /* what this process was started with */

static void on_signal(int signal)
{
    int saved = errno;
    unsigned char byte = (unsigned char)signal;
    if (signal != SIGPIPE && signal != SIGCHLD && signal != SIGNAL_OVER) end_is_wanted = 1;
    /* A full pipe has enough to say; a lost SIGCHLD does not matter, because all children are
     * looked at then. */
    if (signal != SIGPIPE && write(ends[1], &byte, 1) < 0) errno = saved;
    errno = saved;
}

static void handle(int signal)
{
    struct sigaction now, action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(signal, NULL, &now);
    /* Children would not be told of at all otherwise. */
    if (now.sa_handler != SIG_IGN || signal == SIGCHLD) sigaction(signal, &action, NULL);
}

int signals_open(void)
{
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return -1;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) handle(told[i]);
    return ends[0];
}

void signals_hear_launcher(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ASKED; i++) sigaction(asked[i], &action, &before[i]);
    signals_unblock(); /* node.c has blocked them */
}

int signals_next(void)
{
    unsigned char byte;
    return read(ends[0], &byte, 1) == 1 ? byte : 0;
}

bool signals_want_end(void)
{
    return end_is_wanted;
}

void signals_block(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

void signals_unblock(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void signals_default(void)
{
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        struct sigaction now;
        sigaction(told[i], NULL, &now);
        if (now.sa_handler == on_signal) signal(told[i], SIG_DFL);
    }
    for (int i = 0; i < ASKED; i++) /* their handlers would end with exec by themselves */
        if (before[i].sa_handler == SIG_IGN) signal(asked[i], SIG_IGN);
}
