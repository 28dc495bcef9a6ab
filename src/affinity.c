// SPDX-License-Identifier: GPL-2.0-or-later
#include "affinity.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include "procfs.h"
#include "threads.h"
#include "util.h"

#define CPUS_MAX 8192		/* NR_CPUS of the largest configurations */
#define TEXT_MAX 65536

static const char *const operation = "set the worker's cpus";

/* A list of cpus in a file of the kernel; false when it cannot be read. */
static bool read_list(int dirfd, const char *path, struct ranges *cpus)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	struct error ignored = ERROR_INIT;

	if (proc_read(dirfd, path, TEXT_MAX, &text) < 0)
		return false;
	text.data[strcspn(text.data, "\n")] = '\0';
	return ranges_parse(text.data, cpus, &ignored) == 0;
}

static bool includes(const struct ranges *all, const struct ranges *some, uint32_t *missing)
{
	for (size_t i = 0; i < some->n; i++)
		for (uint64_t cpu = some->items[i].first; cpu <= some->items[i].last; cpu++)
			if (!ranges_contain(all, (uint32_t)cpu)) {
				*missing = (uint32_t)cpu;
				return false;
			}
	return true;
}

int affinity_parse(const char *text, struct ranges *cpus, struct error *e)
{
	struct ranges online = { 0 };
	uint32_t missing;
	int ret = 0;

	if (ranges_parse(text, cpus, e) < 0)
		return error_set(e, STATUS_USAGE, 0, operation,
				 "'%s' is no list of cpus; give one like 0-3,7", text);
	if (read_list(AT_FDCWD, "/sys/devices/system/cpu/online", &online) &&
	    !includes(&online, cpus, &missing)) {
		_cleanup_free_ char *have = ranges_text(&online);

		ret = error_set(e, STATUS_NOT_FOUND, 0, operation,
				"this host has no cpu %u online; it has %s", missing, have);
		ranges_free(cpus);
	}
	ranges_free(&online);
	return ret;
}

static bool read_cpuset_file(const char *root, const char *cgroup, const char *file, struct ranges *cpus)
{
	_cleanup_free_ char *path = xasprintf("/sys/fs/cgroup%s%s/%s", root, cgroup, file);

	return read_list(AT_FDCWD, path, cpus);
}

/* Of the first version's hierarchy where that one has cpusets, else of the second's, wherever it is. */
static bool read_cpuset(int proc_fd, struct ranges *cpus)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	_cleanup_free_ char *v1 = NULL, *v2 = NULL;

	if (proc_read(proc_fd, "cgroup", TEXT_MAX, &text) < 0)
		return false;
	v1 = proc_parse_cgroup_v1(text.data, text.len, "cpuset");
	if (v1)
		return read_cpuset_file("/cpuset", v1, "cpuset.effective_cpus", cpus);
	v2 = proc_parse_cgroup(text.data, text.len);
	return v2 && (read_cpuset_file("", v2, "cpuset.cpus.effective", cpus) ||
		      read_cpuset_file("/unified", v2, "cpuset.cpus.effective", cpus));
}

int affinity_check_cpuset(int proc_fd, const struct ranges *cpus, struct error *e)
{
	struct ranges set = { 0 };
	uint32_t missing;
	int ret = 0;

	/* Without a cpuset, or where it cannot be read, the read-back after the call decides. */
	if (!read_cpuset(proc_fd, &set))
		return 0;
	if (!includes(&set, cpus, &missing)) {
		_cleanup_free_ char *have = ranges_text(&set);

		ret = error_set(e, STATUS_FAILED, 0, operation,
				"cpu %u is outside of the cpuset of its cgroup, which is %s; "
				"choose among those, or widen cpuset.cpus first", missing, have);
	}
	ranges_free(&set);
	return ret;
}

int affinity_get(pid_t tid, struct ranges *cpus, struct error *e)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	int ret = 0;

	*cpus = (struct ranges){ 0 };
	if (!set)
		return error_errno(e, ENOMEM, operation, NULL);
	if (sched_getaffinity(tid, size, set) < 0)
		ret = error_errno(e, errno, operation, NULL);
	for (uint32_t cpu = 0; ret == 0 && cpu < CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			ranges_add(cpus, cpu, cpu);
	CPU_FREE(set);
	return ret;
}

static int set_affinity(pid_t tid, const struct ranges *cpus, struct error *e)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	int ret = 0;

	if (!set)
		return error_errno(e, ENOMEM, operation, NULL);
	CPU_ZERO_S(size, set);
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		if (ranges_contain(cpus, cpu))
			CPU_SET_S(cpu, size, set);
	if (sched_setaffinity(tid, size, set) < 0)
		ret = errno == EINVAL
			? error_set(e, STATUS_FAILED, EINVAL, operation,
				    "none of these cpus is online and in the cpuset of the thread's cgroup")
			: error_errno(e, errno, operation,
				      errno == EPERM ? "run as root, or with CAP_SYS_NICE" : NULL);
	CPU_FREE(set);
	return ret;
}

/* Is @tid still the thread that was meant? Its number may have come to mean another. */
static bool started_at(pid_t tid, uint64_t start_time)
{
	uint64_t now;

	return thread_start_time(tid, &now) && now == start_time;
}

int affinity_set(pid_t tid, uint64_t start_time, const struct ranges *cpus, struct error *e)
{
	struct ranges before = { 0 }, after = { 0 };
	struct error second = ERROR_INIT;
	int ret;

	if (!started_at(tid, start_time))
		return error_set(e, STATUS_NOT_FOUND, ESRCH, operation, "thread %d is gone", (int)tid);
	if (affinity_get(tid, &before, e) < 0)
		return -1;
	ret = set_affinity(tid, cpus, e);
	if (ret == 0)
		ret = affinity_get(tid, &after, e);
	if (ret == 0 && !ranges_equal(cpus, &after)) {
		_cleanup_free_ char *got = ranges_text(&after);

		/* The kernel leaves out what the cpuset does not allow, without a word. */
		ret = error_set(e, STATUS_FAILED, 0, operation,
				"the kernel allows only %s of these (the cpuset of the thread's "
				"cgroup, or cpus that are offline); the old cpus were put back", got);
		if (set_affinity(tid, &before, &second) < 0)
			error_set(e, STATUS_ROLLBACK, 0, operation,
				  "the kernel allows only %s of these, and putting the old cpus "
				  "back failed: %s",
				  got, second.message);
	}
	ranges_free(&before);
	ranges_free(&after);
	return ret;
}
