// SPDX-License-Identifier: GPL-2.0-or-later
/* From the stream of records to the model: what is whole, what is stale, which tap is whose. */
#include <string.h>
#include <sys/prctl.h>

#include "snapshot.h"
#include "unit.h"
#include "util.h"

#define FD_NET 8
#define PID 4000

static char stream[1 << 16];
static size_t stream_len;

static void put(const void *record, size_t size)
{
	assert_true(stream_len + size <= sizeof(stream));
	memcpy(stream + stream_len, record, size);
	stream_len += size;
}

static struct snap_device device(__u32 kind, int fd, __u32 n_queues, __u32 n_ids)
{
	return (struct snap_device){
		.r = { SNAP_REC_DEVICE, sizeof(struct snap_device) }, .kind = kind, .pid = PID, .fd = fd,
		.flags = SNAP_OWNED, .n_queues = n_queues, .n_worker_ids = n_ids, .owner_pid = PID,
		.fork_owner = SNAP_ABSENT, .id_file = 100 + (__u64)fd, .id_dev = 200 + (__u64)fd,
		.features = 5,
	};
}

static void put_device(__u32 kind, int fd, __u32 n_queues)
{
	struct snap_device d = device(kind, fd, n_queues, 1);

	put(&d, sizeof(d));
}

static struct snap_netdev netdev(__u64 file, __u32 ifindex, __u32 netns, const char *name)
{
	struct snap_netdev n = { .id_file = file, .ifindex = ifindex, .netns = netns };

	snprintf(n.name, sizeof(n.name), "%s", name);
	return n;
}

static const struct snap_netdev none;

static void put_queue(__u32 index, __u32 flags, struct snap_netdev tap)
{
	struct snap_queue q = {
		.r = { SNAP_REC_QUEUE, sizeof(q) }, .index = index, .flags = flags, .num = 256,
		.busyloop = 33, .avail_idx = 2, .last_avail_idx = 65535, .last_used_idx = 65534,
		.worker_id = 0, .worker_tid = SNAP_ABSENT, .upend_idx = 3, .done_idx = 1023, .tap = tap,
	};

	put(&q, sizeof(q));
}

static void put_net(int fd, struct snap_netdev tap)
{
	put_device(SNAP_NET, fd, 2);
	put_queue(0, SNAP_RING | (tap.id_file ? SNAP_BACKEND : 0), tap);
	put_queue(1, SNAP_RING | (tap.id_file ? SNAP_BACKEND : 0), tap);
}

static void put_worker(__u32 id, int tid)
{
	struct snap_worker w = { .r = { SNAP_REC_WORKER, sizeof(w) }, .id = id, .tid = tid, .attached = 2 };

	put(&w, sizeof(w));
}

static void put_tap(int fd, struct snap_netdev dev)
{
	struct snap_tap t = { .r = { SNAP_REC_TAP, sizeof(t) }, .kind = SNAP_TUN, .pid = PID, .fd = fd,
			      .n_attached = 2, .n_detached = 1, .rx_batched = 64, .dev = dev };

	put(&t, sizeof(t));
}

static struct snapshot parsed(void)
{
	struct snapshot s = { .zcopytx = 1 };

	assert_int_equal(snapshot_parse(&s, stream, stream_len), 0);
	stream_len = 0;
	return s;
}

static void add_device(struct vm *vm, enum device_kind kind, int fd)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->kind = kind;
	d->fd = fd;
}

static void add_tap(struct vm *vm, const char *ifname, int fd, int fd2)
{
	struct tap *t = ARRAY_ADD(vm->taps, vm->n_taps);

	snprintf(t->ifname, sizeof(t->ifname), "%s", ifname);
	tap_init(t);
	*ARRAY_ADD(t->fds, t->n_fds) = fd;
	if (fd2)
		*ARRAY_ADD(t->fds, t->n_fds) = fd2;
}

static void merge(struct vm *vm)
{
	struct snapshot s = parsed();

	snapshot_merge(&s, vm);
	snapshot_free(&s);
}

static void not_records(void **state)
{
	struct snapshot s = { 0 };
	struct snap_record r = { SNAP_REC_QUEUE, sizeof(struct snap_device) };
	struct snap_device d = device(SNAP_NET, FD_NET, 2, 1);

	(void)state;
	assert_int_equal(snapshot_parse(&s, &d, 4), -1);
	assert_int_equal(snapshot_parse(&s, &d, sizeof(d) - 1), -1);
	assert_int_equal(snapshot_parse(&s, &r, sizeof(r)), -1);
	r = (struct snap_record){ 99, sizeof(r) };
	assert_int_equal(snapshot_parse(&s, &r, sizeof(r)), -1);
	r = (struct snap_record){ 0, sizeof(r) };
	assert_int_equal(snapshot_parse(&s, &r, sizeof(r)), -1);
	assert_int_equal(snapshot_parse(&s, &d, 0), 0);
	assert_int_equal(s.n_devices, 0);
}

static void values(void **state)
{
	struct vm vm = { .pid = PID };
	const struct device *d;

	(void)state;
	add_device(&vm, DEVICE_NET, FD_NET);
	put_net(FD_NET, none);
	merge(&vm);
	d = &vm.devices[0];
	assert_int_equal(d->n_errors, 0);
	assert_true(d->queues_known && d->n_queues == 2);
	assert_string_equal(d->queues[1].name, "tx");
	assert_int_equal(d->queues[1].busyloop_usecs, 33);
	assert_int_equal(d->queues[1].ring.size, 256);
	assert_int_equal(ring_pending(&d->queues[1].ring), 3);
	assert_false(d->queues[1].ring.backend);
	assert_int_equal(d->queues[1].worker_id, 0);
	assert_true(d->queues[1].worker_tid == UNKNOWN);
	assert_int_equal(d->inside.owner_pid, PID);
	assert_true(d->inside.fork_owner == UNKNOWN && d->inside.cid == UNKNOWN && !d->inside.wwpn);
	assert_int_equal(d->inside.zerocopy.module, 1);
	assert_null(d->tap);
	vm_free(&vm);
}

/* Without it, the same index counts copies. */
static void zerocopy(void **state)
{
	(void)state;
	for (int on = 0; on < 2; on++) {
		struct vm vm = { .pid = PID };
		const struct zerocopy *z;

		add_device(&vm, DEVICE_NET, FD_NET);
		put_device(SNAP_NET, FD_NET, 2);
		put_queue(0, SNAP_RING, none);
		put_queue(1, SNAP_RING | (on ? SNAP_ZEROCOPY : 0), none);
		merge(&vm);
		z = &vm.devices[0].inside.zerocopy;
		assert_true(z->known && z->enabled == on);
		assert_int_equal(z->in_flight, on ? 4 : 0); /* 1023 to 3, modulo 1024 */
		vm_free(&vm);
	}
}

/* Gaps, wrong order, a queue that was freed: nothing of the device counts. */
static void torn(void **state)
{
	static const struct {
		__u32 first, second, flags;
		bool both;
	} bad[] = { { 0, 1, 0, false }, { 1, 0, 0, true }, { 0, 2, 0, true }, { 0, 1, SNAP_STALE, true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct vm vm = { .pid = PID };

		add_device(&vm, DEVICE_NET, FD_NET);
		put_device(SNAP_NET, FD_NET, 2);
		put_queue(bad[i].first, SNAP_RING, none);
		if (bad[i].both)
			put_queue(bad[i].second, bad[i].flags, none);
		merge(&vm);
		assert_int_equal(vm.devices[0].n_errors, 1);
		assert_false(vm.devices[0].queues_known);
		vm_free(&vm);
	}
}

/* Another process's, another fd's, or another kind's record is not this device's. */
static void others(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct vm vm = { .pid = i == 0 ? PID + 1 : PID };

		add_device(&vm, i == 1 ? DEVICE_VSOCK : DEVICE_NET, i == 2 ? FD_NET + 1 : FD_NET);
		put_net(FD_NET, none);
		merge(&vm);
		assert_int_equal(vm.devices[0].n_errors, 1);
		vm_free(&vm);
	}
}

static void pages(void **state)
{
	struct snapshot s;
	struct snap_device d = device(SNAP_SCSI, 5, 300, 1), other;

	(void)state;
	put(&d, sizeof(d));
	for (__u32 i = 0; i < SNAP_PAGE; i++)
		put_queue(i, 0, none);
	s = parsed();
	assert_int_equal(snapshot_rest(&s.devices[0]), 300);
	d.from = SNAP_PAGE;
	put(&d, sizeof(d));
	put_queue(SNAP_PAGE, 0, none);
	/* A device that was opened anew as the same fd: dropped. */
	other = d;
	other.id_dev++;
	put(&other, sizeof(other));
	put_queue(SNAP_PAGE + 1, 0, none);
	assert_int_equal(snapshot_parse(&s, stream, stream_len), 0);
	stream_len = 0;
	assert_int_equal(s.n_devices, 1);
	assert_int_equal(s.devices[0].n_queues, SNAP_PAGE + 1);
	snapshot_free(&s);
}

static void rest(void **state)
{
	struct snapshot_device d = { .d = device(SNAP_SCSI, 5, 100, 64) };

	(void)state;
	assert_int_equal(snapshot_rest(&d), 0);
	d.d.n_worker_ids = 4096;
	assert_int_equal(snapshot_rest(&d), 4096);
	d.d.n_worker_ids = SNAP_WORKER_IDS + 1;
	assert_int_equal(snapshot_rest(&d), 0);
	d.d.n_queues = 0xdeadbeef; /* of a device that is gone */
	assert_int_equal(snapshot_rest(&d), 0);
}

/* Queues with a worker beside such without: it gets its owner at this moment, and neither is the truth. */
static void workers_of_some(void **state)
{
	(void)state;
	for (int with = 0; with <= 2; with++) {
		struct vm vm = { .pid = PID };
		bool whole = with != 1;

		add_device(&vm, DEVICE_SCSI, FD_NET);
		put_device(SNAP_SCSI, FD_NET, 2);
		for (int i = 0; i < 2; i++) {
			struct snap_queue q = { .r = { SNAP_REC_QUEUE, sizeof(q) }, .index = (__u32)i,
						.worker_id = i < with ? 0 : SNAP_ABSENT,
						.worker_tid = SNAP_ABSENT };

			put(&q, sizeof(q));
		}
		merge(&vm);
		assert_int_equal(vm.devices[0].queues_known, whole);
		assert_int_equal(vm.devices[0].n_errors, !whole);
		vm_free(&vm);
	}
}

/* A thread counts only if it is there and is a worker by its name. */
static void threads(void **state)
{
	struct vm vm = { .pid = PID };
	struct device *d;

	(void)state;
	add_device(&vm, DEVICE_NET, FD_NET);
	put_device(SNAP_NET, FD_NET, 2);
	for (__u32 i = 0; i < 2; i++) {
		struct snap_queue q = { .r = { SNAP_REC_QUEUE, sizeof(q) }, .index = i,
					.worker_id = (__s32)i, .worker_tid = getpid() };

		put(&q, sizeof(q));
	}
	put_worker(0, getpid());
	put_worker(1, 0x7ffffff0);
	put_worker(7, SNAP_ABSENT);
	prctl(PR_SET_NAME, "vhost-4000");
	merge(&vm);
	prctl(PR_SET_NAME, "test_snapshot");
	d = &vm.devices[0];
	assert_int_equal(d->n_workers, 3);
	assert_int_equal(d->workers[0].tid, getpid());
	assert_string_equal(d->workers[0].comm, "vhost-4000");
	assert_int_equal(d->workers[0].n_queues, 1);
	assert_int_equal(d->workers[0].attachments, 2);
	assert_int_equal(d->queues[0].worker_tid, getpid());
	assert_true(d->workers[1].tid == UNKNOWN);
	assert_true(d->queues[1].worker_tid == UNKNOWN);
	assert_int_equal(d->workers[2].n_queues, 0);
	assert_non_null(d->workers[2].queues);
	assert_int_equal(vm.n_threads, 1);
	vm_free(&vm);
	/* The same without that name. */
	add_device(&vm, DEVICE_NET, FD_NET);
	vm.pid = PID;
	put_net(FD_NET, none);
	put_worker(0, getpid());
	merge(&vm);
	assert_true(vm.devices[0].workers[0].tid == UNKNOWN);
	vm_free(&vm);
}

/* One name in two namespaces, one row as /proc has it: two rows, each device with its own. */
static void two_namespaces(void **state)
{
	struct vm vm = { .pid = PID };

	(void)state;
	add_device(&vm, DEVICE_NET, 8);
	add_device(&vm, DEVICE_NET, 9);
	vm.devices[1].tap = xstrdup("tap0");
	vm.devices[1].tap_source = TAP_SOURCE_SOLE;
	add_tap(&vm, "tap0", 3, 4);
	put_net(8, netdev(53, 7, 1000, "tap0"));
	put_net(9, none);
	put_tap(3, netdev(53, 7, 1000, "tap0"));
	put_tap(4, netdev(54, 7, 2000, "tap0"));
	merge(&vm);
	assert_int_equal(vm.n_taps, 2);
	assert_int_equal(vm.taps[0].n_fds, 1);
	assert_int_equal(vm.taps[0].netns, 1000);
	assert_int_equal(vm.taps[1].netns, 2000);
	assert_int_equal(vm.taps[1].fds[0], 4);
	assert_int_equal(vm.taps[1].inside.rx_batched, 64);
	assert_int_equal(vm.taps[1].numqueues, 2);
	assert_int_equal(vm.taps[1].numdisabled, 1);
	assert_true(vm.taps[1].mtu == UNKNOWN);
	assert_int_equal(vm.devices[0].tap_source, TAP_SOURCE_SNAPSHOT);
	assert_int_equal(vm.devices[0].inside.tap_fd, 3);
	assert_int_equal(vm.devices[0].inside.tap_netns, 1000);
	/* "sole" it was not; but it is what is left. */
	assert_int_equal(vm.devices[1].tap_source, TAP_SOURCE_ELIMINATION);
	vm_free(&vm);
}

static void elimination(void **state)
{
	(void)state;
	/* One device is paired, another is left. With one tap queue left that is its; with two, or one of two taps, it is not. */
	for (int extra = 0; extra < 3; extra++) {
		struct vm vm = { .pid = PID };
		const struct device *d;

		add_device(&vm, DEVICE_NET, 8);
		add_device(&vm, DEVICE_NET, 9);
		add_tap(&vm, "tapA", 3, 0);
		add_tap(&vm, "tapB", 4, extra == 1 ? 5 : 0);
		if (extra == 2)
			add_tap(&vm, "tapC", 6, 0);
		put_net(8, netdev(53, 7, 1000, "tapA"));
		put_net(9, none);
		put_tap(3, netdev(53, 7, 1000, "tapA"));
		put_tap(4, netdev(54, 8, 1000, "tapB"));
		merge(&vm);
		d = &vm.devices[1];
		assert_string_equal(vm.devices[0].tap, "tapA");
		if (extra) {
			assert_null(d->tap);
		} else {
			assert_string_equal(d->tap, "tapB");
			assert_int_equal(d->tap_source, TAP_SOURCE_ELIMINATION);
			assert_int_equal(d->inside.tap_ifindex, 8);
		}
		vm_free(&vm);
	}
}

/* Before the guest's driver: nothing is known. */
static void no_backends(void **state)
{
	struct vm vm = { .pid = PID };

	(void)state;
	add_device(&vm, DEVICE_NET, 8);
	add_device(&vm, DEVICE_NET, 9);
	add_tap(&vm, "tapA", 3, 0);
	add_tap(&vm, "tapB", 4, 0);
	put_net(8, none);
	put_net(9, none);
	put_tap(3, netdev(53, 7, 1000, "tapA"));
	put_tap(4, netdev(54, 8, 1000, "tapB"));
	merge(&vm);
	assert_null(vm.devices[0].tap);
	assert_null(vm.devices[1].tap);
	assert_int_equal(vm.taps[1].ifindex, 8);
	vm_free(&vm);
}

/* rx and tx of two taps, or an interface that is half gone: no name rather than a wrong one. */
static void unclear_backend(void **state)
{
	struct vm vm = { .pid = PID };

	(void)state;
	add_device(&vm, DEVICE_NET, 8);
	add_device(&vm, DEVICE_NET, 9);
	put_device(SNAP_NET, 8, 2);
	put_queue(0, SNAP_BACKEND, netdev(53, 7, 1000, "tapA"));
	put_queue(1, SNAP_BACKEND, netdev(54, 8, 1000, "tapB"));
	put_net(9, netdev(55, 9, 1000, ""));
	merge(&vm);
	assert_null(vm.devices[0].tap);
	assert_string_equal(vm.devices[0].queues[1].ring.tap, "tapB");
	assert_null(vm.devices[1].tap);
	assert_true(vm.devices[1].queues[0].ring.backend);
	vm_free(&vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_records),	  cmocka_unit_test(values),
		cmocka_unit_test(torn),		  cmocka_unit_test(others),
		cmocka_unit_test(pages),	  cmocka_unit_test(rest),
		cmocka_unit_test(threads),	  cmocka_unit_test(two_namespaces),
		cmocka_unit_test(elimination),	  cmocka_unit_test(no_backends),
		cmocka_unit_test(unclear_backend), cmocka_unit_test(zerocopy),
		cmocka_unit_test(workers_of_some),
	};

	return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
