/* A state, and what may happen next, in words. */
#include "world_private.h"

#include <inttypes.h>
#include <stdio.h>

static void print_entry(const struct wire_entry *e)
{
    printf("%s of node %u, owner %u term %" PRIu64 " hops %u",
           e->operation < WIRE_OPERATIONS ? wire_rules[e->operation].name : "?", e->origin,
           e->owner, e->term, e->hops);
    if (e->operation == WIRE_CLOCK_UPDATED || e->operation == WIRE_CLOCK_FRESH ||
        e->operation == WIRE_CLOCK_AWAITED)
        printf(" clock %" PRId64, e->clock);
    if (e->operation <= WIRE_ROW) printf(" call %u", request_tag_number(e->tag));
    if (e->operation == WIRE_SYNC || e->operation == WIRE_ANSWER || e->operation == WIRE_REFRESH)
        printf(" flags %x version %" PRIu64 "%s", e->flags, e->version, e->length ? ", a row" : "");
}

static void print_call(int i)
{
    printf("%s (call %d)", scenario_kind_name[world_scenario.call[i].kind], i);
}

void world_print_choice(struct world_choice c)
{
    printf("  ");
    switch (c.event) {
    case WORLD_CALLS:
        printf("node %u: a worker calls ", world_scenario.node[c.from]);
        print_call(world_next_call(c.from));
        break;
    case WORLD_CLOSES: printf("node %u: a worker closes", world_scenario.node[c.from]); break;
    case WORLD_SERVES:
        printf("node %u: the shard takes ", world_scenario.node[c.from]);
        print_call(world_first_posted(c.from));
        break;
    case WORLD_ARRIVES:
        printf("node %u: arrives from %u: ", c.to, c.from);
        print_entry(&world_lane[c.from][c.to].message[0].entry);
        break;
    case WORLD_LOSES: printf("node %u: is lost, leaves or joins", c.from); break;
    case WORLD_HEARS: printf("node %u: hears of the next change", c.from); break;
    case WORLD_TURNS:
        printf("node %u: the shard's turn%s", c.from, c.to ? "" : ", without leave to synchronize");
        break;
    }
    printf("\n");
}

static void print_node(unsigned n)
{
    float row[CAPACITY];
    char text[200];
    struct content c;
    struct location l = location_of(&world_state.node[n].shard, row_ref_at(n));
    struct record *r = record_of(n);
    printf("    node %u: %s, owner %u, term %" PRIu64, n,
           l.is_here      ? "here"
           : l.is_replica ? "replica"
                          : "elsewhere",
           l.owner, l.term);
    if (read_row(n, row)) {
        const char *wrong = content_read(row, world_layout, &c);
        printf(", row: %s%s%s", content_text(&c, text, sizeof text), wrong ? ", " : "",
               wrong ? wrong : "");
    }
    if (wanted(n)) printf("; wanted %u", wanted(n));
    if (keeps(n)) printf("; kept");
    if (r && (r->registered || r->sync || r->version || r->holders))
        printf("%s%s, version %" PRIu64 ", %u holders", r->registered ? ", registered" : "",
               r->sync ? ", a sync is in flight" : "", r->version, r->holders);
    if (r && r->asked)
        printf("; %u asked of node %u, %u localize", r->asked, r->route, r->localizing);
    for (struct parked *p = r ? r->parked : NULL; p; p = p->next) {
        printf("; parked: ");
        print_entry(&p->entry);
    }
    printf("\n");
}

void world_print(void)
{
    static const char *const state[] = {"not called", "posted", "under way", "done"};
    char text[200];
    struct content c;
    for (unsigned n = 0; n < nodes(); n++)
        if (!is_lost(n)) print_node(n);
    for (unsigned from = 0; from < nodes(); from++)
        for (unsigned to = 0; to < nodes(); to++)
            for (unsigned i = 0; i < world_lane[from][to].count; i++) {
                printf("    under way %u -> %u: ", from, to);
                print_entry(&world_lane[from][to].message[i].entry);
                printf("\n");
            }
    for (unsigned i = 0; i < world_scenario.calls; i++) {
        printf("    ");
        print_call((int)i);
        printf(": %s", state[world_state.call[i].state]);
        if (world_state.call[i].state == CALL_DONE && world_scenario.call[i].kind == CALL_PULL) {
            content_read(world_state.call[i].values, world_layout, &c);
            printf(", saw %s", content_text(&c, text, sizeof text));
        }
        printf("\n");
    }
}
