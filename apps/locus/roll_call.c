#include "roll_call.h"

#include "clock.h"
#include "say.h"
#include "signals.h"
#include "ssh.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static const double LOOK_AGAIN_S = 0.02;

/* Who does not answer is a process that fails, or that does not end. */
static pid_t ask(const struct host *h, const char *ssh, const char *keeper)
{
    struct ssh_words words = {0};
    posix_spawn_file_actions_t files;
    pid_t pid = 0;
    if (ssh_command(&words, ssh, h->name, keeper, "--version")) return 0;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, words.argv[0], &files, NULL, words.argv, environ)) pid = 0;
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

/* Sets what has ended to 0, and whether it answered. Returns how many have not ended. */
static size_t look(size_t count, pid_t *asked, bool *answers)
{
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        int status;
        if (!asked[i]) continue;
        pid_t pid = waitpid(asked[i], &status, WNOHANG);
        if (pid == 0) {
            open++;
            continue;
        }
        answers[i] = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        asked[i] = 0;
    }
    return open;
}

static void dismiss(size_t count, const pid_t *asked)
{
    for (size_t i = 0; i < count; i++) {
        if (!asked[i]) continue;
        kill(asked[i], SIGKILL);
        waitpid(asked[i], NULL, 0);
    }
}

static void strike(struct hosts *all, const bool *answers)
{
    size_t kept = 0;
    all->slots = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (!answers[i]) {
            say("host %s does not answer: without it", all->host[i].name);
            continue;
        }
        all->slots += all->host[i].slots;
        all->host[kept++] = all->host[i];
    }
    all->count = kept;
}

int roll_call(struct hosts *all, const char *ssh, const char *keeper)
{
    pid_t *asked = calloc(all->count, sizeof *asked);
    bool *answers = calloc(all->count, sizeof *answers);
    double until_s = clock_s() + ROLL_CALL_S;
    bool ok = asked && answers;
    for (size_t i = 0; ok && i < all->count; i++) asked[i] = ask(&all->host[i], ssh, keeper);
    while (ok && look(all->count, asked, answers) > 0 && clock_s() < until_s && !signals_want_end())
        poll(NULL, 0, (int)(LOOK_AGAIN_S * 1e3));
    if (ok) dismiss(all->count, asked);
    if (ok && !signals_want_end()) strike(all, answers);
    free(asked);
    free(answers);
    return ok ? 0 : say_and(STATUS_FAILED, "no memory for %zu hosts", all->count);
}
