/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions to borrow, out of the code that a process has mapped. */
#ifndef OWNER_CODE_H
#define OWNER_CODE_H

#include "error.h"
#include "owner_arch.h"
#include "procfs.h"

/*
 * Look for @g in the code that @maps, the text of /proc/PID/maps, tells of. First in the pages
 * that are in memory: to touch another one can take as long as whoever serves its file likes,
 * and not even SIGKILL ends that wait. If need be in all. What is in memory can be taken out of it
 * before it is read, so a process does it that is left behind when it does not come back.
 */
int owner_code_find(int proc_fd, const struct proc_text *maps, struct arch_gadgets *g, struct error *e);

#endif
