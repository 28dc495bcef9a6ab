// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * killer: SIGKILLs a tool that changes a running VM, at random instants or at its own kill points, and
 * after each kill looks whether the VM is whole. Prints counts as comments and one TAP line a phase.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "killer.h"

#define CALIBRATION 15
#define LOOK_EVERY 50		/* kills between two looks with an undisturbed tool */

static uint64_t seed;
static int failures, tests;

struct phase {
	struct vm *vm;
	const struct tool *tool;
	unsigned int kills, stopped, committed, finished;
	int64_t worst_settle, normal_us, stop_us;
	int64_t stops[CALIBRATION * 2];	/* how long a thread was seen stopped */
	int nstops;
	bool learning;
	unsigned int value;		/* last one known to be set; 0: not known */
	unsigned int next_value;
	char why[1024];
};

int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "killer: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	_exit(1);
}

uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static bool __attribute__((format(printf, 2, 3))) bad(struct phase *p, const char *fmt, ...)
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
	if (p->value && v != p->value && v != wanted)
		return bad(p, "busy-loop value is %ld, neither the old %u nor the new %u", v, p->value, wanted);
	p->committed += v == wanted;
	p->value = v;
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
	if (p->tool->get && p->vm->ours && v != p->value)
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

static bool undisturbed(struct phase *p, unsigned int value, bool watched, int64_t *took)
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
	return true;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static bool calibrate(struct phase *p)
{
	int64_t took[CALIBRATION], ignored;

	/* The look at all threads is slow beside a stop: it takes many runs to catch one. */
	p->learning = true;
	for (int i = 0; i < CALIBRATION || (!p->vm->nhot && i < 20 * CALIBRATION); i++)
		if (!undisturbed(p, next_value(p), true, &ignored))
			return false;
	if (!p->vm->nhot)
		return bad(p, "the tool was never seen to stop a thread");
	p->learning = false;
	for (int i = 0; i < CALIBRATION; i++)
		if (!undisturbed(p, next_value(p), true, &ignored))
			return false;
	for (int i = 0; i < CALIBRATION; i++)
		if (!undisturbed(p, next_value(p), false, &took[i]))
			return false;
	qsort(took, CALIBRATION, sizeof(took[0]), by_size);
	p->normal_us = took[CALIBRATION / 2];
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

static bool random_kills(struct phase *p, unsigned int n)
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

static bool point_kills(struct phase *p, unsigned int each)
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

static void report(bool good, const struct phase *p, const char *what, const char *main_kind)
{
	printf("%sok %d - %u %s kills, %s%s\n", good ? "" : "not ", ++tests, p->kills, what,
	       main_kind ? "victim's main thread in " : "another process", main_kind ? main_kind : "");
	if (!good)
		printf("# %s\n", p->why);
	failures += !good;
}

/* In a call with a restart code that keeps its arguments, a kill must not even show as an EINTR. */
static bool check_eintr(struct phase *p, const char *line)
{
	static const char *const strict[] = { "ppoll", "read", "accept", "clock_nanosleep", "futex", "futex_abs" };
	unsigned long total = 0;

	for (const char *k = line; (k = strstr(k, "\"kind\":\"")); k++) {
		const char *e = strstr(k, "\"eintr_unexplained\":");
		unsigned long n = e ? strtoul(e + 20, NULL, 10) : 0;

		total += n;
		for (size_t i = 0; n && i < sizeof(strict) / sizeof(strict[0]); i++)
			if (!strncmp(k + 8, strict[i], strlen(strict[i])) && k[8 + strlen(strict[i])] == '"')
				return bad(p, "%lu EINTR without a signal in %s", n, strict[i]);
	}
	printf("# EINTR without a signal, in calls where a tracer may cause one: %lu\n", total);
	return true;
}

static void counts(const struct phase *p)
{
	const char *why;
	bool alive = vm_alive(p->vm, &why);

	printf("# kills=%u landed_while_stopped=%u committed=%u tool_finished_first=%u normal_us=%ld stop_us=%ld "
	       "settle_us_max=%ld vm_alive=%s\n", p->kills, p->stopped, p->committed, p->finished,
	       (long)p->normal_us, (long)p->stop_us, (long)p->worst_settle, alive ? "yes" : "no");
}

static void on_victim(const struct tool *tool, const char *path, char *const more[], const char *kind,
		      unsigned int random, unsigned int each)
{
	static struct vm vm;
	struct phase p = { .vm = &vm, .tool = tool };
	char line[16384];
	bool good;

	memset(&vm, 0, sizeof(vm));
	vm_start(&vm, path, more, kind);
	good = random ? calibrate(&p) && random_kills(&p, random) : point_kills(&p, each);
	counts(&p);
	if (good) {
		good = vm_quit(&vm, line, sizeof(line));
		if (!good)
			bad(&p, "the victim's last word: %s", line);
		good = good && check_eintr(&p, line);
	} else {
		vm_quit(&vm, line, sizeof(line));
	}
	report(good, &p, random ? "random" : "chosen", kind);
}

/* Waits until the last answers can have come. */
static struct load measure_end(void)
{
	struct load l;

	load_stop_sending(true);
	sleep(2);
	l.sent = load.sent;
	l.received = load.received;
	l.asked = load.asked;
	l.answered = load.answered;
	l.worst_answer_us = load.worst_answer_us;
	load_reset();
	load_stop_sending(false);
	return l;
}

static void print_load(const char *when, const struct load *l)
{
	printf("# %s: pings=%u lost=%u qmp_asked=%u qmp_answered=%u qmp_worst_us=%ld\n", when, l->sent,
	       l->sent - l->received, l->asked, l->answered, (long)l->worst_answer_us);
}

static bool check_load(struct phase *p, const char *host, const char *qmp, const struct load *with,
		       const struct load *without)
{
	unsigned int lost = with->sent - with->received, usual = without->sent - without->received;

	if (host && (!with->received || !without->received))
		return bad(p, "no ping was answered at all");
	if (host && lost > usual)
		return bad(p, "%u pings lost with kills, %u without", lost, usual);
	if (qmp && (with->answered != with->asked || !with->answered))
		return bad(p, "QMP: %u asked, %u answered", with->asked, with->answered);
	return true;
}

static void on_process(const struct tool *tool, pid_t pid, const char *host, const char *qmp, unsigned int random,
		       unsigned int each)
{
	static struct vm vm;
	struct phase p = { .vm = &vm, .tool = tool };
	struct load with, without;
	int64_t started;
	bool good;

	vm.pid = pid;
	if (host)
		load_ping(host);
	if (qmp)
		load_qmp(qmp);
	sleep(2);
	measure_end();
	started = now_us();
	good = random ? calibrate(&p) && random_kills(&p, random) : point_kills(&p, each);
	started = now_us() - started;
	with = measure_end();
	counts(&p);
	print_load("with kills", &with);
	if (good && (host || qmp)) {
		usleep(started);
		without = measure_end();
		print_load("as long without", &without);
		good = check_load(&p, host, qmp, &with, &without);
	}
	report(good, &p, random ? "random" : "chosen", NULL);
}

static void usage(void)
{
	fprintf(stderr,
"usage: killer (--victim PATH [--main KIND]... [--victim-arg ARG]... | --pid PID [--ping IPV4] [--qmp PATH])\n"
"              (--random N | --points M) [--seed S] [--get SHELL_COMMAND] -- TOOL ARG...\n"
"{pid} and {value} in TOOL's arguments and {pid} in the get command are replaced. --points: M runs at\n"
"each kill point of a KILLPOINTS build.\n");
	exit(2);
}

static long number(const char *s)
{
	char *end;
	long v = strtol(s, &end, 10);

	if (*end || end == s || v < 1)
		usage();
	return v;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "victim", required_argument, NULL, 'v' }, { "main", required_argument, NULL, 'm' },
		{ "victim-arg", required_argument, NULL, 'a' }, { "pid", required_argument, NULL, 'p' },
		{ "ping", required_argument, NULL, 'i' }, { "qmp", required_argument, NULL, 'q' },
		{ "random", required_argument, NULL, 'n' }, { "points", required_argument, NULL, 'k' },
		{ "seed", required_argument, NULL, 's' }, { "get", required_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	const char *victim = NULL, *mains[16], *ping = NULL, *qmp = NULL;
	char *more[12] = { NULL };
	int c, nmains = 0, nmore = 0, pid = 0, random = 0, each = 0;
	struct tool tool = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	seed = now_us() | 1;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'v': victim = optarg; break;
		case 'm':
			if (nmains == 16)
				usage();
			mains[nmains++] = optarg;
			break;
		case 'a':
			if (nmore == 11)
				usage();
			more[nmore++] = optarg;
			break;
		case 'p': pid = number(optarg); break;
		case 'i': ping = optarg; break;
		case 'q': qmp = optarg; break;
		case 'n': random = number(optarg); break;
		case 'k': each = number(optarg); break;
		case 's': seed = number(optarg); break;
		case 'g': tool.get = optarg; break;
		default: usage();
		}
	}
	tool.argv = argv + optind;
	if (optind == argc || !victim == !pid || !random == !each)
		usage();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		die("PR_SET_CHILD_SUBREAPER: %s", strerror(errno));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("# seed %lu\n", (unsigned long)seed);
	if (pid)
		on_process(&tool, pid, ping, qmp, random, each);
	if (victim && !nmains)
		mains[nmains++] = "ppoll";
	for (int i = 0; victim && i < nmains; i++)
		on_victim(&tool, victim, more, mains[i], random, each);
	printf("1..%d\n", tests);
	return failures != 0;
}
