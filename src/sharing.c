// SPDX-License-Identifier: GPL-2.0-or-later
#include "sharing.h"

#include <limits.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "aside.h"
#include "child.h"
#include "util.h"

static const char operation[] = "kcmp";

/* One fd of one process. */
struct held {
	size_t vm, device;
	enum device_kind kind;
	pid_t pid;
	int fd;
	bool same;		/* once sorted: the file of the one before */
};

/*
 * kcmp() waits for a lock that a process can keep for ever, and may do so since aside_answers() asked. So a
 * child compares, with this in memory that it shares with us.
 */
struct comparing {
	int errnum;		/* of the first failure of kcmp */
	volatile pid_t a, b;	/* those it compares */
	size_t n;
	struct held held[];
};

#define COMPARE_MS 10000	/* some microseconds for each file */
#define COMPARE_TRIES 3		/* each time without those that it waited for */

/* <0, 0, >0 as memcmp. The kernel gives open files an order that lasts until reboot. */
static int compare(const struct held *a, const struct held *b, struct comparing *c)
{
	long order;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	c->a = a->pid;
	c->b = b->pid;
	order = syscall(SYS_kcmp, a->pid, b->pid, KCMP_FILE, (unsigned long)a->fd,
			(unsigned long)b->fd);
	if (order == 0)
		return 0;
	if (order == 1)
		return -1;
	/* ESRCH, EBADF: one vanished meanwhile. Not the same, then, in any order. */
	if (order < 0 && errno != ESRCH && errno != EBADF && !c->errnum)
		c->errnum = errno;
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

/* NULL and errno when there is no memory to share. */
static struct comparing *collect(const struct state *s, size_t size)
{
	struct comparing *c = child_share(size);

	for (size_t v = 0; c && v < s->n_vms; v++)
		/* To compare files takes what a locked one keeps. */
		for (size_t d = 0; d < s->vms[v].n_devices && !s->vms[v].locked; d++)
			c->held[c->n++] = (struct held){
				.vm = v, .device = d, .kind = s->vms[v].devices[d].kind,
				.pid = s->vms[v].pid, .fd = s->vms[v].devices[d].fd,
			};
	return c;
}

/* The child: sorts, and tells which are one file. */
static void compare_all(void *arg)
{
	struct comparing *c = arg;
	struct held *tmp = xcalloc(c->n, sizeof(*tmp));

	if (close_range(0, UINT_MAX, 0))
		_exit(1);
	sort(c->held, tmp, c->n, c);
	for (size_t i = 1; i < c->n; i++)
		c->held[i].same = compare(&c->held[i - 1], &c->held[i], c) == 0;
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

static void resolve(struct state *s, const struct comparing *c)
{
	_cleanup_free_ struct verdict *verdicts = xcalloc(s->n_vms, sizeof(*verdicts));

	for (size_t i = 0, end; i < c->n; i = end) {
		for (end = i + 1; end < c->n && c->held[end].same; end++)
			;
		if (end - i > 1)
			resolve_group(s, &c->held[i], end - i, verdicts);
	}
	compact(s, verdicts);
}

/* One of the two keeps what kcmp() takes. Which of them is not to be told, so neither is asked again. */
static void leave_out(struct state *s, const struct comparing *c)
{
	for (size_t v = 0; v < s->n_vms; v++) {
		struct vm *vm = &s->vms[v];

		if (vm->locked || (vm->pid != c->a && vm->pid != c->b))
			continue;
		vm->locked = true;
		error_errno(ARRAY_ADD(vm->errors, vm->n_errors), ETIMEDOUT, operation, aside_late);
	}
}

/* 0; ETIMEDOUT, after which there is another try without who was waited for; or what else failed. */
static int compare_files(struct state *s, size_t n)
{
	size_t size = sizeof(struct comparing) + n * sizeof(struct held);
	struct comparing *c = collect(s, size);
	int errnum;

	s->files_unknown = true;
	if (!c)
		return errno;
	errnum = child_run(compare_all, c, COMPARE_MS);
	if (errnum == ETIMEDOUT)
		leave_out(s, c);
	if (!errnum) {
		resolve(s, c);
		s->files_unknown = false;
		errnum = c->errnum;
	}
	munmap(c, size);
	return errnum;
}

void sharing_resolve(struct state *s)
{
	int errnum = ETIMEDOUT;
	size_t n = 0;

	forget_holders(s);
	for (size_t v = 0; v < s->n_vms; v++)
		n += s->vms[v].n_devices;
	if (n < 2)
		return;
	for (int tries = 0; errnum == ETIMEDOUT && tries < COMPARE_TRIES; tries++)
		errnum = compare_files(s, n);
	if (!errnum)
		return;
	if (errnum == ECHILD)
		error_set(ARRAY_ADD(s->errors, s->n_errors), STATUS_FAILED, 0, operation,
			  "the process that does it was ended; files shared between processes are not told");
	else
		error_errno(ARRAY_ADD(s->errors, s->n_errors), errnum, operation,
			    "files shared between processes are not told");
}
