// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * faults [-p PID]... [-r RESET] [-s STATE] [-c CLEAR] [-S SHARE] -- COMMAND ARG...
 *
 * Runs the command once to see its system calls, then once for each errno of each of them, in which that call
 * fails so. After each: the exit status is one of the contract's; a failure has one line on stderr (apply: and one
 * of each value that was put back) and on stdout nothing, or a whole JSON document that tells of it; a success
 * has a whole JSON document; no thread of the processes PID is stopped or traced; and what the shell command
 * STATE prints is as before, or after a success as the first run left it. RESET is run before each.
 * A failure that tells what clears the rest that it may have left: after CLEAR, which is that, the state is as before.
 * SHARE: only one in so many, for a first look. The last line sums up; the exit status is 0 if nothing was wrong.
 */
#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIDS_MAX 16
#define SETTLE_MS 10000		/* until a borrowed thread that was let go has run on, in software emulation */
#define STATE_MS 1000		/* until a thread that ends is gone */
#define TRIES 3			/* for a call that was not made this time */
#define FIRST_RUNS 5		/* of the command without any fault */
#define FIRST_RUNS_BAD 7	/* so many more may fail, on a machine that is starved */
#define FEW 3			/* of calls that are alike, so many are failed, and the last */

static struct {
	pid_t pids[PIDS_MAX];
	int n_pids;
	const char *reset, *state, *clear;
	char before[1 << 16], after[1 << 16];
	bool is_reset;		/* nothing was changed since */
	unsigned int share, turn, faults, failed, succeeded, missed, wrong, told;
	char *const *argv;
} f = { .share = 1 };

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "faults: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(2);
}

/* The pid of a thread of @pid that is stopped or traced; 0: none. -1: the process is gone. */
static pid_t unsettled(pid_t pid)
{
	char path[300], text[2048];
	struct dirent *entry;
	pid_t found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while (!found && (entry = readdir(dir))) {
		const char *state, *tracer;
		ssize_t n;
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		if (n <= 0)
			continue;
		text[n] = '\0';
		state = strstr(text, "\nState:\t");
		tracer = strstr(text, "\nTracerPid:\t");
		if (!state || !tracer || strchr("tT", state[8]) || tracer[12] != '0')
			found = atoi(entry->d_name);
	}
	closedir(dir);
	return found;
}

static bool settles(pid_t pid)
{
	const struct timespec tick = { 0, 5000000 };

	for (int ms = 0; ms < SETTLE_MS; ms += 5) {
		pid_t tid = unsettled(pid);

		if (tid <= 0)
			return tid == 0;
		nanosleep(&tick, NULL);
	}
	return false;
}

static bool is_document(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	json_decref(json);
	return json != NULL;
}

/* What apply tells of each value that it had set, after an error. */
static bool tells_of_value(const char *line, const char *end)
{
	const char *back = strstr(line, ": put back from "), *left = strstr(line, " could not be put back: ");

	return (back && back < end) || (left && left < end);
}

static bool has_one_error(const char *text)
{
	int n = 0;

	for (const char *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		if (!end || strncmp(text, "vhostctl: ", 10))
			return false;
		n += !tells_of_value(text, end);
	}
	return n == 1;
}

/* It is allowed to not know, if it says so: a deadline passed, or the result could not be read or told. */
static bool says_so(const struct run *r)
{
	static const char *const words[] = { "read the value back", " may be ", "write standard output",
					     "out of memory" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(r->err, words[i]))
			return true;
	return WEXITSTATUS(r->status) == 6;
}

/* A thread that ends is still seen for a moment. */
static bool state_becomes(const char *wanted, char *now, size_t size)
{
	const struct timespec tick = { 0, 20000000 };

	for (int ms = 0;; ms += 20) {
		shell(f.state, now, size);
		if (!strcmp(now, wanted))
			return true;
		if (ms >= STATE_MS)
			return false;
		nanosleep(&tick, NULL);
	}
}

/* It may have left something, says what clears that, and that does. */
static bool is_cleared(const struct run *r, char *now, size_t size)
{
	static char ignored[1 << 16];

	if (!f.clear || !strstr(r->err, "clears it") || WEXITSTATUS(r->status) != 6)
		return false;
	shell(f.clear, ignored, sizeof(ignored));
	f.is_reset = state_becomes(f.before, now, size);
	return f.is_reset;
}

static const char *check_state(const struct run *r, bool done)
{
	static char now[1 << 16];
	bool good;

	if (!f.state)
		return NULL;
	/* apply, to which a process that cannot be looked into is none, and which says so. */
	if (done && strstr(r->out, "no VM matches"))
		done = false;
	good = state_becomes(done ? f.after : f.before, now, sizeof(now));
	f.is_reset = !strcmp(now, f.before);
	if (good)
		return NULL;
	if (done)
		return "it says it is done, and it is not";
	if (is_cleared(r, now, sizeof(now))) {
		f.told++;
		return NULL;
	}
	if (strcmp(now, f.after) || !says_so(r))
		return "it failed, and the state is another one";
	f.told++;
	return NULL;
}

/* NULL: all is as it must be. */
static const char *check(const struct run *r)
{
	bool done = WIFEXITED(r->status) && !WEXITSTATUS(r->status);

	for (int i = 0; i < f.n_pids; i++)
		if (!settles(f.pids[i]))
			return "a thread of the VM is stopped or traced, or the VM is gone";
	if (r->hung)
		return "it hangs";
	if (!WIFEXITED(r->status))
		return "a signal ended it";
	if (WEXITSTATUS(r->status) > 6)
		return "no exit status of the contract";
	if (done && !is_document(r->out))
		return "its output is no whole document";
	/* A whole one that tells of the error itself, or that the kernel then says may not have been written. */
	if (!done && *r->out && !(is_document(r->out) && (strstr(r->err, "write standard output") ||
							  strstr(r->out, "\"errors\":[{"))))
		return "it failed, and what it wrote to stdout does not say so";
	if (!done && !has_one_error(r->err))
		return "it failed without one line of error";
	return check_state(r, done);
}

static void report(const struct run *r, const struct site *site, const char *why)
{
	char name[300];

	printf("WRONG %s = %s: %s\n", site_name(site, name, sizeof(name)), errno_name(r->errnum), why);
	printf("  status %#x, stdout %.200s, stderr %.300s\n", (unsigned int)r->status, r->out, r->err);
	fflush(stdout);
}

static void reset(void)
{
	static char ignored[1 << 16];

	if (f.reset && !f.is_reset)
		shell(f.reset, ignored, sizeof(ignored));
	f.is_reset = false;
}

static void run_anew(struct run *r)
{
	reset();
	run_command(f.argv, r);
}

static void fail_once(const struct site *site, int errnum)
{
	static struct run r;
	const char *why;
	int tries = 0;

	r.fail = site;
	r.errnum = errnum;
	r.sites = NULL;
	/* A run is not like another: with a thread that was busy there are more calls, or fewer. */
	do
		run_anew(&r);
	while (!r.reached && ++tries < TRIES);
	f.faults++;
	if (!r.reached) {
		f.missed++;
		return;
	}
	if (WIFEXITED(r.status) && !WEXITSTATUS(r.status))
		f.succeeded++;
	else
		f.failed++;
	why = check(&r);
	if (!why)
		return;
	f.wrong++;
	report(&r, site, why);
}

/* Calls like that one between two places of the run. */
static unsigned int alike(const struct run *r, size_t at, size_t from, size_t to)
{
	unsigned int n = 0;

	for (size_t i = from; i < to; i++) {
		struct site other = r->sites[i];

		other.nth = r->sites[at].nth;
		n += site_equal(&other, &r->sites[at]);
	}
	return n;
}

/* NULL: it went well; else why not. */
static const char *one_first_run(struct run *r)
{
	const struct timespec rest = { 0, 300000000 };	/* until a thread that ends is gone */
	const char *why;

	reset();
	nanosleep(&rest, NULL);
	if (f.state)
		shell(f.state, f.before, sizeof(f.before));
	r->sites = calloc(SITES_MAX, sizeof(*r->sites));
	if (!r->sites)
		die("out of memory");
	run_command(f.argv, r);
	nanosleep(&rest, NULL);
	if (f.state)
		shell(f.state, f.after, sizeof(f.after));
	why = check(r);
	return !why && (!WIFEXITED(r->status) || WEXITSTATUS(r->status)) ? "it fails" : why;
}

/*
 * The run with the fewest calls of some: where a thread of the VM was busy, or a stop had to be made again,
 * there are more, which a later run does not come to. One that fails, traced at each call on a machine that is
 * starved, is told and made again; the last went well, so that the state is known by it.
 */
static void first_run(struct run *best)
{
	for (int good = 0, bad = 0; good < FIRST_RUNS;) {
		static struct run r;
		const char *why = one_first_run(&r);

		if (why && bad++ == FIRST_RUNS_BAD)
			die("without any fault: %s: %s", why, r.err);
		if (why) {
			printf("# without any fault: %s: %s", why, r.err);
		} else if (!good++ || r.n_calls < best->n_calls) {
			free(best->sites);
			*best = r;
			r.sites = NULL;
		}
		free(r.sites);
	}
}

static void all_faults(const struct run *first)
{
	char name[300];
	bool known;

	for (size_t i = 0; i < first->n_sites; i++) {
		const struct site *s = &first->sites[i];
		const int *errnos = site_errnos(s->nr, &known);

		if (!known) {
			printf("WRONG %s: no errnos are known for it\n", site_name(s, name, sizeof(name)));
			f.wrong++;
		}
		if (!errnos || (alike(first, i, 0, i) >= FEW && alike(first, i, i + 1, first->n_sites)))
			continue;
		for (; *errnos; errnos++)
			if (f.turn++ % f.share == 0)
				fail_once(s, *errnos);
	}
}

static unsigned int count_numbers(const struct run *r)
{
	unsigned int n = 0;

	for (size_t i = 0; i < r->n_sites; i++) {
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = r->sites[k].nr == r->sites[i].nr;
		n += !seen;
	}
	return n;
}

int main(int argc, char **argv)
{
	static struct run first;
	int opt;

	while ((opt = getopt(argc, argv, "+p:r:s:c:S:")) != -1) {
		if (opt == 'p' && f.n_pids < PIDS_MAX)
			f.pids[f.n_pids++] = atoi(optarg);
		else if (opt == 'r')
			f.reset = optarg;
		else if (opt == 's')
			f.state = optarg;
		else if (opt == 'c')
			f.clear = optarg;
		else if (opt == 'S' && atoi(optarg) > 0)
			f.share = (unsigned int)atoi(optarg);
		else
			die("usage: faults [-p PID]... [-r RESET] [-s STATE] [-c CLEAR] [-S SHARE] -- COMMAND ARG...");
	}
	if (optind == argc)
		die("no command");
	f.argv = argv + optind;
	/* What the command leaves behind is waited for here. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	first_run(&first);
	all_faults(&first);
	printf("%zu calls of %u system calls, %u faults: %u survived, %u refused (%u when it was done), "
	       "%u not reached, %u wrong\n", first.n_calls, count_numbers(&first), f.faults, f.succeeded, f.failed,
	       f.told, f.missed, f.wrong);
	return f.wrong || !f.faults || f.missed * 5 > f.faults;
}
