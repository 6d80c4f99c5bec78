#include "figures.h"

void figures_add(struct platform_figures *sum, const struct platform_figures *f)
{
    sum->frames_out += f->frames_out;
    sum->frames_in += f->frames_in;
    sum->bytes_out += f->bytes_out;
    sum->bytes_in += f->bytes_in;
    sum->wire_bytes_out += f->wire_bytes_out;
    for (unsigned o = 0; o < WIRE_OPERATIONS; o++) {
        sum->entries[o] += f->entries[o];
        sum->entry_bytes[o] += f->entry_bytes[o];
    }
    sum->turns += f->turns;
    sum->entries_in += f->entries_in;
    sum->shard_ns += f->shard_ns;
    sum->polling_ns += f->polling_ns;
    sum->engine_ns += f->engine_ns;
    sum->late_ns += f->late_ns;
}

void figures_count(struct platform_figures *to, const struct wire_frame *header, const void *body)
{
    struct wire_cursor c = wire_cursor(header, body);
    const struct wire_entry *e;
    const char *why;
    while ((e = wire_next(&c, &why))) {
        to->entries[e->operation]++;
        to->entry_bytes[e->operation] += wire_entry_bytes(e->length);
    }
}

double figures_on_wire(const struct model *m, size_t bytes)
{
    uint64_t packets = (uint64_t)((double)bytes / m->packet_bytes) + 1;
    return (double)bytes + (double)packets * m->packet_overhead;
}
