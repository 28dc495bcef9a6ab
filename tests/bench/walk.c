// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole host's open files, by one kernel snapshot and by readlink() of all of /proc.
 *   bench_walk [ROUNDS] [FDS]: FDS more files are opened first. Prints rows for table.awk.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "snapshot.h"
#include "util.h"

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *what, double *ms, size_t n, double *of, const char *of_what)
{
	qsort(ms, n, sizeof(*ms), by_value);
	printf("%s\tms\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t\n", what, ms[n / 10], ms[n / 2], ms[n * 9 / 10],
	       ms[n / 2] / of[n / 2], of_what);
}

static size_t readlinks(int proc)
{
	DIR *d = fdopendir(dup(proc));
	struct dirent *e, *f;
	char path[64], link[4096];
	size_t n = 0;

	rewinddir(d);
	while ((e = readdir(d))) {
		DIR *fds;
		int fd;

		if (*e->d_name < '1' || *e->d_name > '9')
			continue;
		snprintf(path, sizeof(path), "%.20s/fd", e->d_name);
		fd = openat(proc, path, O_RDONLY | O_DIRECTORY);
		fds = fd < 0 ? NULL : fdopendir(fd);
		if (!fds)
			continue;
		while ((f = readdir(fds)))
			n += readlinkat(fd, f->d_name, link, sizeof(link)) > 0;
		closedir(fds);
	}
	closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	int fds = argc > 2 ? atoi(argv[2]) : 0, proc = open("/proc", O_RDONLY | O_DIRECTORY);
	struct rlimit limit = { (rlim_t)fds + 1024, (rlim_t)fds + 1024 };
	double *by_snapshot = xcalloc(rounds, sizeof(double)), *by_readlink = xcalloc(rounds, sizeof(double));
	struct error e = ERROR_INIT;

	if (!rounds || setrlimit(RLIMIT_NOFILE, &limit)) {
		perror("bench_walk");
		return 1;
	}
	for (int i = 0; i < fds; i++)
		if (open("/dev/null", O_RDONLY) < 0) {
			perror("bench_walk: open");
			return 1;
		}
	for (size_t i = 0; i < rounds; i++) {
		struct snapshot s;
		double start = now_ms();

		if (snapshot_take(0, &s, &e)) {
			fprintf(stderr, "bench_walk: %s\n", e.message);
			return 1;
		}
		by_snapshot[i] = now_ms() - start;
		snapshot_free(&s);
		start = now_ms();
		if (!readlinks(proc))
			return 1;
		by_readlink[i] = now_ms() - start;
	}
	report("every open file, by snapshot", by_snapshot, rounds, by_snapshot, "itself");
	report("every open file, by readlink", by_readlink, rounds, by_snapshot, "snapshot");
	free(by_snapshot);
	free(by_readlink);
	return 0;
}
