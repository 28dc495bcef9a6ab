/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy document (vhostctl-policy(5)) as plain structs: read from JSON, written as JSON.
 * What it means for the VMs there are: policy_match.h; making it true: policy_plan.h.
 */
#ifndef POLICY_H
#define POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "state.h"
#include "value.h"

#define POLICY_DIR "/etc/vhostctl"
#define POLICY_BYTES_MAX (1 << 20)	/* of one file: thousands of VMs */
#define POLICY_ANY_KIND DEVICE_KINDS

enum policy_workers { WORKERS_UNSAID, WORKERS_COUNT, WORKERS_PER_QUEUE, WORKERS_LISTED };

/* One worker of an explicit list. */
struct policy_worker {
	struct ranges queues;
	char *cpus;			/* NULL: unsaid */
};

struct policy_device {
	char *where;			/* "policy.json: $.vms[0].devices[1]", for messages */
	enum device_kind kind;		/* POLICY_ANY_KIND */
	char *id, *tap;			/* globs; NULL: any */
	bool optional;			/* that no device matches is no lack */
	bool force;			/* busy-loop timeouts above VALUE_USECS_LIMIT are meant */
	int64_t busyloop[2];		/* rx, tx; UNKNOWN: unsaid */
	int64_t rx_frames;
	enum policy_workers workers;
	unsigned int count;		/* of WORKERS_COUNT */
	struct policy_worker *list;	/* of WORKERS_LISTED; all other queues: the default worker's */
	size_t n_list;
	char *cpus;
};

struct policy_vm {
	char *where;
	char *name, *uuid;		/* name is a glob; NULL: any */
	struct policy_device *devices;
	size_t n_devices;
};

struct policy {
	struct policy_vm *vms;
	size_t n_vms;
};

void policy_free(struct policy *p);

/* Everything unsaid. */
void policy_device_init(struct policy_device *d);

/*
 * Add what the JSON @text says to @p. @file is what errors call it. STATUS_USAGE, with the line
 * and column of bad syntax, else with the JSON path of what is wrong; @p is to be freed all the same.
 */
int policy_parse(const char *file, const char *text, size_t len, struct policy *p, struct error *e);

/* The same of a file, "-" being standard input. STATUS_DENIED when it may not be read. */
int policy_read(const char *path, struct policy *p, struct error *e);

/* policy.json below @dir, then policy.d/ *.json in the order of their names; one must be there. */
int policy_read_dir(const char *dir, struct policy *p, struct error *e);

/*
 * As JSON text with a newline at its end, to be freed; NULL when it could not be made: no memory, or a
 * string that is no UTF-8.
 */
char *policy_text(const struct policy *p, bool pretty);

/*
 * What can be tuned of @vm, as it was read, added to @p. STATUS_UNSUPPORTED when no match would find it
 * again. @same_name: another VM goes by its name.
 */
int policy_save(const struct vm *vm, bool same_name, struct policy *p, struct error *e);

#endif
