#include "screen.h"

#include "clock.h"
#include "detail.h"
#include "fail.h"
#include "plain.h"
#include "say.h"
#include "table.h"

#include <ncurses.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

int screen_show(struct look *l, double interval_s)
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
