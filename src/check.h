/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this host, kernel and user can do, and what stands in the way of acting on a VM. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>
#include <sys/types.h>

#include "error.h"
#include "state.h"

enum { CHECK_UNKNOWN = -1, CHECK_NO = 0, CHECK_OK = 1 };

struct check_item {
	const char *name;	/* "pidfd_getfd": a key for scripts */
	int ok;			/* CHECK_* */
	char reason[256];	/* what was found, in words; may hold bytes a VM chose */
};

struct check_list {
	struct check_item *items;
	size_t n;
};

struct check_vm {
	pid_t pid;
	char *name;		/* as vm->name */
	struct check_list list;
};

struct check {
	char kernel[65];
	struct check_list host;
	struct check_vm *vms;
	size_t n_vms;
};

/* Fill c->kernel and c->host. Nothing of it touches a VM. */
void check_host(struct check *c);

/* Add an entry for @vm to c->vms. -1 when its process is gone. */
int check_vm(struct check *c, const struct vm *vm, struct error *e);

void check_free(struct check *c);

/* A kernel release as one number that compares: 6.12.95-amd64 is 0x60c. 0 if it is none. */
unsigned int check_release(const char *release);

/* Pure: what a VM's /proc/PID/status says, as items added to @list. */
void check_status_text(const char *status, size_t len, struct check_list *list);

#endif
