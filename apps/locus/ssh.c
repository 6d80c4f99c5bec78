#include "ssh.h"

#include "say.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "'PATH' keep", for any shell: 'it'\''s'. False: too long. */
static bool write_command(char command[SSH_TEXT_BYTES], const char *path, const char *subcommand)
{
    size_t n = 0;
    command[n++] = '\'';
    for (; *path && n + 32 < SSH_TEXT_BYTES; path++) {
        const char quote[] = "'\\''";
        if (*path != '\'') {
            command[n++] = *path;
            continue;
        }
        memcpy(command + n, quote, sizeof quote - 1);
        n += sizeof quote - 1;
    }
    snprintf(command + n, SSH_TEXT_BYTES - n, "' %s", subcommand);
    return !*path;
}

/* Words as a shell would make them: blanks part them but in quotes or behind a backslash. *text is
 * overwritten; false: a quote that does not end. */
static bool split_words(char *text, char **words, size_t *count)
{
    char *to = text, quote = 0;
    bool is_word = false;
    *count = 0;
    for (const char *from = text; *from; from++) {
        char c = *from;
        bool is_blank = !quote && (c == ' ' || c == '\t');
        if (is_blank && is_word) *to++ = '\0';
        if (is_blank) is_word = false;
        if (is_blank) continue;
        if (!is_word && *count < SSH_WORDS_MAX) words[(*count)++] = to;
        is_word = true;
        if (quote ? c == quote : c == '\'' || c == '"')
            quote = quote ? 0 : c;
        else
            *to++ = c == '\\' && quote != '\'' && from[1] ? *++from : c;
    }
    *to = '\0';
    return !quote;
}

/* The user's options stand first: of two, ssh takes the first. No question is ever asked: nobody
 * could answer it. */
int ssh_command(struct ssh_words *w, const char *ssh, const char *host, const char *path,
                const char *subcommand)
{
    static const char *const ours[] = {"-T",
                                       "-oBatchMode=yes",
                                       "-oConnectTimeout=20",
                                       "-oServerAliveInterval=15",
                                       "-oServerAliveCountMax=4",
                                       "-oEscapeChar=none"};
    size_t words = 0;
    if (snprintf(w->ssh, sizeof w->ssh, "%s", ssh) >= (int)sizeof w->ssh ||
        !write_command(w->command, path, subcommand))
        return say_and(STATUS_USAGE, "--ssh or --keeper is too long");
    if (!split_words(w->ssh, w->argv, &words))
        return say_and(STATUS_USAGE, "--ssh has a quote that does not end");
    if (words == 0) return say_and(STATUS_USAGE, "--ssh names no program");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        w->argv[words++] = (char *)(size_t)ours[i];
    w->argv[words++] = (char *)(size_t)host;
    w->argv[words++] = w->command;
    w->argv[words] = NULL;
    return 0;
}
