// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "device.h"
#include "feature_name.h"
#include "util.h"
#include "vhost.h"

static void numbers(void **state)
{
	static const char misc[] = "121 vhost-scsi\n238 vhost-net\n241 vhost-vsock\n200 tun\n"
				   " 63 vga_arbiter\n99 vhost-nets\nx tun\n";
	static const char devices[] = "Character devices:\n  1 mem\n246 macvtap\n511 vhost-vdpa\n"
				      "\nBlock devices:\n  7 loop\n 77 ipvtap\n";
	struct device_numbers n;

	(void)state;
	device_numbers_parse(misc, sizeof(misc) - 1, devices, sizeof(devices) - 1, &n);
	assert_int_equal(n.n, 6);
	assert_int_equal(device_class_of(&n, 10, 238)->kind, DEVICE_NET);
	assert_int_equal(device_class_of(&n, 10, 121)->kind, DEVICE_SCSI);
	assert_int_equal(device_class_of(&n, 10, 241)->kind, DEVICE_VSOCK);
	assert_int_equal(device_class_of(&n, 511, 7)->kind, DEVICE_VDPA);
	assert_int_equal(device_class_of(&n, 10, 200)->role, ROLE_TUN);
	assert_int_equal(device_class_of(&n, 246, 12)->role, ROLE_MACVTAP);
	assert_null(device_class_of(&n, 10, 99));
	assert_null(device_class_of(&n, 10, 63));
	assert_null(device_class_of(&n, 77, 0));
	assert_null(device_class_of(&n, 1, 3));
	device_numbers_parse("", 0, "", 0, &n);
	assert_int_equal(n.n, 0);
	device_numbers_parse("tun", 3, "\n\n", 2, &n);
	assert_int_equal(n.n, 0);
}

static void numbers_of_this_kernel(void **state)
{
	struct error e = ERROR_INIT;
	struct device_numbers n;
	struct stat st;

	(void)state;
	assert_int_equal(device_numbers_read(&n, &e), 0);
	if (stat("/dev/net/tun", &st))
		skip();
	assert_int_equal(device_class_of(&n, major(st.st_rdev), minor(st.st_rdev))->role, ROLE_TUN);
}

/* Borrowing from ourselves: a file of another kind is refused, and so is a closed fd. */
static void borrow_checks_the_kind(void **state)
{
	struct vm_ref ref;
	struct device d = { .kind = DEVICE_NET };
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(vm_hold(&ref, getpid(), 0, &e), 0);
	/* A number that is not the next to be given out: to borrow takes some of ours. */
	d.fd = fcntl(open("/dev/null", O_RDWR), F_DUPFD, 100);
	assert_int_equal(device_borrow(&ref, &d, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_non_null(strstr(e.message, "is no vhost-net any more"));
	close(d.fd);
	assert_int_equal(device_borrow(&ref, &d, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_int_equal(e.errnum, EBADF);
	vm_release(&ref);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(feature_name(DEVICE_NET, 15), "VIRTIO_NET_F_MRG_RXBUF");
	assert_string_equal(feature_name(DEVICE_NET, 27), "VHOST_NET_F_VIRTIO_NET_HDR");
	assert_string_equal(feature_name(DEVICE_SCSI, 27), "VIRTIO_F_ANY_LAYOUT");
	assert_string_equal(feature_name(DEVICE_SCSI, 1), "VIRTIO_SCSI_F_HOTPLUG");
	assert_string_equal(feature_name(DEVICE_VSOCK, 1), "VIRTIO_VSOCK_F_SEQPACKET");
	assert_string_equal(feature_name(DEVICE_VDPA, 32), "VIRTIO_F_VERSION_1");
	assert_null(feature_name(DEVICE_VDPA, 1));
	assert_null(feature_name(DEVICE_NET, 4));
	assert_null(feature_name(DEVICE_NET, 64));
	assert_string_equal(backend_feature_name(2), "VHOST_BACKEND_F_IOTLB_BATCH");
	assert_null(backend_feature_name(0));
	assert_null(backend_feature_name(63));
}

/* What an error says of a roll-back that failed. */
static void queues_that_are_left(void **state)
{
	const struct device net = { .id = "net0", .kind = DEVICE_NET };
	const struct device scsi = { .id = "scsi0", .kind = DEVICE_SCSI };
	const struct vhost_op ops[] = {
		{ .device = &net, .index = 0, .done = true, .errnum = EBADF },
		{ .device = &net, .index = 1, .done = true },
		{ .device = &scsi, .index = 3 },
	};
	char *left = vhost_left(ops, 3);

	(void)state;
	assert_string_equal(left, "net0/rx scsi0/req1");
	free(left);
}

/* Last first, as they are put back; a line has room for the queues of the largest device. */
static void many_queues_that_are_left(void **state)
{
	const struct device net = { .id = "net0", .kind = DEVICE_NET };
	const struct device scsi = { .id = "scsi0", .kind = DEVICE_SCSI };
	struct vhost_op ops[132];
	char *left;

	(void)state;
	for (unsigned int i = 0; i < 130; i++)
		ops[i] = (struct vhost_op){ .device = &scsi, .index = 129 - i, .done = i == 65 };
	ops[130] = (struct vhost_op){ .device = &net, .index = 1 };
	ops[131] = (struct vhost_op){ .device = &net, .index = 0 };
	left = vhost_left(ops, ARRAY_SIZE(ops));
	assert_string_equal(left, "scsi0/0-63 scsi0/65-129 net0/rx net0/tx");
	free(left);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(numbers_of_this_kernel),
		cmocka_unit_test(borrow_checks_the_kind),
		cmocka_unit_test(names),
		cmocka_unit_test(queues_that_are_left),
		cmocka_unit_test(many_queues_that_are_left),
	};

	return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
