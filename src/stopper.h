/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIGINT, SIGTERM, SIGHUP and SIGQUIT as something to wait for: what is to be done at the end is done. */
#ifndef STOPPER_H
#define STOPPER_H

#include <signal.h>
#include <stdint.h>

#include "error.h"

struct stopper {
	int fd;
	int got;		/* the signal that came; 0: none */
	sigset_t before;	/* signals blocked then */
};

int64_t clock_ns(void);		/* CLOCK_MONOTONIC */

/* From here to stopper_end() these signals wait. One that the caller ignores (nohup) stays ignored. */
int stopper_start(struct stopper *s, struct error *e);
/* Those not taken by then have their usual effect. */
void stopper_end(struct stopper *s);

/* Until the clock says @until_ns or a signal came: s->got. */
int stopper_wait(struct stopper *s, int64_t until_ns);

/* "SIGINT" for SIGINT. */
const char *stopper_name(int signo);

#endif
