#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The small VMM: its devices are real and move data.
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"

vmm=$BUILD/tests/vmm

start() {
	coproc VMM { exec "$vmm" "$@"; }
	# shellcheck disable=SC2153 # set by coproc
	vmm_pid=$VMM_PID
	read -r -t 20 ready <&"${VMM[0]}" || fail "the VMM did not start"
}

# ask WORDS…: one command; $out is the answer.
ask() {
	echo "$*" >&"${VMM[1]}"
	read -r -t 30 out <&"${VMM[0]}" || fail "no answer to: $*"
}

setup() {
	wwpn=naa.5001405001100001
	local target=/sys/kernel/config/target
	ip link add vmmbr type bridge
	at_exit ip link del vmmbr
	ip link set vmmbr up
	mkdir -p $target/core/rd_mcp_99/vmm
	echo rd_pages=1024 >$target/core/rd_mcp_99/vmm/control
	echo 1 >$target/core/rd_mcp_99/vmm/enable
	mkdir -p $target/vhost/$wwpn/tpgt_1/lun/lun_0
	ln -s $target/core/rd_mcp_99/vmm $target/vhost/$wwpn/tpgt_1/lun/lun_0/disk
	echo naa.5001405001100002 >$target/vhost/$wwpn/tpgt_1/nexus
	at_exit rmdir $target/core/rd_mcp_99/vmm $target/core/rd_mcp_99
	at_exit rmdir $target/vhost/$wwpn/tpgt_1/lun/lun_0 $target/vhost/$wwpn/tpgt_1 $target/vhost/$wwpn
	at_exit rm $target/vhost/$wwpn/tpgt_1/lun/lun_0/disk
}

# Queue pairs of the receiving NIC: the tap chooses one by flow, so their counts are added.
test_frames_go_over_a_bridge_from_one_tap_to_another() {
	start --tap va --tap vb --queues 2
	ip link set va master vmmbr up
	ip link set vb master vmmbr up
	ask send net0 500 300
	expect_json .sent 500
	came() { ask stats; [ "$(jq '[.devices[2, 3] | .rx_done - .rx_foreign] | add' <<<"$out")" -ge 500 ]; }
	wait_for 10 came || fail "frames did not arrive: $out"
	expect_json '[.devices[].rx_bad] | add' 0
	expect_json '[.devices[2, 3].rx_lost] | add' 0
}

test_blocks_are_written_and_read_back_through_each_request_queue() {
	start --scsi "$wwpn" --scsi-queues 2
	for q in 0 1; do
		ask scsi-io scsi0 "$q" 20
		expect_json . '{"done":20,"error":null}'
	done
}

test_threads_and_devices_are_what_was_asked_for() {
	start --name some-name --net 2 --vsock 77 --scsi none --plain-tap vp --vcpus 2 --helpers 1
	expect_eq devices "$(jq -c '[.devices[].id]' <<<"$ready")" '["net0","net1","tap0","scsi0","vsock0"]'
	expect_eq pid "$(jq .pid <<<"$ready")" "$vmm_pid"
	expect_eq name "$(jq -r .name <<<"$ready")" some-name
	expect_eq threads "$(cat /proc/"$vmm_pid"/task/*/comm | grep -v ^vhost | sort | paste -sd,)" \
		'CPU 0/KVM,CPU 1/KVM,helper0,vmm'
	for fd in $(jq '.devices[].fd | numbers' <<<"$ready"); do
		[[ $(readlink /proc/"$vmm_pid"/fd/"$fd") == /dev/vhost-* ]] || fail "fd $fd is not a vhost device"
	done
}

test_others_hold_the_same_files() {
	start --net 1 --fork-holder --pass-fds
	fd=$(jq .devices[0].fd <<<"$ready")
	expect_eq "the holder's file" "$(readlink /proc/"$(jq .holder <<<"$ready")"/fd/"$fd")" /dev/vhost-net
	find /proc/"$(jq .manager <<<"$ready")"/fd -lname /dev/vhost-net | grep -q . || fail "the manager holds none"
}

test_a_closed_device_is_gone() {
	start --net 2
	ask close net0
	[ ! -e /proc/"$vmm_pid"/fd/"$(jq .devices[0].fd <<<"$ready")" ]
}

run_cases
