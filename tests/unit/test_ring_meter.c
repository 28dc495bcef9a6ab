// SPDX-License-Identifier: GPL-2.0-or-later
#include "ring_meter.h"
#include "state.h"
#include "unit.h"

#define MS 1000000LL

/* One look: at @ms, the index, and the worker's CPU time. */
static void look(struct ring_meter *m, int64_t ms, unsigned int used, int64_t cpu_ms)
{
	ring_meter_look(m, &(struct ring_look){ .id = 1, .used_idx = (uint16_t)used, .at_ns = ms * MS,
						.worker_tid = 7, .worker_cpu_ns = cpu_ms * MS });
}

static void test_short_gaps_are_certain(void **state)
{
	struct ring_meter m = RING_METER_INIT;
	struct ring_total from;

	(void)state;
	look(&m, 0, 65000, 0);
	from = m.total;
	look(&m, 10, 1000, 10);
	look(&m, 20, 31000, 20);
	assert_int_equal(ring_entries(&from, &m.total, 0, -1), 1536 + 30000);
}

static void test_a_worker_that_hardly_ran_moved_little(void **state)
{
	struct ring_meter m = RING_METER_INIT;
	struct ring_total from;

	(void)state;
	look(&m, 0, 10, 0);
	from = m.total;
	look(&m, 1000, 2010, 5);
	assert_int_equal(ring_entries(&from, &m.total, 0, -1), 2000);
	/* as long, but it ran */
	look(&m, 2000, 4010, 505);
	assert_int_equal(ring_entries(&from, &m.total, 0, -1), -1);
}

static void test_another_worker_is_no_bound(void **state)
{
	struct ring_meter m = RING_METER_INIT;
	struct ring_total from;

	(void)state;
	look(&m, 0, 10, 0);
	from = m.total;
	ring_meter_look(&m, &(struct ring_look){ .id = 1, .used_idx = 20, .at_ns = 100 * MS,
						 .worker_tid = 8, .worker_cpu_ns = 0 });
	assert_int_equal(ring_entries(&from, &m.total, 0, -1), -1);
	ring_meter_look(&m, &(struct ring_look){ .id = 1, .used_idx = 30, .at_ns = 200 * MS,
						 .worker_tid = UNKNOWN, .worker_cpu_ns = UNKNOWN });
	assert_int_equal(m.total.doubts, 2);
}

static void test_a_doubt_is_settled_by_what_was_carried(void **state)
{
	struct ring_total from = { .entries = 0, .at_ns = 0 };
	struct ring_total to = { .entries = 1000, .doubts = 3, .at_ns = MS };

	(void)state;
	assert_int_equal(ring_entries(&from, &to, 900, 1100), 1000);
	assert_int_equal(ring_entries(&from, &to, 132000, 132200), 1000 + 2 * 65536);
	/* none fits; two fit */
	assert_int_equal(ring_entries(&from, &to, 30000, 40000), -1);
	assert_int_equal(ring_entries(&from, &to, 900, 70000), -1);
}

static void test_another_ring_in_its_place(void **state)
{
	struct ring_meter m = RING_METER_INIT;
	struct ring_total from;

	(void)state;
	look(&m, 0, 10, 0);
	from = m.total;
	ring_meter_look(&m, &(struct ring_look){ .id = 2, .used_idx = 20, .at_ns = 1 * MS,
						 .worker_tid = 7, .worker_cpu_ns = 0 });
	assert_int_equal(ring_entries(&from, &m.total, 0, -1), -1);
}

/* A guest that reboots begins at 0, which looks like most of the way round. */
static void test_an_index_set_back(void **state)
{
	struct ring_meter m = RING_METER_INIT;
	struct ring_total from;

	(void)state;
	look(&m, 0, 5000, 0);
	from = m.total;
	look(&m, 10, 0, 0);
	assert_int_equal(ring_entries(&from, &m.total, 0, -1), -1);
	from = m.total;
	look(&m, 20, 7, 0);
	assert_int_equal(ring_entries(&from, &m.total, 0, -1), 7);
}

static void test_never_looked_at(void **state)
{
	struct ring_meter m = RING_METER_INIT;

	(void)state;
	assert_int_equal(ring_entries(&m.total, &m.total, 0, -1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_gaps_are_certain),
		cmocka_unit_test(test_a_worker_that_hardly_ran_moved_little),
		cmocka_unit_test(test_another_worker_is_no_bound),
		cmocka_unit_test(test_a_doubt_is_settled_by_what_was_carried),
		cmocka_unit_test(test_another_ring_in_its_place),
		cmocka_unit_test(test_an_index_set_back),
		cmocka_unit_test(test_never_looked_at),
	};

	return cmocka_run_group_tests_name("ring_meter", tests, NULL, NULL);
}
