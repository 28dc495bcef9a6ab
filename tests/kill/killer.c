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
#include <time.h>
#include <unistd.h>

#include "killer.h"

static uint64_t seed;
static int failures, tests;

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
	static const char *const strict[] = { "ppoll", "read", "accept", "clock_nanosleep", "futex", "futex_abs",
					      "futex_quiet", "read_quiet" };
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

	printf("# kills=%u landed_while_stopped=%u committed=%u late=%u tool_finished_first=%u refused=%u normal_us=%ld stop_us=%ld "
	       "settle_us_max=%ld vm_alive=%s\n", p->kills, p->stopped, p->committed, p->late, p->finished,
	       p->refused, (long)p->normal_us, (long)p->stop_us, (long)p->worst_settle, alive ? "yes" : "no");
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
	good = random ? calibrate(&p, random) && random_kills(&p, random) : point_kills(&p, each);
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
	good = random ? calibrate(&p, random) && random_kills(&p, random) : point_kills(&p, each);
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
