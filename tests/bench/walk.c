// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole host's open files, by one kernel snapshot and by readlink() of all of /proc: best and median
 * of some rounds, in milliseconds.   bench_walk [ROUNDS] [FDS]: FDS more files are opened first.
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

static void report(const char *what, double *ms, size_t n, size_t found)
{
	qsort(ms, n, sizeof(*ms), by_value);
	printf("%-24s best %8.2f ms  median %8.2f ms  (%zu)\n", what, ms[0], ms[n / 2], found);
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
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20, found = 0;
	int fds = argc > 2 ? atoi(argv[2]) : 0, proc = open("/proc", O_RDONLY | O_DIRECTORY);
	struct rlimit limit = { (rlim_t)fds + 1024, (rlim_t)fds + 1024 };
	double *ms = xcalloc(rounds, sizeof(*ms));
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
		ms[i] = now_ms() - start;
		found = s.n_devices + s.n_taps;
		snapshot_free(&s);
	}
	report("snapshot, all of it", ms, rounds, found);
	for (size_t i = 0; i < rounds; i++) {
		double start = now_ms();

		found = readlinks(proc);
		ms[i] = now_ms() - start;
	}
	report("readlink of every fd", ms, rounds, found);
	free(ms);
	return 0;
}
