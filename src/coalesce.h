/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set the rx-frames coalescing of a tap. */
#ifndef COALESCE_H
#define COALESCE_H

#include <stdbool.h>
#include <stdint.h>

#include "taps.h"

/* "0" to "64". STATUS_USAGE for anything else: the kernel would clamp it and not say so. */
int coalesce_parse(const char *text, uint32_t *frames, struct error *e);

/* What was asked for and what came of it. */
struct coalesce {
	uint32_t frames;
	bool dry_run;
	int64_t before, after;	/* both read from the kernel, unless dry_run */
	const char *expected;	/* NULL, or the name that the interface must have */
	bool sent;		/* a request to change it went through, or may have */
};

/* An act of a visit (taps.h). */
int coalesce_set(struct tap_visit *v, void *coalesce, struct error *e);

#endif
