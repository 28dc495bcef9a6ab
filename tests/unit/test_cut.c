// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include "cut.h"
#include "samples.h"

/* Eight queues; queue 6 is worker 3's, the others the default one's. */
static struct device *make(struct state *s)
{
	struct device *d = sample_device(sample_vm(s, "vm1"), "scsi0", DEVICE_SCSI, 5, "/dev/vhost-scsi");

	for (unsigned int i = 0; i < 8; i++)
		sample_queue(d, UNKNOWN, i == 6 ? 3 : 0, UNKNOWN);
	return d;
}

/* The rows that are left, "0 1 6". */
static void assert_left(struct state *s, struct device *d, const char *want)
{
	char left[64] = "";

	device_hide_unused(d);
	for (size_t i = 0; i < d->n_queues; i++)
		sprintf(left + strlen(left), "%s%u", i ? " " : "", d->queues[i].index);
	assert_string_equal(left, want);
	state_free(s);
}

static void test_as_the_snapshot_tells(void **state)
{
	struct state s = { 0 };
	struct device *d = make(&s);

	(void)state;
	for (size_t i = 0; i < d->n_queues; i++)
		d->queues[i].ring = (struct ring){ .known = true, .set_up = i == 2 };
	d->vmm_queues = 5;
	assert_left(&s, d, "2 6");
}

static void test_as_the_command_line_tells(void **state)
{
	struct state s = { 0 };
	struct device *d = make(&s);

	(void)state;
	d->vmm_queues = 3;
	assert_left(&s, d, "0 1 2 6");
}

static void test_items_of_one_vm(void **state)
{
	struct vm a = { 0 }, b = { 0 };
	struct device d[2] = { 0 };
	struct selected items[] = { { .vm = &a, .device = &d[0] }, { .vm = &b }, { .vm = &a, .device = &d[1] } };
	struct selection sel = { items, 3 };

	(void)state;
	assert_true(selection_begins_vm(&sel, 0) && selection_begins_vm(&sel, 1));
	assert_false(selection_begins_vm(&sel, 2));
}

static void test_never_a_guess(void **state)
{
	struct state s = { 0 };

	(void)state;
	assert_left(&s, make(&s), "0 1 2 3 4 5 6 7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_snapshot_tells),
		cmocka_unit_test(test_as_the_command_line_tells),
		cmocka_unit_test(test_never_a_guess),
		cmocka_unit_test(test_items_of_one_vm),
	};

	return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
