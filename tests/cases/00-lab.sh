#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
# The lab itself: the right kernel, QEMUs on real vhost devices, a guest that answers.
. "$TOP/tests/lib.sh"
. "$TOP/tests/fixture/qemu.sh"

setup() {
	qemu_up vm1
	guest_up guest
}

# Paths of the VM's open files that match, sorted, on one line.
fds() {
	find "/proc/${VM_PID[$1]}/fd" -lname "$2" -printf '%l\n' | sort | paste -sd ' '
}

# vhost tasks since 6.4, kernel threads before.
workers() {
	if [ "$LAB_KERNEL" = 6.1 ]; then
		pgrep -xc "vhost-${VM_PID[$1]}"
	else
		cat "/proc/${VM_PID[$1]}"/task/*/comm | grep -xc "vhost-${VM_PID[$1]}"
	fi
}

test_the_kernel_is_the_one_asked_for() {
	[ "$LAB_KERNEL" != host ] || skip "a host runs the kernel it has"
	[[ $(uname -r) == "$LAB_KERNEL".* ]]
}

test_vhost_and_taps_are_open_in_QEMU() {
	for vm in vm1 guest; do
		expect_eq "vhost fds of $vm" "$(fds "$vm" '/dev/vhost*')" \
			"/dev/vhost-net /dev/vhost-net /dev/vhost-scsi /dev/vhost-vsock"
		expect_eq "tap fds of $vm" "$(fds "$vm" /dev/net/tun)" "/dev/net/tun /dev/net/tun"
	done
}

test_each_device_has_a_worker_thread() {
	for vm in vm1 guest; do
		expect_eq "workers of $vm" "$(workers "$vm")" 4
	done
}

test_drivers_have_started_the_vhost_NICs() {
	for vm in vm1 guest; do
		nic=$(qmp "$vm" x-query-virtio | jq -r '.[] | select(.name == "virtio-net").path')
		started=$(qmp "$vm" x-query-virtio-status "{\"path\":\"$nic\"}" | jq '."vhost-started"')
		expect_eq "vhost-started of $vm" "$started" true
	done
}

test_guests_answer_pings() {
	for vm in vm1 guest; do
		run guest_ping "$vm" -q -c 5 -i 0.2 -W 5
		expect_match out '5 received'
	done
}

test_the_guest_runs_under_KVM() {
	[ "$LAB_KERNEL" != 6.18 ] || skip "kvm_amd of 6.18 hangs in the firmware of a guest under emulation"
	expect_eq KVM "$(qmp guest query-kvm | jq .enabled)" true
	[ "$(fds guest 'anon_inode:kvm-vcpu*')" = anon_inode:kvm-vcpu:0 ]
}

test_QEMU_goes_and_leaves_nothing() {
	qemu_up gone --netns labns --nics 2 --queues 1
	pid=${VM_PID[gone]}
	expect_eq "taps in the namespace" "$(ip -n labns -br link show type tun | wc -l)" 2
	qemu_down gone
	[ ! -e "/proc/$pid" ]
	expect_eq "taps in the namespace" "$(ip -n labns -br link show type tun | wc -l)" 0
	expect_eq "scsi targets" "$(find /sys/kernel/config/target/vhost -maxdepth 1 -name 'naa.*' | wc -l)" 2
}

run_cases
