# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced on the kernel under test: loads what vhost devices, taps and KVM need.
lab_modules() {
	local m missing=''
	local names=(tun vhost_net vhost_vsock vhost_scsi target_core_file bridge veth macvtap dummy)
	# 6.18's kvm_amd hangs in the firmware of a nested guest under software emulation.
	case ${LAB_KERNEL:-} in host | 6.18) ;; *) names+=(kvm_amd) ;; esac
	for m in "${names[@]}"; do
		modprobe "$m" || missing+=" $m"
	done
	mountpoint -q /sys/kernel/config || mount -t configfs config /sys/kernel/config || missing+=" configfs"
	[ -z "$missing" ] || { echo "cannot load:$missing" >&2; return 1; }
}
