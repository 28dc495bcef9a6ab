// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include "idle.h"
#include "samples.h"

/* net0 and a scsi0 with workers 0 and 1, and @threads threads in all. */
static struct state make(size_t threads)
{
	struct state s = { 0 };
	struct vm *vm = sample_vm(&s, "vm1");
	struct device *d;

	sample_device(vm, "net0", DEVICE_NET, 5, NULL);
	d = sample_device(vm, "scsi0", DEVICE_SCSI, 6, NULL);
	for (int64_t id = 0; id < 2; id++) {
		struct worker *w = ARRAY_ADD(d->workers, d->n_workers);

		sample_queue(d, UNKNOWN, id, UNKNOWN);
		*w = (struct worker){ .id = id, .tid = UNKNOWN };
		*ARRAY_ADD(w->queues, w->n_queues) = (unsigned int)id;
	}
	d->workers_known = true;
	for (size_t i = 0; i < threads; i++)
		sample_worker(ARRAY_ADD(vm->threads, vm->n_threads), UNKNOWN, 200 + (int64_t)i, "vhost-188");
	return s;
}

static size_t idle(struct state *s)
{
	const struct device *d = &s->vms[0].devices[1];
	size_t n = 0;

	idle_find(&s->vms[0]);
	for (size_t i = 0; i < d->n_workers; i++)
		n += d->workers[i].queues && !d->workers[i].n_queues && d->workers[i].id == UNKNOWN;
	return n;
}

static void assert_idle(struct state s, size_t n)
{
	assert_int_equal(idle(&s), n);
	state_free(&s);
}

static void test_what_no_queue_accounts_for(void **state)
{
	(void)state;
	assert_idle(make(3), 0);
	assert_idle(make(5), 2);
	assert_idle(make(2), 0);
}

static void test_never_a_guess(void **state)
{
	struct state s = make(5);

	(void)state;
	/* Whose are they, of two devices that can have more than one? */
	sample_device(&s.vms[0], "scsi1", DEVICE_SCSI, 7, NULL)->workers_known = true;
	assert_idle(s, 0);
	/* Its map could not be read. */
	s = make(5);
	s.vms[0].devices[1].workers_known = false;
	assert_idle(s, 0);
	/* Another process may be the owner. */
	s = make(5);
	*ARRAY_ADD(s.vms[0].devices[0].holders, s.vms[0].devices[0].n_holders) = 77;
	assert_idle(s, 0);
	/* Kernel threads are found by a name that is not theirs alone. */
	s = make(5);
	s.vms[0].threads[0].mode = WORKER_MODE_KTHREAD;
	assert_idle(s, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_no_queue_accounts_for),
		cmocka_unit_test(test_never_a_guess),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
