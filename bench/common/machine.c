#include "machine.h"

#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined __clang__
#define COMPILER "clang " __clang_version__
#elif defined __GNUC__
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "an unknown compiler"
#endif

static void read_processor(char *name, size_t capacity)
{
    snprintf(name, capacity, "unknown processor");
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (f == NULL) return;
    char line[256];
    while (fgets(line, sizeof line, f) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, capacity, "%s", colon + 2);
        break;
    }
    fclose(f);
}

const char *machine_name(void)
{
    static char text[512];
    char processor[200];
    struct utsname system;
    read_processor(processor, sizeof processor);
    if (uname(&system) != 0) strcpy(system.release, "?");
    unsigned count = team_processors();
    snprintf(text, sizeof text, "%s, %u processor%s, Linux %s, %s", processor, count,
             count == 1 ? "" : "s", system.release, COMPILER);
    return text;
}

double machine_load(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : -1;
}

size_t machine_resident_bytes(void)
{
    unsigned long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL) return 0;
    if (fscanf(f, "%lu %lu", &total, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

size_t machine_huge_bytes(void)
{
    char line[256];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    if (f == NULL) return 0;
    while (fgets(line, sizeof line, f) && sscanf(line, "AnonHugePages: %zu", &kib) != 1) {
    }
    fclose(f);
    return kib << 10;
}
