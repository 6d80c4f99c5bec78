#include "cluster/places.h"

#include "store/keyspace.h"

#include <string.h>

unsigned places_choose_shards(const struct pinning_machine *machine,
                              const struct locus_config *config)
{
    unsigned choice = pinning_choose_shards(machine, 1, config->workers);
    unsigned needed = keyspace_shards_needed(config->tables, config->table_count);
    return choice > needed ? choice : needed;
}

static unsigned nodes_of_host(const struct rendezvous_cluster *all, unsigned rank, unsigned size,
                              unsigned *our_index)
{
    unsigned here = 0;
    const char *ours = all->address[rank];
    size_t host = (size_t)(strrchr(ours, ':') - ours);
    for (unsigned i = 0; i < size; i++) {
        const char *other = all->address[i];
        if (strncmp(other, ours, host) != 0 || strrchr(other, ':') != other + host) continue;
        if (i == rank) *our_index = here;
        here++;
    }
    return here;
}

void places_plan(const struct pinning_machine *machine, const struct rendezvous_cluster *all,
                 unsigned rank, unsigned size, struct pinning_plan *plan)
{
    unsigned our_index = 0, most = 0, here = nodes_of_host(all, rank, size, &our_index);
    unsigned shards = all->shards;
    for (unsigned i = 0; i < size; i++)
        if (all->workers[i] > most) most = all->workers[i];
    pinning_plan(machine, here, our_index, shards, most, plan);
}

struct binding {
    const struct pinning_machine *machine;
    struct pinning_place place;
};

static void bind_range(void *binding, void *from, size_t bytes)
{
    const struct binding *b = binding;
    pinning_bind_memory(b->machine, from, bytes, b->place); /* refused: slower, not wrong */
}

void places_bind(const struct pinning_machine *machine, struct pinning_place place,
                 const struct store *store, unsigned shard)
{
    struct binding b = {machine, place};
    store_ranges(store, shard, bind_range, &b);
}
