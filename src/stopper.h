/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals that ask us to end, as something to wait for: what is to be done at the end is done. */
#ifndef STOPPER_H
#define STOPPER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "error.h"

struct stopper {
	int fd;			/* of stopper_start(): to poll(); else -1 */
	int got;		/* the signal that came; 0: none */
	bool holds;
	sigset_t set, before;	/* signals held back; signals blocked before */
};

#define STOPPER_INIT { .fd = -1 }	/* holds nothing: stopper_end() is for it, too */

/*
 * For a command that runs until it is told to end: from here to stopper_end() SIGINT, SIGTERM,
 * SIGHUP and SIGQUIT wait. One that the caller ignores (nohup) stays ignored. -1 and @e when there
 * is no file for s->fd.
 */
int stopper_start(struct stopper *s, struct error *e);
/* Those not taken by then have their usual effect. */
void stopper_end(struct stopper *s);

/*
 * For a command that ends by itself, and is only to undo before: the same up to stopper_release(),
 * without s->fd. SIGQUIT ends it still, for who cannot wait.
 */
void stopper_hold(struct stopper *s);
/* Those not taken by then are dropped: what they were to stop is done, or undone. */
void stopper_release(struct stopper *s);

/* Until the clock says @until_ns or a signal came: s->got. */
int stopper_wait(struct stopper *s, int64_t until_ns);
/* For @ms milliseconds from now, or until a signal came; whether one has. */
bool stopper_sleep(struct stopper *s, int64_t ms);
/* Has one come? */
bool stopper_came(struct stopper *s);

/*
 * @text to @fd; @stopped, with 0, when a signal of stopper_start()'s, another than s->got, came while @fd
 * could not be written to. -1 and errno.
 */
int stopper_write(struct stopper *s, int fd, const char *text, bool *stopped);

/* "SIGINT" for SIGINT. */
const char *stopper_name(int signo);

#endif
