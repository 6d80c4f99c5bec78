#include "meter.h"

#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_COLUMNS = 24 };

static const double TERMINAL_PERIOD_S = 0.1, PLAIN_PERIOD_S = 15;

double meter_now(void)
{
    return world_now();
}

void meter_init(struct meter *m, bool is_shown)
{
    *m = (struct meter){.is_shown = is_shown, .is_terminal = isatty(STDERR_FILENO) == 1};
}

void meter_begin(struct meter *m, const char *task, const char *unit, uint64_t total)
{
    if (!m->is_shown) return;
    snprintf(m->task, sizeof m->task, "%s", task);
    m->unit = unit;
    m->total = total;
    m->done = 0;
    m->began_s = m->shown_s = meter_now();
}

static void left_text(char *text, size_t capacity, double seconds)
{
    unsigned long s = (unsigned long)(seconds + 0.5);
    if (s < 100) {
        snprintf(text, capacity, "%lu s", s);
    } else {
        snprintf(text, capacity, "%lu:%02lu min", s / 60, s % 60);
    }
}

static void show(const struct meter *m, double now)
{
    double elapsed = now - m->began_s, share = m->total ? (double)m->done / (double)m->total : 1;
    double rate = elapsed > 0 ? (double)m->done / elapsed : 0;
    char left[32] = "";
    if (rate > 0) left_text(left, sizeof left, (double)(m->total - m->done) / rate);
    if (!m->is_terminal) {
        fprintf(stderr, "%s: %.0f %%, %.0f %s/s, %s left\n", m->task, share * 100, rate, m->unit,
                left);
        return;
    }
    char bar[BAR_COLUMNS + 1];
    int filled = (int)(share * BAR_COLUMNS);
    memset(bar, '.', BAR_COLUMNS);
    memset(bar, '#', (size_t)filled);
    bar[BAR_COLUMNS] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] %3.0f %%  %.0f %s/s  %s left", m->task, bar, share * 100, rate,
            m->unit, left);
    fflush(stderr);
}

void meter_set(struct meter *m, uint64_t done)
{
    if (!m->is_shown) return;
    m->done = done < m->total ? done : m->total;
    double now = meter_now();
    if (now - m->shown_s < (m->is_terminal ? TERMINAL_PERIOD_S : PLAIN_PERIOD_S)) return;
    m->shown_s = now;
    show(m, now);
}

void meter_end(struct meter *m)
{
    if (!m->is_shown || !m->is_terminal) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
