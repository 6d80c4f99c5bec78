#include "hosts.h"

#include "regular.h"
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024 };

struct place {
    const char *path;
    unsigned line;
};

static int refuse(const struct place *p, const char *what, const char *word)
{
    return say_and(STATUS_USAGE, "%s:%u: %s: \"%s\"; a line is: host [address] [slots]", p->path,
                   p->line, what, word);
}

static bool is_number(const char *word)
{
    return *word && word[strspn(word, "0123456789")] == '\0';
}

static int set_slots(const struct place *p, struct host *h, const char *word)
{
    unsigned long slots = is_number(word) ? strtoul(word, NULL, 10) : 0;
    if (slots < 1 || slots > HOSTS_MAX)
        return refuse(p, "slots must be a number from 1 to 4096", word);
    h->slots = (unsigned)slots;
    return 0;
}

static bool copy(char to[HOST_NAME_BYTES], const char *word)
{
    return snprintf(to, HOST_NAME_BYTES, "%s", word) < HOST_NAME_BYTES;
}

/* "alpha:2" is how others write slots or a port. Only IPv6 addresses have colons, of those two at
 * least. */
static bool has_one_colon(const char *word)
{
    const char *colon = strchr(word, ':');
    return colon && !strchr(colon + 1, ':');
}

static int set_address(const struct place *p, struct host *h, const char *word)
{
    if (h->has_address) return refuse(p, "a third word that is no number of slots", word);
    if (has_one_colon(word))
        return refuse(p, "an address has no port: --port is for all, and slots are a word", word);
    if (!copy(h->address, word)) return refuse(p, "the address is too long", word);
    h->has_address = true;
    return 0;
}

static int set_name(const struct place *p, struct host *h, const char *word)
{
    const char *at = strrchr(word, '@');
    if (has_one_colon(word))
        return refuse(p, "a host has no colon: slots stand behind a blank", word);
    if (*word == '-') return refuse(p, "a host does not begin with a dash", word);
    if (!copy(h->name, word) || !copy(h->address, at ? at + 1 : word))
        return refuse(p, "the host is too long", word);
    return 0;
}

static int take_word(const struct place *p, struct host *h, const char *word)
{
    static const char slots[] = "slots=";
    if (!*h->name) return set_name(p, h, word);
    if (h->slots) return refuse(p, "a word behind the slots", word);
    if (strncmp(word, slots, sizeof slots - 1) == 0)
        return set_slots(p, h, word + sizeof slots - 1);
    return is_number(word) ? set_slots(p, h, word) : set_address(p, h, word);
}

static int parse_line(const struct place *p, struct host *h, char *line)
{
    char *rest;
    int rc = 0;
    *h = (struct host){0};
    line[strcspn(line, "#")] = '\0';
    for (char *word = strtok_r(line, " \t\r\n", &rest); word && rc == 0;
         word = strtok_r(NULL, " \t\r\n", &rest))
        rc = take_word(p, h, word);
    if (!h->slots) h->slots = 1;
    return rc;
}

static int add(const struct place *p, struct hosts *all, const struct host *h)
{
    if (all->slots + h->slots > HOSTS_MAX) return refuse(p, "more than 4096 nodes", h->name);
    struct host *more = realloc(all->host, (all->count + 1) * sizeof *more);
    if (!more) return refuse(p, "no memory for the host", h->name);
    all->host = more;
    all->host[all->count++] = *h;
    all->slots += h->slots;
    return 0;
}

static int read_lines(struct hosts *all, struct place *p, FILE *f)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* with which some editors begin a file */
    char line[LINE_BYTES];
    struct host h;
    int rc = 0;
    while (rc == 0 && fgets(line, sizeof line, f)) {
        p->line++;
        if (!strchr(line, '\n') && !feof(f)) return refuse(p, "the line is too long", "...");
        bool has_mark = p->line == 1 && strncmp(line, mark, sizeof mark - 1) == 0;
        rc = parse_line(p, &h, line + (has_mark ? sizeof mark - 1 : 0));
        if (rc == 0 && *h.name) rc = add(p, all, &h);
    }
    if (rc == 0 && ferror(f))
        return say_and(STATUS_USAGE, "%s cannot be read: %s", p->path, strerror(errno));
    return rc;
}

int hosts_read(struct hosts *all, const char *path)
{
    struct place p = {.path = path};
    *all = (struct hosts){0};
    const char *why;
    FILE *f = regular_stream(path, &why);
    if (!f)
        return say_and(STATUS_USAGE, "the list of hosts \"%s\" cannot be opened: %s", path, why);
    int rc = read_lines(all, &p, f);
    fclose(f);
    if (rc == 0 && all->count == 0)
        return say_and(STATUS_USAGE, "the list of hosts \"%s\" names none", path);
    return rc;
}

void hosts_free(struct hosts *all)
{
    free(all->host);
}

const struct host *hosts_of_rank(const struct hosts *all, unsigned rank)
{
    const struct host *h = all->host;
    while (rank >= h->slots) rank -= h++->slots;
    return h;
}
