#include "common/comma.h"

#include "common/folder.h"
#include "test.h"

#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* LC_NUMERIC as glibc maps it: a mark of the category, how many values, and where each is. */
struct numeric {
    uint32_t mark, count, at[6];
    char point[2], separator[2], grouping[4];
    uint32_t wide_point, wide_separator;
    char codeset[8];
};

static const struct numeric german = {
    .mark = 0x20031114,
    .count = 6,
    .at = {offsetof(struct numeric, point), offsetof(struct numeric, separator),
           offsetof(struct numeric, grouping), offsetof(struct numeric, wide_point),
           offsetof(struct numeric, wide_separator), offsetof(struct numeric, codeset)},
    .point = ",",
    .separator = ".",
    .grouping = {3, 3},
    .wide_point = ',',
    .wide_separator = '.',
    .codeset = "UTF-8",
};

void comma_choose(void)
{
    char folder[FOLDER_PATH_BYTES], text[16];
    folder_new(folder);
    CHECK_EQ(mkdir(folder_path(folder, "comma"), 0700), 0);
    folder_write(folder, "comma/LC_NUMERIC", (const char *)&german, sizeof german);
    CHECK_EQ(setenv("LOCPATH", folder, 1), 0);
    const char *chosen = setlocale(LC_NUMERIC, "comma");
    if (!chosen) test_skip("this C library takes no locale of ours");
    snprintf(text, sizeof text, "%.1f", 0.5);
    CHECK_EQ(strcmp(text, "0,5"), 0);
}
