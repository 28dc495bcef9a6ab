// SPDX-License-Identifier: GPL-2.0-or-later
#include "sharing.h"

#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>

#include "util.h"

/* One fd of one process. */
struct held {
	size_t vm, device;
	enum device_kind kind;
	pid_t pid;
	int fd;
};

struct comparing {
	struct error *error;	/* the first failure of kcmp */
	bool failed;
};

/* <0, 0, >0 as memcmp. The kernel gives open files an order that lasts until reboot. */
static int compare(const struct held *a, const struct held *b, struct comparing *c)
{
	long order;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	order = syscall(SYS_kcmp, a->pid, b->pid, KCMP_FILE, (unsigned long)a->fd,
			(unsigned long)b->fd);
	if (order == 0)
		return 0;
	if (order == 1)
		return -1;
	/* ESRCH, EBADF: one vanished meanwhile. Not the same, then, in any order. */
	if (order < 0 && errno != ESRCH && errno != EBADF && !c->failed) {
		c->failed = true;
		error_errno(c->error, errno, "kcmp", "files shared between processes are not told");
	}
	return 1;
}

/*
 * A merge sort, because processes that vanish make the order inconsistent, which qsort()
 * need not survive; and it is stable: the lowest pid and fd of one file come first.
 */
static void sort(struct held *a, struct held *tmp, size_t n, struct comparing *c)
{
	size_t half = n / 2, i = 0, j = half;

	if (n < 2)
		return;
	sort(a, tmp, half, c);
	sort(a + half, tmp, n - half, c);
	for (size_t k = 0; k < n; k++) {
		if (j == n || (i < half && compare(&a[i], &a[j], c) <= 0))
			tmp[k] = a[i++];
		else
			tmp[k] = a[j++];
	}
	memcpy(a, tmp, n * sizeof(*a));
}

static struct held *collect(const struct state *s, size_t *n)
{
	struct held *all = NULL;

	*n = 0;
	for (size_t v = 0; v < s->n_vms; v++)
		/* To compare files takes what a locked one keeps. */
		for (size_t d = 0; d < s->vms[v].n_devices && !s->vms[v].locked; d++)
			*ARRAY_ADD(all, *n) = (struct held){
				v, d, s->vms[v].devices[d].kind, s->vms[v].pid,
				s->vms[v].devices[d].fd,
			};
	return all;
}

/* What is known about each VM while the groups are gone through. */
struct verdict {
	size_t not_its_own;	/* devices whose file another VM has workers for */
	size_t duplicates;
};

/* fds [0, n) of @group are one file. Sorted: those of one process are side by side. */
static void resolve_group(struct state *s, const struct held *group, size_t n,
			  struct verdict *verdicts)
{
	bool owner_shows = false;

	for (size_t i = 0; i < n; i++)
		owner_shows |= s->vms[group[i].vm].n_threads > 0;
	for (size_t i = 0; i < n; i++) {
		struct vm *vm = &s->vms[group[i].vm];
		struct device *d = &vm->devices[group[i].device];

		if (i && group[i].vm == group[i - 1].vm) {
			/* fd -1 marks what compact() is to drop. */
			d->fd = -1;
			verdicts[group[i].vm].duplicates++;
			continue;
		}
		if (owner_shows && !vm->n_threads)
			verdicts[group[i].vm].not_its_own++;
		for (size_t j = 0; j < n; j++)
			if (group[j].vm != group[i].vm && (!j || group[j].vm != group[j - 1].vm))
				*ARRAY_ADD(d->holders, d->n_holders) = group[j].pid;
	}
}

static void drop_duplicates(struct vm *vm)
{
	size_t kept = 0;

	for (size_t i = 0; i < vm->n_devices; i++) {
		/* From an earlier time it can have a tap and more. */
		if (vm->devices[i].fd < 0) {
			device_free(&vm->devices[i]);
			continue;
		}
		vm->devices[kept++] = vm->devices[i];
	}
	vm->n_devices = kept;
}

static void compact(struct state *s, const struct verdict *verdicts)
{
	size_t kept = 0;

	for (size_t v = 0; v < s->n_vms; v++) {
		struct vm *vm = &s->vms[v];

		if (verdicts[v].duplicates)
			drop_duplicates(vm);
		if (vm->n_devices && verdicts[v].not_its_own == vm->n_devices)
			vm_free(vm);
		else
			s->vms[kept++] = *vm;
	}
	s->n_vms = kept;
}

/* A state that grows VM by VM (scan_pid()) is resolved anew each time. */
static void forget_holders(struct state *s)
{
	for (size_t v = 0; v < s->n_vms; v++)
		for (size_t d = 0; d < s->vms[v].n_devices; d++) {
			free(s->vms[v].devices[d].holders);
			s->vms[v].devices[d].holders = NULL;
			s->vms[v].devices[d].n_holders = 0;
		}
}

void sharing_resolve(struct state *s)
{
	struct error e = ERROR_INIT;
	struct comparing c = { .error = &e };
	_cleanup_free_ struct held *all = NULL;
	_cleanup_free_ struct held *tmp = NULL;
	_cleanup_free_ struct verdict *verdicts = NULL;
	size_t n;

	forget_holders(s);
	all = collect(s, &n);
	if (n < 2)
		return;
	tmp = xcalloc(n, sizeof(*tmp));
	verdicts = xcalloc(s->n_vms, sizeof(*verdicts));
	sort(all, tmp, n, &c);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && compare(&all[i], &all[end], &c) == 0; end++)
			;
		if (end - i > 1)
			resolve_group(s, &all[i], end - i, verdicts);
	}
	compact(s, verdicts);
	if (c.failed)
		*ARRAY_ADD(s->errors, s->n_errors) = e;
}
