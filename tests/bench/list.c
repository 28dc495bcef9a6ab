// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "vhostctl list" beside a bare loop of the same system calls, lsfd and lsof, on a number of processes
 * with a number of files each. All are programs started anew, interleaved, their output thrown away.
 *
 *   list VHOSTCTL ROUNDS FDS PROCESSES…    the peers run in the round of 1,000 processes only
 *   list --floor                           the loop itself
 *   list --time COMMAND ARG…               one run of anything: milliseconds, and peak memory in KiB
 *
 * Prints rows for table.awk.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 200
#define PEERS_AT 1000

extern char **environ;

struct series {
	const char *name;
	char *const *argv;
	double ms[ROUNDS_MAX];
	int n;
	long peak_kib;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* One process's files; what a scan asks of each. */
static void floor_files(int proc, const char *pid)
{
	char path[64], buf[32768];
	ssize_t got;
	int dir;

	snprintf(path, sizeof(path), "%.20s/fd", pid);
	dir = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	while ((got = getdents64(dir, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at < got;) {
			struct dirent64 *entry = (struct dirent64 *)(void *)(buf + at);
			struct statx sx;

			at += entry->d_reclen;
			if (*entry->d_name != '.')
				statx(dir, entry->d_name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
				      STATX_TYPE, &sx);
		}
	close(dir);
}

static int floor_loop(void)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char buf[32768];
	ssize_t got;

	if (proc < 0)
		die("/proc");
	while ((got = getdents64(proc, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at < got;) {
			struct dirent64 *entry = (struct dirent64 *)(void *)(buf + at);

			at += entry->d_reclen;
			if (*entry->d_name >= '1' && *entry->d_name <= '9')
				floor_files(proc, entry->d_name);
		}
	return 0;
}

/* What processes have open: half of it regular files, the rest of every other kind. */
static void open_files(int n)
{
	int fd[2];

	for (int i = 0; i < n; i++) {
		bool ok;

		switch (i % 10) {
		case 0: ok = open("/dev/null", O_RDWR) >= 0; break;
		case 1: ok = eventfd(0, 0) >= 0; break;
		case 2: ok = socket(AF_UNIX, SOCK_STREAM, 0) >= 0; break;
		case 3: ok = ++i < n ? pipe(fd) == 0 : dup(0) >= 0; break;
		default: ok = open("/proc/self/exe", O_RDONLY) >= 0; break;
		}
		if (!ok)
			die("open files");
	}
}

static pid_t start_process(int files)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		closefrom(ready[1] + 1);
		close(ready[0]);
		/* The three that every process has, and the pipe. */
		open_files(files - 3);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		fprintf(stderr, "list: a process did not start\n");
		exit(1);
	}
	close(ready[0]);
	return pid;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void run(struct series *s)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	double start = now_ms();
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, s->argv[0], &actions, NULL, s->argv, environ))
		die(s->argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	if (wait4(pid, &status, 0, &usage) != pid)
		die("wait4");
	/* lsof ends with 1 when it could not read something of a process. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
		fprintf(stderr, "list: %s failed\n", s->name);
		exit(1);
	}
	s->ms[s->n++] = now_ms() - start;
	if (usage.ru_maxrss > s->peak_kib)
		s->peak_kib = usage.ru_maxrss;
}

static int time_one(char *const argv[])
{
	static struct series s;

	s = (struct series){ .name = argv[0], .argv = argv };
	run(&s);
	printf("%.3f %ld\n", s.ms[0], s.peak_kib);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double percentile(const double *values, int n, int percent)
{
	double sorted[ROUNDS_MAX];

	memcpy(sorted, values, (size_t)n * sizeof(*values));
	qsort(sorted, (size_t)n, sizeof(*sorted), by_value);
	return sorted[(n - 1) * percent / 100];
}

/* The median of what it is in each round: a busy machine slows both of a round. */
static double ratio(const struct series *s, const struct series *of)
{
	int n = s->n < of->n ? s->n : of->n;
	double ratios[ROUNDS_MAX];

	for (int i = 0; i < n; i++)
		ratios[i] = s->ms[i] / of->ms[i];
	return percentile(ratios, n, 50);
}

static void row(const struct series *s, int processes, const struct series *of, const char *goal)
{
	printf("%s, %d processes\tms\t%.3f\t%.3f\t%.3f\t%.2f\t%s\t%s\n", s->name, processes,
	       percentile(s->ms, s->n, 10), percentile(s->ms, s->n, 50), percentile(s->ms, s->n, 90),
	       ratio(s, of), of->name, goal);
}

/* *per_process: ms of list for one of PEERS_AT processes, once that was measured. */
static void measure(char *vhostctl, char *self, int rounds, int processes, double *per_process)
{
	char *const list_argv[] = { vhostctl, (char *)"list", NULL };
	char *const floor_argv[] = { self, (char *)"--floor", NULL };
	char *const lsfd_argv[] = { (char *)"lsfd", NULL };
	char *const lsof_argv[] = { (char *)"lsof", (char *)"-nP", NULL };
	static struct series floor, list, lsfd, lsof;
	bool peers = processes == PEERS_AT;
	double now;

	floor = (struct series){ .name = "bare loop", .argv = floor_argv };
	list = (struct series){ .name = "vhostctl list", .argv = list_argv };
	lsfd = (struct series){ .name = "lsfd", .argv = lsfd_argv };
	lsof = (struct series){ .name = "lsof -nP", .argv = lsof_argv };
	for (int i = 0; i < rounds; i++) {
		run(&floor);
		run(&list);
		/* They take seconds: a few rounds tell their order of magnitude. */
		if (peers && i < (rounds + 3) / 4) {
			run(&lsfd);
			run(&lsof);
		}
	}
	now = percentile(list.ms, list.n, 50) / processes;
	row(&floor, processes, &floor, "");
	row(&list, processes, &floor, peers ? "<=1.3" : "");
	if (peers) {
		row(&lsfd, processes, &list, ">=5");
		row(&lsof, processes, &list, "");
	}
	printf("vhostctl list, peak memory, %d processes\tMiB\t\t%.1f\t\t%.1f\tone MiB\t<=16\n", processes,
	       (double)list.peak_kib / 1024, (double)list.peak_kib / 1024);
	if (*per_process > 0 && processes > PEERS_AT)
		printf("vhostctl list, one of %d processes\tus\t\t%.1f\t\t%.2f\tone of %d\t<=1.3\n",
		       processes, now * 1e3, now / *per_process, PEERS_AT);
	if (peers)
		*per_process = now;
}

int main(int argc, char **argv)
{
	double per_process = 0;
	int rounds, fds, running = 0;

	if (argc == 2 && !strcmp(argv[1], "--floor"))
		return floor_loop();
	if (argc > 2 && !strcmp(argv[1], "--time"))
		return time_one(argv + 2);
	if (argc < 5 || (rounds = atoi(argv[2])) < 1 || rounds > ROUNDS_MAX || (fds = atoi(argv[3])) < 4) {
		fprintf(stderr, "usage: list VHOSTCTL ROUNDS FDS PROCESSES...\n");
		return 2;
	}
	for (int i = 4; i < argc; i++) {
		for (; running < atoi(argv[i]); running++)
			start_process(fds);
		measure(argv[1], argv[0], running > PEERS_AT ? (rounds + 3) / 4 : rounds, running,
			&per_process);
		fflush(stdout);
	}
	return 0; /* which ends the processes, too */
}
