/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that find targets share. Functions that return int: 0, or -1 with @e. */
#ifndef TARGET_PARTS_H
#define TARGET_PARTS_H

#include <stddef.h>

#include "target.h"

/* ---- target_vm.c: the processes, and which VM is meant ---- */

/* A growing line of words for messages; it says so when there are more than fit. */
struct target_words {
	char text[360];
	size_t len;
	bool full;
};

void target_add_word(struct target_words *w, const char *word);

/* STATUS_USAGE, for @text is no target: @why. Returns -1. */
int target_usage(struct error *e, const char *text, const char *why);

/* All that the targets can mean, into @s: the processes that they give by pid, or the whole host. */
int target_scan(const char *const *texts, size_t n, struct state *s, struct error *e);

/*
 * The VM of the longest beginning of @text that names one; *rest is what follows its slash, or
 * NULL. NULL and @e as of target_resolve(), which is also so when a shorter beginning names another
 * VM that has the rest. @e must be without an error before.
 */
struct vm *target_find_vm(const struct state *s, const char *text, const char **rest, struct error *e);

/* After that found none: if @text is a number, why it is no VM's pid either. Returns -1. */
int target_explain_pid(const struct state *s, const char *text, struct error *e);

/* ---- target.c ---- */

/* Whether @rest, of a target behind its VM, is a device or a queue of @vm, or a tap. */
bool target_is_in(struct vm *vm, const char *rest);

/* ---- target_queues.c: the queues of a device ---- */

/* QUEUES of a target, into @queues, which are to be freed unless it failed. */
int target_parse_queues(const struct vm *vm, const struct device *d, const char *text,
			struct ranges *queues, struct error *e);

#endif
