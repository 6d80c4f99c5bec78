/* What launchers say: the lines of the input are values of the variables, in the order below. */
#include "input.h"

#include "cluster/environment.h"
#include "net/secret.h"

static const char *const names[] = {
    "LOCUS_RANK",
    "LOCUS_SIZE",
    "LOCUS_RENDEZVOUS",
    "RANK",
    "WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "LOCAL_WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_NTASKS",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMIX_NAMESPACE",
    "TORCHELASTIC_RUN_ID",
    "LOCUS_SECRET",
    "PMI_RANK",
    "PMI_SIZE",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = input_of(data, size);
    char *text = input_text(&in, 4096), *line = text;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strcspn(line, "\n");
        bool is_last = line[length] == '\0';
        line[length] = '\0';
        if (length > 0)
            setenv(names[i], line, 1);
        else
            unsetenv(names[i]);
        line += length + !is_last;
    }
    struct environment e;
    if (environment_read(&e) == 0 && e.size > 0) {
        MUST(e.rank >= 0 && e.rank < e.size);
        MUST(!e.rendezvous || strlen(e.rendezvous) < 5000);
    }
    struct secret secret;
    if (secret_read(&secret)) MUST(!secret.is_known);
    secret_forget(&secret);
    free(text);
    return 0;
}
