// SPDX-License-Identifier: GPL-2.0-or-later
/* For hooks, which run while the VM is still starting. */
#include <errno.h>
#include <string.h>

#include "policy_plan.h"
#include "scan.h"
#include "util.h"

#define FIRST_MS 50
#define LAST_MS 500
/* A look at a host of many processes takes its time: four times as long we do nothing. */
#define IDLE_SHARE 4
#define PAUSE_MAX_MS 1000

/*
 * No file tells when a process opens another one, so we have to look again. A VM's devices come
 * one by one; it is whole when two looks in succession see the same.
 */
struct sight {
	pid_t pid;
	uint64_t start_time;
	size_t devices, taps, set_up;
};

static int64_t now_ms(void)
{
	return clock_ns() / 1000000;
}

static struct sight take_sight(const struct policy_run *run)
{
	const struct vm *vm = run->vms[0].vm;
	struct sight s = { vm->pid, vm->start_time, vm->n_devices, vm->n_taps, 0 };

	for (size_t i = 0; i < vm->n_devices; i++)
		for (size_t q = 0; q < vm->devices[i].n_queues; q++)
			s.set_up += vm->devices[i].queues[q].ring.set_up;
	return s;
}

static bool is_same(const struct sight *a, const struct sight *b)
{
	return a->pid == b->pid && a->start_time == b->start_time && a->devices == b->devices &&
	       a->taps == b->taps && a->set_up == b->set_up;
}

/* Once the process is there, no other need be looked at. */
struct name {
	const char *given;
	char pid[16];
};

static int look_once(struct policy_run *run, struct name *name, const struct sight *last, struct error *e)
{
	if (last->pid) {
		snprintf(name->pid, sizeof(name->pid), "%d", (int)last->pid);
		run->only = name->pid;
		if (policy_look(run, e) == 0 && run->n_vms && run->vms[0].vm->start_time == last->start_time)
			return 0;
		if (run->n_vms && run->vms[0].vm->start_time == last->start_time)
			return -1;
		policy_run_free(run);
		*e = ERROR_INIT;
	}
	run->only = name->given;
	return policy_look(run, e);
}

/* 1: it is there, and as it was at the last look. 0: not yet. */
static int look(struct policy_run *run, struct name *name, struct sight *last, struct error *e)
{
	struct sight s = { 0 };
	int ret = look_once(run, name, last, e);

	if (ret < 0 && !run->not_yet)
		return -1;
	if (ret == 0 && !run->n_vms)
		return 1;
	if (run->n_vms)
		s = take_sight(run);
	ret = ret == 0 && is_same(&s, last);
	*last = s;
	return ret;
}

static int give_up(unsigned int secs, struct error *e)
{
	char message[sizeof(e->message)];

	memcpy(message, e->message, sizeof(message));
	e->status = STATUS_NOT_FOUND;
	snprintf(e->message, sizeof(e->message), "after %u s still: %.*s", secs,
		 (int)sizeof(message) - 40, message);
	return -1;
}

static int look_until(struct policy_run *run, struct name *name, unsigned int secs, struct error *e)
{
	int64_t end = now_ms() + (int64_t)secs * 1000, delay = FIRST_MS;
	struct sight last = { 0 };

	for (;;) {
		int64_t started = now_ms(), pause, left;
		int ret;

		*e = ERROR_INIT;
		ret = look(run, name, &last, e);
		if (ret)
			return ret < 0 ? -1 : 0;
		left = end - now_ms();
		/* What is there but was seen once only is better than nothing. */
		if (left <= 0)
			return e->status == STATUS_OK ? 0 : give_up(secs, e);
		policy_run_free(run);
		pause = (now_ms() - started) * IDLE_SHARE;
		pause = pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause > delay ? pause : delay;
		delay = delay * 2 < LAST_MS ? delay * 2 : LAST_MS;
		if (stopper_sleep(run->stopper, pause < left ? pause : left))
			return error_set(e, STATUS_FAILED, EINTR, "wait for the VM",
					 "ended by %s; nothing was changed",
					 strsignal(run->stopper->got));
	}
}

int policy_wait(struct policy_run *run, unsigned int secs, struct error *e)
{
	struct name name = { .given = run->only };
	int ret;

	/* No need to wait for a VM that the policy has nothing for. */
	if (!policy_may_match(run->policy, run->only)) {
		scan_kernel(&run->state);
		sentences_add(&run->notes, "%s: no entry of the policy matches it", run->only);
		return 0;
	}
	ret = look_until(run, &name, secs, e);
	run->only = name.given;
	return ret;
}
