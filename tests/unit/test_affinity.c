// SPDX-License-Identifier: GPL-2.0-or-later
/* On a thread of our own: the kernel is the real one. */
#include "unit.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "affinity.h"
#include "procfs.h"
#include "util.h"

static uint64_t start_time(void)
{
	struct proc_stat st;

	assert_int_equal(proc_read_stat(AT_FDCWD, "/proc/self/stat", &st), 0);
	return st.start_time;
}

static void test_set_and_read_back(void **state)
{
	struct ranges all, one = { 0 }, now;
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(affinity_get(getpid(), &all, &e), 0);
	ranges_add(&one, all.items[0].first, all.items[0].first);
	assert_int_equal(affinity_set(getpid(), start_time(), &one, &e), 0);
	assert_int_equal(sched_getcpu(), all.items[0].first);
	assert_int_equal(affinity_get(getpid(), &now, &e), 0);
	assert_int_equal(ranges_count(&now), 1);
	ranges_free(&now);
	assert_int_equal(affinity_set(getpid(), start_time(), &all, &e), 0);
	ranges_free(&all);
	ranges_free(&one);
}

/* The kernel takes what it allows of a set and says nothing: that is a failure, and put back. */
static void test_partly_allowed(void **state)
{
	struct ranges all, some, now;
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(affinity_get(getpid(), &all, &e), 0);
	some = (struct ranges){ 0 };
	ranges_add(&some, all.items[0].first, all.items[0].first);
	ranges_add(&some, 8000, 8000);
	assert_int_equal(affinity_set(getpid(), start_time(), &some, &e), -1);
	assert_int_equal(e.status, STATUS_FAILED);
	assert_int_equal(affinity_get(getpid(), &now, &e), 0);
	assert_int_equal(ranges_count(&now), ranges_count(&all));
	ranges_free(&all);
	ranges_free(&some);
	ranges_free(&now);
}

static void test_refusals(void **state)
{
	struct error e = ERROR_INIT;
	struct ranges r = { 0 };

	(void)state;
	assert_int_equal(affinity_parse("0,8191", &r, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_int_equal(affinity_parse("x", &r, &e), -1);
	assert_int_equal(e.status, STATUS_USAGE);
	/* A number that has come to mean another thread. */
	ranges_add(&r, 0, 0);
	assert_int_equal(affinity_set(getpid(), start_time() + 1, &r, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	ranges_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_and_read_back),
		cmocka_unit_test(test_partly_allowed),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("affinity", tests, NULL, NULL);
}
