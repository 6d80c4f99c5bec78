#include "tree.h"

#include "net/link.h"

#include <math.h>

/* One direction of one exchange. */
struct exchange {
    double out_ns, wire_ns, in_ns, bytes, frames;
};

static struct exchange exchange_of(const struct model *m, unsigned keys, unsigned length)
{
    double entry = (double)wire_entry_bytes(length), row = 4.0 * length,
           frames = ceil(keys * entry / LINK_FRAME_BYTES);
    double bytes = keys * entry + frames * sizeof(struct wire_frame);
    double wire = bytes + ceil(bytes / m->packet_bytes) * m->packet_overhead;
    return (struct exchange){
        .frames = frames,
        .bytes = bytes,
        .wire_ns = wire / m->bandwidth,
        .out_ns = frames * m->frame_out +
                  keys * (m->entry_out + row * m->row_byte + entry * m->byte_out),
        .in_ns = frames * m->frame_in +
                 keys * (m->entry_in + row * m->row_byte + entry * m->byte_in)};
}

/* The first frame must be on its way, and the last one served, by themselves. */
static double round_ns(const struct model *m, const struct exchange *e)
{
    double longest = fmax(e->wire_ns, fmax(e->out_ns, e->in_ns)),
           ends = e->out_ns + e->wire_ns + e->in_ns - longest;
    return m->latency + m->wake + longest + ends / e->frames;
}

/* Of a period p a synchronization takes t: an update that comes at its beginning shows after p + t,
 * one at its end after t. */
struct tree_pace tree_pace(const struct model *m, unsigned nodes, unsigned keys, unsigned length,
                           double share)
{
    struct exchange e = exchange_of(m, keys, length);
    double rounds = ceil(log2(nodes)), ns = rounds * round_ns(m, &e),
           cpu_ns = rounds * (e.out_ns + e.in_ns + m->wake_cpu + m->turn),
           period_ns = fmax(cpu_ns / share, ns);
    return (struct tree_pace){.stale_s = (period_ns / 2 + ns) / 1e9,
                              .bytes_per_s = rounds * e.bytes * 1e9 / period_ns};
}
