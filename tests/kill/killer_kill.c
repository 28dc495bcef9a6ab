// SPDX-License-Identifier: GPL-2.0-or-later
/* The kills themselves, and the look at the VM after each. False, with the reason, at the first damage. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "killer.h"

#define LOOK_EVERY 50		/* kills between two looks with an undisturbed tool */

bool bad(struct phase *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
	return false;
}

/* The device's tx timeout by the victim's own ioctl; -1 when it has no device, -2 when it is no more. */
static long own_value(struct vm *vm)
{
	char line[256];
	unsigned int rx, tx;

	if (!vm_ask(vm, "busyloop\n", line, sizeof(line)))
		return -2;
	return sscanf(line, "{\"busyloop_usecs\":[%u,%u]}", &rx, &tx) == 2 ? (long)tx : -1;
}

static unsigned long total_loops(struct vm *vm, char *line, size_t size)
{
	const char *p;

	if (!vm_ask(vm, "stat\n", line, size))
		return 0;
	p = strstr(line, "],\"signals_sent\"");
	p = p ? strstr(p, "\"loops\":") : NULL;
	return p ? strtoul(p + 8, NULL, 10) : 0;
}

/*
 * May @v be the timeout now? A thread that was let go with the call before it makes that call
 * when the scheduler next runs it: on a busy host, after the look that followed the kill.
 */
static bool may_be(struct phase *p, long v, unsigned int wanted)
{
	bool late = p->pending && v == p->pending && v != p->value;

	if (p->value && v != p->value && v != wanted && !late)
		return false;
	p->late += late;
	p->value = v;
	return true;
}

/* After each kill. `wanted` is the value that the dead run was to set. */
static bool look(struct phase *p, unsigned int wanted)
{
	int64_t us = vm_settle(p->vm->pid);
	const char *why;
	long v;

	if (us < 0)
		return bad(p, "%d threads still traced or stopped after %d ms", vm_unsettled(p->vm->pid), SETTLE_MS);
	if (us > p->worst_settle)
		p->worst_settle = us;
	if (!vm_alive(p->vm, &why))
		return bad(p, "the VM died: %s", why);
	if (!p->vm->ours)
		return true;
	v = own_value(p->vm);
	if (v == -2)
		return bad(p, "the victim does not answer (%s)", vm_alive(p->vm, &why) ? "alive" : why);
	if (v == -1)
		return true;
	if (!may_be(p, v, wanted))
		return bad(p, "busy-loop value is %ld, neither the old %u (or %u) nor the new %u", v, p->value,
			   p->pending, wanted);
	p->committed += v == wanted;
	p->pending = v == wanted ? 0 : wanted;
	return true;
}

/* Now and then: the VM moves on, and an undisturbed run of the tool sees a value that was asked for. */
static bool look_closely(struct phase *p, unsigned int wanted)
{
	char line[16384];
	unsigned long before;
	long v = p->tool->get ? tool_get(p->tool, p->vm->pid) : -1;

	if (p->tool->get && v < 0)
		return bad(p, "an undisturbed get fails");
	if (p->tool->get && p->vm->ours && !may_be(p, v, p->value))
		return bad(p, "get says %ld, the victim itself %u", v, p->value);
	/* Another process cannot be asked: each run since the last look may have been the last to commit. */
	if (p->tool->get && !p->vm->ours && p->value && (v < p->value || v > wanted))
		return bad(p, "get says %ld, not between %u and %u", v, p->value, wanted);
	if (p->tool->get && !p->vm->ours)
		p->value = v;
	if (!p->vm->ours)
		return true;
	before = total_loops(p->vm, line, sizeof(line));
	usleep(50000);
	return total_loops(p->vm, line, sizeof(line)) > before || bad(p, "the victim makes no progress: %s", line);
}

/* Rises from 11 to 9000, then starts anew; the restart is a value of its own that is set undisturbed. */
static unsigned int next_value(struct phase *p)
{
	return p->next_value = p->next_value ? p->next_value + 1 : 11;
}

static bool has_ended(const struct run *r)
{
	siginfo_t si = { 0 };

	return waitid(P_PID, r->pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid == r->pid;
}

/* Looks at the VM's threads for as long as the tool runs: which does it stop, and for how long. */
static void watch(struct phase *p, const struct run *r)
{
	int64_t first = 0, last = 0;

	while (!has_ended(r) && now_us() - r->started < 1000000) {
		if (p->learning)
			vm_learn(p->vm);
		else if (vm_is_stopped(p->vm)) {
			last = now_us();
			first = first ? first : last;
		}
	}
	if (first && p->nstops < CALIBRATION * 2)
		p->stops[p->nstops++] = last - first;
}

/* A dead VM makes the tool fail too, and is the worse news. */
static bool tool_failed(struct phase *p, struct run *r, int status)
{
	char err[512];
	ssize_t n = read(r->err, err, sizeof(err) - 1);
	const char *why;

	err[n > 0 ? n : 0] = 0;
	close(r->err);
	if (!vm_alive(p->vm, &why))
		return bad(p, "the VM died: %s", why);
	return bad(p, "the tool fails undisturbed (status 0x%x): %s", status, err);
}

static bool one_undisturbed(struct phase *p, unsigned int value, bool watched, int64_t *took)
{
	struct run r;
	int status = -1;

	tool_start(p->tool, &r, p->vm->pid, value, NULL, 0);
	if (watched)
		watch(p, &r);
	if (!tool_wait(&r, TOOL_MS, &status))
		return bad(p, "the tool hangs");
	*took = now_us() - r.started;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return tool_failed(p, &r, status);
	close(r.err);
	p->value = value;
	p->pending = 0;
	return true;
}

/* A victim under many signals may have no idle thread just then: the tool says so, and to try again. */
static bool undisturbed(struct phase *p, unsigned int value, bool watched, int64_t *took)
{
	const char *why;

	for (int i = 0; i < 3; i++) {
		if (one_undisturbed(p, value, watched, took))
			return true;
		if (!vm_alive(p->vm, &why) || !strstr(p->why, "try again"))
			break;
		p->refused++;
	}
	return false;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Fewer runs where few kills follow. */
bool calibrate(struct phase *p, unsigned int kills)
{
	int runs = kills < 100 ? CALIBRATION / 3 : CALIBRATION;
	int64_t took[CALIBRATION], ignored;

	/* The look at all threads is slow beside a stop: it takes many runs to catch one. */
	p->learning = true;
	for (int i = 0; i < runs || (!p->vm->nhot && i < 20 * CALIBRATION); i++)
		if (!undisturbed(p, next_value(p), true, &ignored))
			return false;
	if (!p->vm->nhot)
		return bad(p, "the tool was never seen to stop a thread");
	p->learning = false;
	for (int i = 0; i < runs; i++)
		if (!undisturbed(p, next_value(p), true, &ignored))
			return false;
	for (int i = 0; i < runs; i++)
		if (!undisturbed(p, next_value(p), false, &took[i]))
			return false;
	qsort(took, runs, sizeof(took[0]), by_size);
	p->normal_us = took[runs / 2];
	qsort(p->stops, p->nstops, sizeof(p->stops[0]), by_size);
	p->stop_us = p->nstops ? p->stops[p->nstops / 2] : 0;
	return true;
}

/* Two kills of three: any instant from 0 to 1.3 of a normal run. The third: while a thread is stopped. */
static bool kill_once(struct phase *p, unsigned int value)
{
	int64_t limit = p->normal_us * 13 / 10, wait = rnd() % (limit + 1);
	bool aimed = rnd() % 3 == 0;
	struct run r;
	int status = -1;

	tool_start(p->tool, &r, p->vm->pid, value, NULL, 0);
	if (aimed) {
		while (!vm_is_stopped(p->vm) && now_us() - r.started < limit && !has_ended(&r))
			;
		wait = now_us() - r.started + rnd() % (p->stop_us + 10);
	}
	while (wait - (now_us() - r.started) > 200)
		usleep(100);
	while (now_us() - r.started < wait)
		;
	p->stopped += vm_is_stopped(p->vm);
	tool_kill(&r);
	if (!tool_wait(&r, TOOL_MS, &status))
		return bad(p, "a killed tool does not die");
	close(r.err);
	p->finished += WIFEXITED(status);
	p->kills++;
	return look(p, value);
}

bool random_kills(struct phase *p, unsigned int n)
{
	int64_t ignored;

	for (unsigned int i = 1; i <= n; i++) {
		if (p->next_value >= 9000) {
			p->next_value = 0;
			if (!undisturbed(p, next_value(p), false, &ignored))
				return false;
		}
		if (!kill_once(p, next_value(p)))
			return false;
		if ((i % LOOK_EVERY == 0 || i == n) && !look_closely(p, p->next_value))
			return false;
	}
	return true;
}

static bool kill_at(struct phase *p, int point, unsigned int *reached)
{
	unsigned int value = next_value(p);
	struct run r;
	int status = -1;

	tool_start(p->tool, &r, p->vm->pid, value, "VHOSTCTL_KILLPOINT", point);
	if (!tool_wait(&r, TOOL_MS, &status))
		return bad(p, "the tool hangs at kill point %d", point);
	close(r.err);
	p->kills++;
	*reached += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!look(p, value))
		return false;
	return p->kills % LOOK_EVERY || look_closely(p, value);
}

bool point_kills(struct phase *p, unsigned int each)
{
	int points = tool_points(p->tool, p->vm);
	int64_t ignored;

	/* A run that had to try a second thread passes more: the fewest are those that every run has. */
	for (int i = 0; i < 8; i++) {
		int n = tool_points(p->tool, p->vm);

		points = n < points ? n : points;
	}
	if (!points)
		return bad(p, "the tool knows no kill points: not a KILLPOINTS build?");
	printf("# kill points: %d, each %u times\n", points, each);
	for (int point = 0; point < points; point++) {
		unsigned int reached = 0;

		if (p->next_value + each >= 9000)
			p->next_value = 0;
		if (!undisturbed(p, next_value(p), false, &ignored))
			return false;
		for (unsigned int i = 0; i < each; i++)
			if (!kill_at(p, point, &reached))
				return false;
		if (!reached)
			return bad(p, "kill point %d was never reached", point);
		p->stopped += reached;
	}
	return true;
}
