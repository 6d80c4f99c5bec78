#include "commands.h"

#include "args.h"
#include "clock.h"
#include "fail.h"
#include "look.h"
#include "plain.h"
#include "say.h"
#include "table.h"

#include <ncurses.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- on a screen ---- */

struct screen {
    struct look *look;
    double interval_s;
    enum table_order order;
    bool is_frozen, ends;
    size_t first; /* the row at the top */
};

enum { HEAD_LINES = 3 };

static void draw(const struct screen *s)
{
    char line[TABLE_LINE_MAX], changes[TABLE_LINE_MAX];
    const struct look *l = s->look;
    erase();
    mvprintw(0, 0, "locus top: %zu node%s, by %s%s", l->count, plain_s(l->count),
             table_order_name(s->order), s->is_frozen ? ", frozen" : "");
    if (table_changes(l, changes)) printw("; %s", changes);
    mvprintw(1, 0, "q: end, s: sort, space: freeze, up and down: scroll");
    table_head(line);
    attron(A_REVERSE);
    mvaddnstr(2, 0, line, COLS);
    attroff(A_REVERSE);
    for (int y = HEAD_LINES; y < LINES && s->first + (size_t)(y - HEAD_LINES) < l->count; y++) {
        table_row(&l->row[s->first + (size_t)(y - HEAD_LINES)], line);
        mvaddnstr(y, 0, line, COLS);
    }
    refresh();
}

static void obey(struct screen *s, int key)
{
    switch (key) {
    case 'q': s->ends = true; break;
    case 's': s->order = (s->order + 1) % TABLE_ORDERS; break;
    case ' ': s->is_frozen = !s->is_frozen; break;
    case KEY_UP: s->first -= s->first > 0; break;
    case KEY_DOWN: s->first += s->first + 1 < s->look->count; break;
    default: break;
    }
}

static void watch(struct screen *s)
{
    double next_s = 0;
    while (!s->ends) {
        if (!s->is_frozen && clock_s() >= next_s) {
            look_again(s->look);
            next_s = clock_s() + s->interval_s;
        }
        table_sort(s->look, s->order);
        draw(s);
        timeout(s->is_frozen ? 3600000 : clock_poll_ms(next_s));
        obey(s, getch());
    }
}

/* Until the user ends it. Returns the exit status. */
static int screen_show(struct look *l, double interval_s)
{
    struct screen s = {.look = l, .interval_s = interval_s};
    /* without a keyboard there is no wait between two looks, and no end */
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!is_terminal)
        return say_and(STATUS_FAILED, "stdin or stdout is no terminal: use --once, or --json");
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (!screen) return say_and(STATUS_FAILED, "this is no terminal that it knows: use --once");
    cbreak();
    noecho();
    keypad(stdscr, true);
    curs_set(0);
    watch(&s);
    endwin();
    delscreen(screen);
    return 0;
}

struct top {
    double interval_s;
    bool once, json;
    char **address;
    size_t count;
};

static void parse(struct top *t, int argc, char **argv)
{
    static const char about[] =
        "Shows a row for each node of a running job. Its nodes must serve metrics (LOCUS_METRICS). HOST:PORT is rank 0's,\n"
        "which stands for all nodes at the ports after it, or another node's. Without one it shows the jobs of this user on\n"
        "this host.\n";
    static const char more[] =
        "  keys/s    keys that calls access in a second; their shares: local rows, replica here, remote at other nodes\n"
        "  moved/s   rows that came here; then how many rows it owns, and how many replicas it has\n"
        "  age ms    of replicas, since their owner was heard: the median, and what 99 of 100 are below\n"
        "  sent/s    bytes; shards: their load; waits: the share of time in which workers wait for other nodes\n"
        "  late/s    keys accessed at other nodes although an intent was active; clock: the highest\n"
        "\n"
        "  keys: q ends; s sorts by the next column; space freezes; up and down scroll";
    const struct args_option options[] = {
        OPTION_FLAG("--once", &t->once, 0,
                    "one table on stdout, of what happens within the interval"),
        OPTION_FLAG("--json", &t->json, 0, "the same as a JSON object for each node"),
        OPTION_REAL("--interval", "SECONDS", &t->interval_s, 0.05, 3600, 0, "between two looks"),
    };
    args_parse(&(struct args_program){.name = "locus top",
                                      .about = about,
                                      .more = more,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options,
                                      .arguments = "[HOST:PORT ...]",
                                      .words = &t->address},
               argc, argv);
    t->once = t->once || t->json;
    t->count = (size_t)(argv + argc - t->address);
}

static int end_once(const struct look *l, size_t answers)
{
    size_t members = look_members(l), missing = members > l->count ? members - l->count : 0;
    if (fflush(stdout) || ferror(stdout)) return say_and(STATUS_FAILED, "stdout cannot be written");
    if (missing)
        return say_and(STATUS_FAILED,
                       "%zu more nodes do not answer at the next ports: give HOST:PORT of those "
                       "on other hosts, too",
                       missing);
    bool are_all = answers == l->count || (members > 0 && answers >= members); /* the lost do not */
    return are_all ? 0 : STATUS_FAILED;
}

static int show_once(const struct top *t, struct look *l)
{
    char line[TABLE_LINE_MAX];
    size_t answers = 0;
    look_again(l);
    poll(NULL, 0, (int)(1e3 * t->interval_s));
    look_again(l);
    table_sort(l, TABLE_RANK);
    for (size_t i = 0; i < l->count; i++) answers += l->row[i].answers;
    if (t->json) {
        table_json(l);
    } else {
        table_head(line);
        puts(line);
        for (size_t i = 0; i < l->count; i++) {
            table_row(&l->row[i], line);
            puts(line);
        }
        if (table_changes(l, line)) puts(line);
    }
    return end_once(l, answers);
}

int top_main(int argc, char **argv)
{
    struct top t = {.interval_s = 1};
    struct look l;
    say_as("locus top");
    fail_set_program("locus top");
    parse(&t, argc, argv);
    int rc = 0;
    if (!look_find(&l, t.address, t.count)) rc = say_and(STATUS_FAILED, "no memory");
    if (rc == 0 && l.count == 0)
        rc = say_and(STATUS_FAILED, "no job of yours on this host serves metrics: start it with "
                                    "LOCUS_METRICS=127.0.0.1:9400, or give HOST:PORT");
    if (rc == 0) rc = t.once ? show_once(&t, &l) : screen_show(&l, t.interval_s);
    look_free(&l);
    return rc;
}
