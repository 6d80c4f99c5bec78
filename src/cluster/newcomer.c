#include "cluster/newcomer.h"

#include "base/error.h"
#include "base/time.h"
#include "cluster/rendezvous.h"
#include "net/forked.h"
#include "locus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int newcomer_init(struct newcomer *n)
{
    size_t links = (size_t)n->mesh.size * n->mesh.shards;
    n->address = calloc(n->mesh.size, sizeof *n->address);
    n->side = calloc(n->mesh.size, sizeof *n->side);
    n->fd = malloc(links * sizeof *n->fd);
    if (!n->address || !n->side || !n->fd)
        return error_set(-ENOMEM, "no memory for links to a node that joins");
    for (size_t i = 0; i < links; i++) n->fd[i] = -1;
    n->mesh.listener = -1;
    n->mesh.address = (const char(*)[ADDRESS_MAX])n->address;
    n->mesh.side = n->side;
    n->mesh.cancel = &n->is_cancelled;
    return 0;
}

int newcomer_take(struct newcomer *n, unsigned shard)
{
    if (n->runs) pthread_join(n->thread, NULL);
    n->runs = false;
    int *at = &n->fd[(size_t)n->rank * n->mesh.shards + shard], fd = *at;
    *at = -1;
    return fd;
}

static void end(struct newcomer *n)
{
    __atomic_store_n(&n->is_cancelled, true, __ATOMIC_RELEASE);
    for (unsigned s = 0; s < n->mesh.shards; s++) {
        int fd = newcomer_take(n, s);
        if (fd >= 0) forked_end(fd);
    }
}

void newcomer_fini(struct newcomer *n)
{
    if (n->fd) end(n);
    free(n->address);
    free(n->side);
    free(n->fd);
}

static void *run(void *context)
{
    struct newcomer *n = context;
    char why[512] = "";
    int rc = mesh_connect(&n->mesh, n->fd);
    if (rc) snprintf(why, sizeof why, "has no links to it: %.480s", locus_error());
    if (rc != -ECANCELED) rendezvous_connected(n->rendezvous, n->mesh.cluster, why);
    return NULL;
}

void newcomer_connect(struct newcomer *n, uint64_t id, unsigned rank, const char *address)
{
    end(n);
    if (!*address) return;
    n->is_cancelled = false;
    n->side[n->rank] = MESH_NOBODY;
    n->side[rank] = MESH_WE_DO;
    n->rank = rank;
    snprintf(n->address[rank], sizeof n->address[rank], "%s", address);
    n->mesh.cluster = id;
    n->mesh.deadline_ns = time_now_ns() + n->timeout_ns;
    n->runs = pthread_create(&n->thread, NULL, run, n) == 0;
    if (n->runs)
        pthread_setname_np(n->thread, "locus:newcomer");
    else
        rendezvous_connected(n->rendezvous, id, "has no thread to connect to it");
}
