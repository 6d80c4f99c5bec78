#include "commands.h"

#include "args.h"
#include "clock.h"
#include "fail.h"
#include "look.h"
#include "plain.h"
#include "say.h"
#include "table.h"

#include <ncurses.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- on a screen ---- */

enum view { VIEW_NODES, VIEW_NODE, VIEW_KEYS };

struct screen {
    struct look *look;
    double interval_s;
    enum table_order order;
    enum view view;
    bool is_frozen, ends;
    size_t chosen, first; /* rows: under the cursor, at the top */
    char detail[DETAIL_BYTES_MAX];
};

enum { HEAD_LINES = 3 };

static const struct look_row *chosen(const struct screen *s)
{
    return &s->look->row[s->chosen];
}

static void draw_nodes(struct screen *s)
{
    char line[TABLE_LINE_MAX];
    size_t capacity = LINES > HEAD_LINES ? (size_t)(LINES - HEAD_LINES) : 1;
    if (s->chosen < s->first) s->first = s->chosen;
    if (s->chosen >= s->first + capacity) s->first = s->chosen - capacity + 1;
    table_head(line);
    attron(A_REVERSE);
    mvaddnstr(2, 0, line, COLS);
    attroff(A_REVERSE);
    for (size_t i = 0; i < capacity && s->first + i < s->look->count; i++) {
        bool is_chosen = s->first + i == s->chosen;
        table_row(&s->look->row[s->first + i], line);
        if (is_chosen) attron(A_BOLD);
        mvaddnstr((int)i + HEAD_LINES, 0, line, COLS);
        if (is_chosen) attroff(A_BOLD);
    }
}

static void draw_detail(const struct screen *s)
{
    const char *line = s->detail;
    for (int y = 2; y < LINES && *line; y++) {
        size_t n = strcspn(line, "\n");
        mvaddnstr(y, 0, line, (int)n < COLS ? (int)n : COLS);
        line += n + (line[n] == '\n');
    }
}

static void draw(struct screen *s)
{
    const char *frozen = s->is_frozen ? ", frozen" : "";
    erase();
    if (s->view == VIEW_NODES) {
        mvprintw(0, 0, "locus top: %zu node%s, by %s%s", s->look->count, plain_s(s->look->count),
                 table_order_name(s->order), frozen);
        mvprintw(1, 0, "q: end, s: sort, space: freeze, up/down, n: node, k: its hottest keys");
        draw_nodes(s);
    } else {
        mvprintw(0, 0, "locus top: node %u%s%s   n: node, k: keys, b: back, q: end",
                 chosen(s)->rank, s->view == VIEW_KEYS ? ", hottest keys" : "", frozen);
        draw_detail(s);
    }
    refresh();
}

/* Of the row under the cursor, which stays the same node wherever it is sorted to. */
static void sort(struct screen *s)
{
    char address[SCRAPE_ADDRESS_MAX];
    unsigned more = chosen(s)->port_more;
    memcpy(address, chosen(s)->address, sizeof address);
    table_sort(s->look, s->order);
    for (size_t i = 0; i < s->look->count; i++) {
        const struct look_row *r = &s->look->row[i];
        if (r->port_more == more && strcmp(r->address, address) == 0) s->chosen = i;
    }
}

static void set_detail(struct screen *s)
{
    if (s->view == VIEW_NODE) detail_node(chosen(s), s->detail);
    if (s->view == VIEW_KEYS) detail_keys(chosen(s), s->detail);
}

static void enter(struct screen *s, enum view view)
{
    s->view = view;
    set_detail(s);
}

static void move_cursor(struct screen *s, int key)
{
    if (s->view != VIEW_NODES) return;
    if (key == KEY_UP && s->chosen > 0) s->chosen--;
    if (key == KEY_DOWN && s->chosen + 1 < s->look->count) s->chosen++;
    look_choose(s->look, s->chosen);
}

static void obey(struct screen *s, int key)
{
    switch (key) {
    case 'q': s->ends = true; break;
    case 's': s->order = (s->order + 1) % TABLE_ORDERS; break;
    case ' ': s->is_frozen = !s->is_frozen; break;
    case 'n':
    case '\n': enter(s, VIEW_NODE); break;
    case 'k': enter(s, VIEW_KEYS); break;
    case 'b':
    case KEY_BACKSPACE: enter(s, VIEW_NODES); break;
    default: move_cursor(s, key); break;
    }
}

static void watch(struct screen *s)
{
    double next_s = 0;
    look_choose(s->look, s->chosen);
    while (!s->ends) {
        if (!s->is_frozen && clock_s() >= next_s) {
            look_again(s->look);
            set_detail(s);
            next_s = clock_s() + s->interval_s;
        }
        sort(s);
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

static const char usage[] =
    "usage: locus top [options] [HOST:PORT ...]\n"
    "\n"
    "Shows a row for each node of a running job. Its nodes must serve metrics (LOCUS_METRICS). HOST:PORT is rank 0's,\n"
    "which stands for all nodes at the ports after it, or another node's. Without one it shows the jobs of this user on\n"
    "this host.\n"
    "\n"
    "  --once              one table on stdout, of what happens within the interval\n"
    "  --json              the same as a JSON object for each node\n"
    "  --interval SECONDS  between two looks (1)\n"
    "  --keys              with --once: the hottest keys of each node, instead\n"
    "  -h, --help          this text\n"
    "\n"
    "  keys/s    keys that calls access in a second; their shares: local rows, replica here, remote at other nodes\n"
    "  moved/s   rows that came here; then how many rows it owns, and how many replicas it has\n"
    "  age ms    of replicas, since their owner was heard: the median, and what 99 of 100 are below\n"
    "  sent/s    bytes; shards: their load; waits: the share of time in which workers wait for other nodes\n"
    "  late/s    keys accessed at other nodes although an intent was active; clock: the highest\n"
    "\n"
    "  keys: q ends; s sorts by the next column; space freezes; up and down choose a node; n shows its shards and peers;\n"
    "  k the keys that its calls name most often; b goes back\n";

struct top {
    double interval_s;
    bool once, json, keys;
    char **address;
    size_t count;
};

static int parse(struct top *t, int argc, char **argv)
{
    const struct args_option options[] = {
        OPTION_FLAG("--once", &t->once, 0, ""),
        OPTION_FLAG("--json", &t->json, 0, ""),
        OPTION_FLAG("--keys", &t->keys, 0, ""),
        OPTION_REAL("--interval", "SECONDS", &t->interval_s, 0.05, 3600, 0, ""),
    };
    args_parse(&(struct args_program){.help = usage,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options,
                                      .words = &t->address},
               argc, argv);
    t->once = t->once || t->json || t->keys;
    t->count = (size_t)(argv + argc - t->address);
    if (t->keys && t->json)
        return say_and(STATUS_USAGE, "--keys is a text: leave --json out, or ask a node for /keys");
    return 0;
}

static void pause_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static int end_once(const struct look *l, size_t answers)
{
    size_t missing = look_missing(l);
    if (fflush(stdout) || ferror(stdout)) return say_and(STATUS_FAILED, "stdout cannot be written");
    if (missing)
        return say_and(STATUS_FAILED,
                       "%zu nodes more do not answer at the ports behind: give HOST:PORT of those "
                       "on other hosts, too",
                       missing);
    return answers == l->count ? 0 : STATUS_FAILED;
}

/* The first look makes nodes note them. */
static int show_keys(const struct top *t, struct look *l)
{
    static char text[DETAIL_BYTES_MAX];
    size_t answers = 0;
    look_again(l);
    for (size_t i = 0; i < l->count; i++) detail_keys(&l->row[i], text);
    pause_for(t->interval_s);
    for (size_t i = 0; i < l->count; i++) {
        answers += detail_keys(&l->row[i], text);
        printf("%snode %u\n%s", i > 0 ? "\n" : "", l->row[i].rank, text);
    }
    return end_once(l, answers);
}

static int show_once(const struct top *t, struct look *l)
{
    char line[TABLE_LINE_MAX];
    size_t answers = 0;
    look_again(l);
    pause_for(t->interval_s);
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
    }
    return end_once(l, answers);
}

int top_main(int argc, char **argv)
{
    struct top t = {.interval_s = 1};
    struct look l;
    say_as("locus top");
    fail_set_program("locus top");
    int rc = parse(&t, argc, argv);
    if (rc) return rc;
    if (!look_find(&l, t.address, t.count)) rc = say_and(STATUS_FAILED, "no memory");
    if (rc == 0 && l.count == 0)
        rc = say_and(STATUS_FAILED, "no job of yours on this host serves metrics: start it with "
                                    "LOCUS_METRICS=127.0.0.1:9400, or give HOST:PORT");
    if (rc == 0)
        rc = t.keys   ? show_keys(&t, &l)
             : t.once ? show_once(&t, &l)
                      : screen_show(&l, t.interval_s);
    look_free(&l);
    return rc;
}
