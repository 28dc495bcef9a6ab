// SPDX-License-Identifier: GPL-2.0-or-later
#include "feature_name.h"

#include "util.h"

/* Bits of one device type: virtio 1.3, sections 5.1.3, 5.6.3, 5.10.3. */
static const char *const net[64] = {
	[0] = "VIRTIO_NET_F_CSUM",
	[1] = "VIRTIO_NET_F_GUEST_CSUM",
	[2] = "VIRTIO_NET_F_CTRL_GUEST_OFFLOADS",
	[3] = "VIRTIO_NET_F_MTU",
	[5] = "VIRTIO_NET_F_MAC",
	[6] = "VIRTIO_NET_F_GSO",
	[7] = "VIRTIO_NET_F_GUEST_TSO4",
	[8] = "VIRTIO_NET_F_GUEST_TSO6",
	[9] = "VIRTIO_NET_F_GUEST_ECN",
	[10] = "VIRTIO_NET_F_GUEST_UFO",
	[11] = "VIRTIO_NET_F_HOST_TSO4",
	[12] = "VIRTIO_NET_F_HOST_TSO6",
	[13] = "VIRTIO_NET_F_HOST_ECN",
	[14] = "VIRTIO_NET_F_HOST_UFO",
	[15] = "VIRTIO_NET_F_MRG_RXBUF",
	[16] = "VIRTIO_NET_F_STATUS",
	[17] = "VIRTIO_NET_F_CTRL_VQ",
	[18] = "VIRTIO_NET_F_CTRL_RX",
	[19] = "VIRTIO_NET_F_CTRL_VLAN",
	[20] = "VIRTIO_NET_F_CTRL_RX_EXTRA",
	[21] = "VIRTIO_NET_F_GUEST_ANNOUNCE",
	[22] = "VIRTIO_NET_F_MQ",
	[23] = "VIRTIO_NET_F_CTRL_MAC_ADDR",
	[27] = "VHOST_NET_F_VIRTIO_NET_HDR",	/* include/uapi/linux/vhost_types.h */
	[50] = "VIRTIO_NET_F_DEVICE_STATS",
	[51] = "VIRTIO_NET_F_HASH_TUNNEL",
	[52] = "VIRTIO_NET_F_VQ_NOTF_COAL",
	[53] = "VIRTIO_NET_F_NOTF_COAL",
	[54] = "VIRTIO_NET_F_GUEST_USO4",
	[55] = "VIRTIO_NET_F_GUEST_USO6",
	[56] = "VIRTIO_NET_F_HOST_USO",
	[57] = "VIRTIO_NET_F_HASH_REPORT",
	[59] = "VIRTIO_NET_F_GUEST_HDRLEN",
	[60] = "VIRTIO_NET_F_RSS",
	[61] = "VIRTIO_NET_F_RSC_EXT",
	[62] = "VIRTIO_NET_F_STANDBY",
	[63] = "VIRTIO_NET_F_SPEED_DUPLEX",
};

static const char *const scsi[64] = {
	[0] = "VIRTIO_SCSI_F_INOUT",
	[1] = "VIRTIO_SCSI_F_HOTPLUG",
	[2] = "VIRTIO_SCSI_F_CHANGE",
	[3] = "VIRTIO_SCSI_F_T10_PI",
};

static const char *const vsock[64] = {
	[0] = "VIRTIO_VSOCK_F_STREAM",
	[1] = "VIRTIO_VSOCK_F_SEQPACKET",
	[2] = "VIRTIO_VSOCK_F_NO_IMPLIED_STREAM",
};

/* Bits of every device (section 6), and vhost's own log bit. */
static const char *const any[64] = {
	[24] = "VIRTIO_F_NOTIFY_ON_EMPTY",
	[26] = "VHOST_F_LOG_ALL",
	[27] = "VIRTIO_F_ANY_LAYOUT",
	[28] = "VIRTIO_RING_F_INDIRECT_DESC",
	[29] = "VIRTIO_RING_F_EVENT_IDX",
	[32] = "VIRTIO_F_VERSION_1",
	[33] = "VIRTIO_F_ACCESS_PLATFORM",
	[34] = "VIRTIO_F_RING_PACKED",
	[35] = "VIRTIO_F_IN_ORDER",
	[36] = "VIRTIO_F_ORDER_PLATFORM",
	[37] = "VIRTIO_F_SR_IOV",
	[38] = "VIRTIO_F_NOTIFICATION_DATA",
	[39] = "VIRTIO_F_NOTIF_CONFIG_DATA",
	[40] = "VIRTIO_F_RING_RESET",
	[41] = "VIRTIO_F_ADMIN_VQ",
};

/* A vdpa device can be of any virtio type, so its low bits have no name here. */
static const char *const *const by_kind[DEVICE_KINDS] = {
	[DEVICE_NET] = net,
	[DEVICE_SCSI] = scsi,
	[DEVICE_VSOCK] = vsock,
};

static const char *const backend[] = {
	[1] = "VHOST_BACKEND_F_IOTLB_MSG_V2",
	[2] = "VHOST_BACKEND_F_IOTLB_BATCH",
	[3] = "VHOST_BACKEND_F_IOTLB_ASID",
	[4] = "VHOST_BACKEND_F_SUSPEND",
	[5] = "VHOST_BACKEND_F_RESUME",
	[6] = "VHOST_BACKEND_F_ENABLE_AFTER_DRIVER_OK",
	[7] = "VHOST_BACKEND_F_DESC_ASID",
	[8] = "VHOST_BACKEND_F_IOTLB_PERSIST",
};

const char *feature_name(enum device_kind kind, unsigned int bit)
{
	if (bit > 63)
		return NULL;
	if (by_kind[kind] && by_kind[kind][bit])
		return by_kind[kind][bit];
	return any[bit];
}

const char *backend_feature_name(unsigned int bit)
{
	return bit < ARRAY_SIZE(backend) ? backend[bit] : NULL;
}
