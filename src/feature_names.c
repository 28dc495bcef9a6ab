// SPDX-License-Identifier: GPL-2.0-or-later
#include "feature_names.h"

#include "util.h"

/*
 * Numbers from include/uapi/linux of Linux 7.3. They stand here because the headers of
 * older systems lack the newer names. Bits 24-41 mean the same on every kind of device.
 */
struct feature {
	unsigned int bit;
	const char *name;
};

/* linux/vhost_types.h, linux/virtio_config.h, linux/virtio_ring.h */
static const struct feature common[] = {
	{ 24, "VIRTIO_F_NOTIFY_ON_EMPTY" },
	{ 26, "VHOST_F_LOG_ALL" },
	{ 27, "VIRTIO_F_ANY_LAYOUT" },
	{ 28, "VIRTIO_RING_F_INDIRECT_DESC" },
	{ 29, "VIRTIO_RING_F_EVENT_IDX" },
	{ 32, "VIRTIO_F_VERSION_1" },
	{ 33, "VIRTIO_F_ACCESS_PLATFORM" },
	{ 34, "VIRTIO_F_RING_PACKED" },
	{ 35, "VIRTIO_F_IN_ORDER" },
	{ 36, "VIRTIO_F_ORDER_PLATFORM" },
	{ 37, "VIRTIO_F_SR_IOV" },
	{ 38, "VIRTIO_F_NOTIFICATION_DATA" },
	{ 39, "VIRTIO_F_NOTIF_CONFIG_DATA" },
	{ 40, "VIRTIO_F_RING_RESET" },
	{ 41, "VIRTIO_F_ADMIN_VQ" },
};

/* Bit 27 on vhost-net is vhost's own (the header's place), not VIRTIO_F_ANY_LAYOUT. */
static const struct feature net[] = {
	{ 15, "VIRTIO_NET_F_MRG_RXBUF" },
	{ 27, "VHOST_NET_F_VIRTIO_NET_HDR" },
};

static const struct feature scsi[] = {
	{ 0, "VIRTIO_SCSI_F_INOUT" },
	{ 1, "VIRTIO_SCSI_F_HOTPLUG" },
	{ 2, "VIRTIO_SCSI_F_CHANGE" },
	{ 3, "VIRTIO_SCSI_F_T10_PI" },
};

static const struct feature vsock[] = {
	{ 1, "VIRTIO_VSOCK_F_SEQPACKET" },
};

static const char *find(const struct feature *table, size_t n, unsigned int bit)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].bit == bit)
			return table[i].name;
	return NULL;
}

const char *feature_name(enum device_kind kind, unsigned int bit)
{
	const char *name = NULL;

	if (kind == DEVICE_NET)
		name = find(net, ARRAY_SIZE(net), bit);
	else if (kind == DEVICE_SCSI)
		name = find(scsi, ARRAY_SIZE(scsi), bit);
	else if (kind == DEVICE_VSOCK)
		name = find(vsock, ARRAY_SIZE(vsock), bit);
	return name ? name : find(common, ARRAY_SIZE(common), bit);
}
