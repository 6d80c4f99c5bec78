#include "family.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Is it a child of ours, and alive? /proc/PID/stat: number (name) state parent ... The name may
 * contain anything. */
static bool is_living_child(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *rest = strrchr(text, ')');
    if (!rest || strlen(rest) < 5) return false;
    return strtol(rest + 4, NULL, 10) == (long)getpid() && rest[2] != 'Z' && rest[2] != 'X';
}

static bool has_children(void)
{
    siginfo_t ended;
    return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/* Calls `visit` with every living child. */
static void for_each_child(void (*visit)(void *context, pid_t), void *context)
{
    DIR *all = has_children() ? opendir("/proc") : NULL;
    if (!all) return;
    for (const struct dirent *e; (e = readdir(all));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && is_living_child(pid)) visit(context, pid);
    }
    closedir(all);
}

static void add_elder(void *context, pid_t pid)
{
    struct family *f = context;
    pid_t *more = realloc(f->elder, (f->elders + 1) * sizeof *more);
    if (!more) return;
    f->elder = more;
    f->elder[f->elders++] = pid;
}

void family_init(struct family *f)
{
    *f = (struct family){0};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for_each_child(add_elder, f);
}

void family_fini(struct family *f)
{
    free(f->elder);
}

struct round {
    const struct family *family;
    int signal;
    size_t count;
};

static void signal_child(void *context, pid_t pid)
{
    struct round *r = context;
    for (size_t i = 0; i < r->family->elders; i++)
        if (r->family->elder[i] == pid) return;
    r->count++;
    if (r->signal) kill(pid, r->signal);
}

size_t family_signal(const struct family *f, int signal)
{
    struct round r = {.family = f, .signal = signal};
    for_each_child(signal_child, &r);
    return r.count;
}
