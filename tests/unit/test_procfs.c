// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procfs.h"
#include "state.h"
#include "util.h"

#define REST " S 1 188 188 0 -1 4194560 1 0 0 0 5 6 0 0 20 -5 8 0 777 1000 25 18446744073709551615 " \
	     "1 1 0 0 0 0 0 0 0 0 0 0 17 0 7 2 0 0 0\n"

static int parse(const char *s, struct proc_stat *st)
{
	return proc_parse_stat(s, strlen(s), st);
}

static void stat_plain(void **state)
{
	struct proc_stat st;

	(void)state;
	assert_int_equal(parse("188 (qemu-system-x86)" REST, &st), 0);
	assert_int_equal(st.pid, 188);
	assert_string_equal(st.comm, "qemu-system-x86");
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.ppid, 1);
	assert_int_equal(st.flags, 4194560);
	assert_int_equal(st.nice, -5);
	assert_int_equal(st.start_time, 777);
	assert_int_equal(st.policy, 2);
}

static void stat_hostile_comm(void **state)
{
	struct proc_stat st;

	(void)state;
	assert_int_equal(parse("1 (a) S 2 (b\nc)) ", &st), -1);
	assert_int_equal(parse("7 (x) R 9 9) )" REST, &st), 0);
	assert_string_equal(st.comm, "x) R 9 9) ");
	assert_int_equal(st.ppid, 1);
	assert_int_equal(parse("7 (new\nline\x1b[31m\xff)" REST, &st), 0);
	assert_string_equal(st.comm, "new\nline\x1b[31m\xff");
	assert_int_equal(parse("7 ()" REST, &st), 0);
	assert_string_equal(st.comm, "");
	/* the kernel's own bound is 63 bytes */
	assert_int_equal(parse("7 (0123456789012345678901234567890123456789012345678901234567890123)"
			       REST, &st), -1);
}

static void stat_broken(void **state)
{
	static const char *const bad[] = {
		"", "x", "1", "1 ", "1 (", "1 (a", "1 (a)", "1 (a) ", "1 (a) S", "1 (a) S 1 2",
		"99999999999 (a)" REST, "1(a)" REST, " 1 (a)" REST, "-1 (a)" REST,
		"1 (a) SS 1 188 188 0 -1 1 1 0 0 0 5 6 0 0 20 -5 8 0 777 1 25 1 1 1 0 0 0 0 0 0 0 0 0 0 17 0 7 2",
		"1 (a) S 1 188 188 0 -1 1 1 0 0 0 5 6 0 0 20 -5 8 0 -7 1 25 1 1 1 0 0 0 0 0 0 0 0 0 0 17 0 7 2",
		"1 (a) S 1 188 188 0 -1 x 1 0 0 0 5 6 0 0 20 -5 8 0 7 1 25 1 1 1 0 0 0 0 0 0 0 0 0 0 17 0 7 2",
		"1 (a) S  1 188 188 0 -1 1 1 0 0 0 5 6 0 0 20 -5 8 0 7 1 25 1 1 1 0 0 0 0 0 0 0 0 0 0 17 0 7 2",
	};
	const char *good = "188 (a b)" REST;
	struct proc_stat st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse(bad[i], &st), -1);
	/* cut anywhere before the policy: refused, nothing read past the end */
	for (size_t len = 0; len < (size_t)(strstr(good, " 7 2 0") - good) + 2; len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, good, len);
		assert_int_equal(proc_parse_stat(copy, len, &st), -1);
		free(copy);
	}
}

static void stat_of_self(void **state)
{
	struct proc_stat st;
	char old[16];

	(void)state;
	prctl(PR_GET_NAME, old);
	prctl(PR_SET_NAME, ") R 1 (\n");
	assert_int_equal(proc_read_stat(AT_FDCWD, "/proc/self/stat", &st), 0);
	prctl(PR_SET_NAME, old);
	assert_string_equal(st.comm, ") R 1 (\n");
	assert_int_equal(st.pid, getpid());
	assert_int_equal(st.ppid, getppid());
	assert_true(st.start_time > 0);
	assert_int_equal(st.state, 'R');
}

static void ending(void **state)
{
	int dir, open_end[2];
	char path[32], byte;
	siginfo_t info;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(open_end), 0);
	pid = fork();
	if (!pid) {
		close(open_end[1]);
		_exit((int)read(open_end[0], &byte, 1));
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	assert_false(proc_is_ending(dir));
	close(open_end[1]);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(proc_is_ending(dir));
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
	assert_true(proc_is_ending(dir));
	close(open_end[0]);
	close(dir);
}

static void fields(void **state)
{
	static const char s[] = "Name:\ta\\nPid:\t7\nPid:\t42\nTracerPid:\t0\nSigQ:\t3/4\n"
				"Cpus_allowed_list:\t0-3,8\nEmpty:\t\nflags:\t02100002\n"
				"Big:\t99999999999999999999\nNopid 5\nLast:\t9";
	char *cpus = proc_field_string(s, sizeof(s) - 1, "Cpus_allowed_list");
	char *empty = proc_field_string(s, sizeof(s) - 1, "Empty");

	(void)state;
	assert_string_equal(cpus, "0-3,8");
	assert_string_equal(empty, "");
	free(cpus);
	free(empty);
	assert_int_equal(proc_field_number(s, sizeof(s) - 1, "Pid", 10), 42);
	assert_int_equal(proc_field_number(s, sizeof(s) - 1, "flags", 8), 02100002);
	assert_int_equal(proc_field_number(s, sizeof(s) - 1, "Last", 10), 9);
	assert_true(proc_field_number(s, sizeof(s) - 1, "Empty", 10) == UNKNOWN);
	assert_true(proc_field_number(s, sizeof(s) - 1, "SigQ", 10) == UNKNOWN);
	assert_true(proc_field_number(s, sizeof(s) - 1, "Big", 10) == UNKNOWN);
	assert_true(proc_field_number(s, sizeof(s) - 1, "Nopid", 10) == UNKNOWN);
	assert_null(proc_field_string(s, sizeof(s) - 1, "Cpus_allowed"));
	assert_null(proc_field_string("", 0, "Pid"));
}

static void fdinfo_iff(void **state)
{
	static const char s[] = "pos:\t0\nflags:\t02104002\nmnt_id:\t25\nino:\t9\niff:\ttap\x1b[1m\n";
	char *iff = proc_field_string(s, sizeof(s) - 1, "iff");

	(void)state;
	assert_string_equal(iff, "tap\x1b[1m");
	free(iff);
}

static void cgroup(void **state)
{
	static const char v2[] = "0::/machine.slice/a:b.scope\n";
	static const char hybrid[] = "12:cpu,cpuacct:/x:y\n1:name=systemd:/z\n0::/unified\n";
	static const char v1[] = "12:cpu,cpuacct:/x:y\n1:name=systemd:/z\n";
	char *s;

	(void)state;
	s = proc_parse_cgroup(v2, sizeof(v2) - 1);
	assert_string_equal(s, "/machine.slice/a:b.scope");
	free(s);
	s = proc_parse_cgroup(hybrid, sizeof(hybrid) - 1);
	assert_string_equal(s, "/unified");
	free(s);
	s = proc_parse_cgroup(v1, sizeof(v1) - 1);
	assert_string_equal(s, "/x:y");
	free(s);
	s = proc_parse_cgroup_v2(hybrid, sizeof(hybrid) - 1);
	assert_string_equal(s, "/unified");
	free(s);
	assert_null(proc_parse_cgroup_v2(v1, sizeof(v1) - 1));
	assert_null(proc_parse_cgroup("", 0));
	assert_null(proc_parse_cgroup("garbage\n0:\n", 11));
	s = proc_parse_cgroup_v1(hybrid, sizeof(hybrid) - 1, "cpuacct");
	assert_string_equal(s, "/x:y");
	free(s);
	assert_null(proc_parse_cgroup_v1(hybrid, sizeof(hybrid) - 1, "cpuset"));
	assert_null(proc_parse_cgroup_v1(hybrid, sizeof(hybrid) - 1, "cpuac"));
	assert_null(proc_parse_cgroup_v1(v2, sizeof(v2) - 1, "cpuset"));
}

static void maps(void **state)
{
	struct proc_map m;
	const char *exec = "7f0000001000-7f0000002000 r-xp 00026000 fe:01 1234   /lib/a b (deleted)";
	const char *anon = "7f00-7f01 rw-s 00000000 00:00 0 ";
	static const char *const bad[] = {
		"", "7f00", "7f00-", "7f01-7f00 r-xp 0 0:0 0", "7f00-7f01 zzzz 0 0:0 0",
		"7f00-7f01 r-xp", "7f00-7f01 r-xp 0 0 0", "7f00-7f01 r-x 0 0:0 0",
		"10000000000000000-10000000000000001 r-xp 0 0:0 0",
	};

	(void)state;
	assert_int_equal(proc_parse_map(exec, strlen(exec), &m), 0);
	assert_true(m.start == 0x7f0000001000 && m.end == 0x7f0000002000 && m.offset == 0x26000);
	assert_true(m.read && !m.write && m.exec && !m.shared && m.inode == 1234);
	assert_int_equal(m.path_len, strlen("/lib/a b (deleted)"));
	assert_memory_equal(m.path, "/lib/a b (deleted)", m.path_len);
	assert_int_equal(proc_parse_map(anon, strlen(anon), &m), 0);
	assert_true(m.write && m.shared && m.path_len == 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(proc_parse_map(bad[i], strlen(bad[i]), &m), -1);
}

static void maps_of_self(void **state)
{
	_cleanup_proc_text_ struct proc_text text;
	size_t pos = 0, len, stacks = 0;
	const char *line;
	struct proc_map m;

	(void)state;
	assert_int_equal(proc_read(AT_FDCWD, "/proc/self/maps", 1 << 20, &text), 0);
	while ((line = proc_next_line(text.data, text.len, &pos, &len))) {
		assert_int_equal(proc_parse_map(line, len, &m), 0);
		if (m.path_len == 7 && !memcmp(m.path, "[stack]", 7))
			stacks++;
	}
	assert_int_equal(stacks, 1);
}

static void small_ones(void **state)
{
	int64_t run = UNKNOWN, wait = UNKNOWN;
	uint64_t v;

	(void)state;
	assert_int_equal(proc_parse_schedstat("x", 1, &run, &wait), -1);
	assert_int_equal(proc_parse_schedstat("", 0, &run, &wait), -1);
	assert_int_equal(proc_parse_schedstat("123\n", 4, &run, &wait), -1);
	assert_int_equal(proc_parse_schedstat("123 9223372036854775808 5\n", 26, &run, &wait), -1);
	assert_true(run == UNKNOWN && wait == UNKNOWN);
	assert_int_equal(proc_parse_schedstat("123 4 5\n", 8, &run, &wait), 0);
	assert_true(run == 123 && wait == 4);
	assert_int_equal(proc_parse_ns("net:[4026531840]"), 4026531840);
	assert_true(proc_parse_ns("net:[40265x]") == UNKNOWN);
	assert_true(proc_parse_ns("/etc/passwd") == UNKNOWN);
	assert_string_equal(proc_policy_name(0), "other");
	assert_string_equal(proc_policy_name(6), "deadline");
	assert_string_equal(proc_policy_name(99), "");
	assert_true(proc_number("255", 3, 255, &v) && v == 255);
	assert_false(proc_number("256", 3, 255, &v));
	assert_true(proc_number("18446744073709551615", 20, UINT64_MAX, &v) && v == UINT64_MAX);
	assert_false(proc_number("18446744073709551616", 20, UINT64_MAX, &v));
	assert_false(proc_number("", 0, 9, &v));
	assert_false(proc_number("+1", 2, 9, &v));
}

static void reading_is_bounded(void **state)
{
	char path[] = "/tmp/vhostctl-test-XXXXXX";
	int fd = mkstemp(path);
	struct proc_text text;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 10000), 0);
	assert_int_equal(proc_read(AT_FDCWD, path, 9999, &text), 0);
	assert_true(text.truncated && text.len == 9999);
	free(text.data);
	assert_int_equal(proc_read(AT_FDCWD, path, 10000, &text), 0);
	assert_true(!text.truncated && text.len == 10000);
	free(text.data);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(proc_read(AT_FDCWD, path, 10, &text), 0);
	assert_true(!text.truncated && text.len == 0 && text.data[0] == '\0');
	free(text.data);
	unlink(path);
	close(fd);
	assert_int_equal(proc_read(AT_FDCWD, path, 10, &text), -1);
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_plain),
		cmocka_unit_test(stat_hostile_comm),
		cmocka_unit_test(stat_broken),
		cmocka_unit_test(stat_of_self),
		cmocka_unit_test(ending),
		cmocka_unit_test(fields),
		cmocka_unit_test(fdinfo_iff),
		cmocka_unit_test(cgroup),
		cmocka_unit_test(maps),
		cmocka_unit_test(maps_of_self),
		cmocka_unit_test(small_ones),
		cmocka_unit_test(reading_is_bounded),
	};

	return cmocka_run_group_tests_name("procfs", tests, NULL, NULL);
}
