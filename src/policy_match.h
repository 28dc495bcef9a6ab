/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which entries of a policy concern which VMs and devices, and what they want of them together.
 * All entries that match count, setting by setting; of two that set the same, the later one holds,
 * and it is worth a warning unless that one matches more narrowly. Pure: nothing is asked.
 */
#ifndef POLICY_MATCH_H
#define POLICY_MATCH_H

#include "policy.h"
#include "sentences.h"

/* A setting and the entry that it is from. */
struct want {
	const struct policy_vm *vm;
	const struct policy_device *from;	/* NULL: nothing is wanted */
	int64_t value;				/* of those that are one number */
};

/* What is wanted of one device. */
struct device_wants {
	struct device *device;
	struct want busyloop[2];	/* rx, tx */
	struct want rx_frames;		/* of its tap */
	struct want workers, cpus;
};

/* Does any entry of @p concern @vm? */
bool policy_matches(const struct policy *p, const struct vm *vm);
/* Could it concern a VM of which only this is known: a name, a uuid or a pid? */
bool policy_may_match(const struct policy *p, const char *text);

/*
 * @wants: an array of one for each device of @vm, to be freed. @missing: entries that match no
 * device, unless they are optional. -1: two values for one thing that cannot both be, or a setting
 * that none of the devices has.
 */
int policy_match(const struct policy *p, struct vm *vm, struct device_wants **wants,
		 struct sentences *warnings, struct sentences *missing, struct error *e);

/* -1, and why, if two devices that drive one tap are to have two values for it. */
int policy_frames_differ(const struct device_wants *a, const struct device_wants *b, struct error *e);

#endif
