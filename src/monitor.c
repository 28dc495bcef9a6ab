// SPDX-License-Identifier: GPL-2.0-or-later
#include "monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "aside.h"
#include "procdir.h"
#include "scan.h"
#include "util.h"

/*
 * A scan of all processes takes no more than this part of a CPU, or that one when there is a tap
 * that nobody has; nor is it older, or newer, than that.
 */
#define SCAN_PART 200
#define SCAN_PART_STRANGER 100
#define OLDEST_SCAN_NS 60000000000
#define SOONEST_SCAN_NS 10000000000
/* Changes come in several notifications, and many at a time. Who waits a little wakes once. */
#define QUIET_NS 50000000
/*
 * A new process is looked at so often, each time after twice as long: a VM opens its devices in seconds,
 * one after another, so also when it is known already.
 */
#define YOUNG_LOOKS 6

static int64_t timeval_ns(struct timeval tv)
{
	return tv.tv_sec * 1000000000LL + tv.tv_usec * 1000LL;
}

/* Ours, and that of children, whether they have ended or not. */
static int64_t cpu_ns(void)
{
	struct rusage children = { 0 };
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	getrusage(RUSAGE_CHILDREN, &children);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec + aside_cpu_ns() + timeval_ns(children.ru_utime) +
	       timeval_ns(children.ru_stime);
}

/* ---- new processes ---- */

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

static bool is_known(const struct monitor *m, int pid)
{
	return m->n_pids && bsearch(&pid, m->pids, m->n_pids, sizeof(pid), compare);
}

/* Those that were not there last time join the young. */
static void list_processes(struct monitor *m, bool note_new)
{
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int *pids = NULL, pid;
	struct procdir dir;
	size_t n = 0;

	if (proc < 0)
		return;
	procdir_start(&dir, proc);
	while (procdir_next(&dir, &pid)) {
		*ARRAY_ADD(pids, n) = pid;
		if (note_new && !is_known(m, pid))
			*ARRAY_ADD(m->young, m->n_young) = (struct young){ .pid = pid };
	}
	if (n)
		qsort(pids, n, sizeof(*pids), compare);
	free(m->pids);
	m->pids = pids;
	m->n_pids = n;
}

static bool is_watched(const struct monitor *m, pid_t pid)
{
	for (size_t i = 0; i < m->n_vms; i++)
		if (m->vms[i].ref.pid == pid)
			return true;
	return false;
}

/*
 * A VM's fork, or who handed it its files, holds what makes a VM. Only beside the VM can be seen that it
 * is none.
 */
static void look_beside_known(struct monitor *m, const pid_t *fresh, size_t n)
{
	_cleanup_free_ pid_t *pids = xcalloc(n + m->n_vms, sizeof(*pids));
	struct error ignored = ERROR_INIT;
	struct state s = { 0 };

	memcpy(pids, fresh, n * sizeof(*pids));
	for (size_t i = 0; i < m->n_vms; i++)
		pids[n + i] = m->vms[i].ref.pid;
	/* Where it fails, they are looked at again. */
	if (!scan_some(pids, n + m->n_vms, &s, &ignored))
		monitor_take_scan(m, &s, false);
	state_free(&s);
}

/* False when nothing more is to be expected of it. @fresh: VMs to be looked at beside those known. */
static bool look_at_young(struct monitor *m, struct young *y, int64_t now_ns, pid_t **fresh, size_t *n_fresh)
{
	struct state s = { 0 };
	struct error e = ERROR_INIT;
	int ret;

	ret = scan_vm(y->pid, &s, &e);
	if (ret == 0 && is_watched(m, y->pid))
		monitor_take_scan(m, &s, false);
	else if (ret == 0)
		*ARRAY_ADD(*fresh, *n_fresh) = y->pid;
	state_free(&s);
	if (ret < 0 && e.errnum == ESRCH)
		return false;
	y->next_ns = now_ns + (m->interval_ns << y->looks);
	return ++y->looks < YOUNG_LOOKS;
}

static void look(struct monitor *m, int64_t now_ns)
{
	_cleanup_free_ pid_t *fresh = NULL;
	size_t n = 0, n_fresh = 0;

	list_processes(m, true);
	for (size_t i = 0; i < m->n_young; i++) {
		struct young y = m->young[i];

		if (y.next_ns > now_ns || look_at_young(m, &y, now_ns, &fresh, &n_fresh))
			m->young[n++] = y;
	}
	m->n_young = n;
	if (n_fresh)
		look_beside_known(m, fresh, n_fresh);
}

/* ---- all processes ---- */

static int scan(struct monitor *m, struct error *e)
{
	int64_t start = cpu_ns(), cost;
	struct state s = { 0 };
	int ret = scan_host(&s, e);

	if (ret == 0) {
		monitor_take_scan(m, &s, true);
		if (scan_failed(&s) && scan_failed(&s)->errnum == EMFILE)
			monitor_no_descriptor(m);
	}
	state_free(&s);
	/* Less than before: the child that reads for us was left behind, with what it had taken. */
	cost = cpu_ns() - start;
	if (cost > 0)
		m->scan_cost_ns = cost;
	return ret;
}

static void plan_scan(struct monitor *m, int64_t now_ns)
{
	int64_t gap = m->scan_cost_ns * SCAN_PART;

	if (gap < SOONEST_SCAN_NS)
		gap = SOONEST_SCAN_NS;
	if (gap > OLDEST_SCAN_NS)
		gap = OLDEST_SCAN_NS;
	m->scan_ns = now_ns;
	m->next_scan_ns = now_ns + gap;
	m->n_strangers = 0;
}

static bool is_time_to_scan(const struct monitor *m, int64_t now_ns)
{
	return now_ns >= m->next_scan_ns ||
	       (now_ns - m->scan_ns >= m->scan_cost_ns * SCAN_PART_STRANGER &&
		monitor_has_stranger(m, now_ns));
}

/* ---- the loop ---- */

static struct pollfd *poll_list(const struct monitor *m, const struct stopper *stopper, bool quiet,
				size_t *n)
{
	struct pollfd *p = xcalloc(m->n_vms + 4, sizeof(*p));

	p[0] = (struct pollfd){ .fd = stopper->fd, .events = POLLIN };
	/* Nothing is asked of it: that its reader has gone is told in any case. */
	p[1] = (struct pollfd){ .fd = m->close_fd };
	p[2] = (struct pollfd){ .fd = quiet ? -1 : m->watch.ns.route, .events = POLLIN };
	p[3] = (struct pollfd){ .fd = quiet ? -1 : m->watch.ns.generic, .events = POLLIN };
	for (size_t i = 0; i < m->n_vms; i++)
		p[4 + i] = (struct pollfd){ .fd = m->vms[i].ref.pidfd, .events = POLLIN };
	*n = m->n_vms + 4;
	return p;
}

static int take_notifications(struct monitor *m, struct error *e)
{
	struct event event = monitor_event(m, EVENT_RESYNC, NULL);
	bool lost;

	if (netwatch_read(&m->watch, monitor_take_news, m, &lost, e))
		return -1;
	if (!lost)
		return 0;
	event.reason = "more notifications came than there was room for; all taps are read anew";
	m->tell(&event, m->arg);
	monitor_doubt_all(m);
	return 0;
}

/* From the last to the first: removing moves those behind. */
static void take_ends(struct monitor *m, const struct pollfd *p, size_t n)
{
	for (size_t i = n; i > 0; i--)
		if (p[i - 1].revents)
			monitor_remove_vm(m, i - 1, "its process ended");
}

static int64_t next_wake(const struct monitor *m, bool quiet)
{
	int64_t next = monitor_next_settle(m);

	if (quiet && m->quiet_until_ns < next)
		next = m->quiet_until_ns;
	if (m->next_look_ns < next)
		next = m->next_look_ns;
	return m->next_scan_ns < next ? m->next_scan_ns : next;
}

static int wait(struct monitor *m, struct stopper *stopper, struct error *e)
{
	_cleanup_free_ struct pollfd *p = NULL;
	int64_t now_ns = clock_ns();
	bool quiet = now_ns < m->quiet_until_ns;
	int64_t left = next_wake(m, quiet) - now_ns;
	struct timespec ts = { .tv_sec = left > 0 ? left / 1000000000 : 0,
			       .tv_nsec = left > 0 ? left % 1000000000 : 0 };
	size_t n;

	p = poll_list(m, stopper, quiet, &n);
	if (ppoll(p, n, &ts, NULL) < 0)
		return errno == EINTR ? 0 : error_errno(e, errno, "wait", NULL);
	if (p[0].revents)
		stopper_wait(stopper, 0);
	m->closed |= p[1].revents & (POLLERR | POLLHUP);
	/* Ends first: a VM that has ended takes its taps along, and that is one event. */
	take_ends(m, p + 4, n - 4);
	if (!p[2].revents && !p[3].revents)
		return 0;
	m->quiet_until_ns = clock_ns() + QUIET_NS;
	return take_notifications(m, e);
}

static int round_(struct monitor *m, struct error *e)
{
	int64_t now_ns = clock_ns();

	monitor_settle(m, now_ns);
	if (now_ns >= m->next_look_ns) {
		m->next_look_ns = now_ns + m->interval_ns;
		look(m, now_ns);
	}
	if (!is_time_to_scan(m, now_ns))
		return 0;
	if (scan(m, e))
		return -1;
	plan_scan(m, now_ns);
	return 0;
}

static void finish(struct monitor *m)
{
	for (size_t i = 0; i < m->n_vms; i++)
		monitor_free_vm(&m->vms[i]);
	free(m->vms);
	free(m->strangers);
	free(m->pids);
	free(m->young);
	netwatch_close(&m->watch);
}

int monitor_run(struct monitor *m, struct stopper *stopper, struct error *e)
{
	int ret;

	allow_descriptors();
	if (netwatch_open(&m->watch, e))
		return -1;
	m->initial = true;
	m->visit = TAP_VISIT_INIT;
	list_processes(m, false);
	ret = scan(m, e);
	plan_scan(m, clock_ns());
	m->next_look_ns = clock_ns() + m->interval_ns;
	m->initial = false;
	while (ret == 0 && !m->closed && !stopper->got && !m->failure.status) {
		ret = wait(m, stopper, e);
		if (ret == 0 && !m->closed && !stopper->got)
			ret = round_(m, e);
	}
	if (ret == 0 && m->failure.status) {
		*e = m->failure;
		ret = -1;
	}
	finish(m);
	return ret;
}
