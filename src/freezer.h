/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a process's control group is frozen (freezer, cgroups(7), of either version). */
#ifndef FREEZER_H
#define FREEZER_H

#include <sys/types.h>

enum freezer_state { FREEZER_UNKNOWN = -1, FREEZER_RUNS, FREEZER_FROZEN };

/* Of the process whose /proc directory is @proc_fd; *words, the caller's to free, says it in words. */
enum freezer_state freezer_look(int proc_fd, char **words);

#endif
