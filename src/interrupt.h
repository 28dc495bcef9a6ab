/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals that ask us to end, held back while something must not be left half done. */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct interrupt {
	sigset_t set, old;
	int signal;		/* the one that came; 0: none so far */
};

/* Hold back SIGINT, SIGTERM and SIGHUP, those that are not ignored. */
void interrupt_begin(struct interrupt *in);
/* Has one come? */
bool interrupt_came(struct interrupt *in);
/* Sleep, unless one comes; whether one has. */
bool interrupt_sleep(struct interrupt *in, int64_t ms);
/* Let them through again; not those that came until now. */
void interrupt_end(struct interrupt *in);

#endif
