#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Failing system calls, on the kernel under test: each that a command makes fails once with each errno that its
# manual lists (tests/faults/site.c has them), beside a VM with real devices that must not notice.
# FAULTS_SHARE=n: one fault in n.
# timeout: 18000
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/fixture/qemu.sh
. tests/fixture/qemu.sh
# shellcheck source=tests/fixture/io.sh
. tests/fixture/io.sh
# shellcheck disable=SC2034 # for lib.sh
case_limit=3000
ctl=$VHOSTCTL

# faults [-r RESET] [-s STATE] [-c CLEAR] -- ARG…: of "vhostctl ARG…"; what it found goes to the log, the sum
# beside the TAP.
faults() {
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	local rc=0
	"$BUILD/tests/faults" -p "$vm1" -S "${FAULTS_SHARE:-1}" "${options[@]}" -- "$ctl" "$@" >"$t_dir/faults" || rc=$?
	echo "$* [$LAB_KERNEL]: $(tail -n 1 "$t_dir/faults")" >>"$LAB_OUT/faults.txt"
	cut -c1-700 "$t_dir/faults"
	[ "$rc" = 0 ] || fail "faults ended with $rc"
	# The VM goes on: frames leave it and blocks come back.
	expect_eq "frames sent" "$(vmm_say send net0 64 64)" '{"sent":64}'
	[ "$LAB_KERNEL" = 6.1 ] || expect_eq "blocks" "$(vmm_say scsi-io scsi0 0 8)" '{"done":8,"error":null}'
}

# The state is read and set back after each fault, so by who is quicker than the tool: the VM itself, /proc and
# ethtool. The shell of these has no descriptors above 9 to name.
# vm COMMAND: what the VM answers to it
vm() { echo "{ echo $1 >&6 && read -r v <&7 && case \$v in *error*) exit 1 ;; esac && echo \"\$v\"; }"; }
values=$(vm values)
frames='ethtool -c tap0 | grep ^rx-frames:'
one_worker=$(vm 'workers scsi0 1')
idle_worker=$(vm 'workers scsi0 2')
# What the tool says of a worker that may be left.
clear="$ctl -q worker free vm1/scsi0 --idle"

setup() {
	ip tuntap add tap0 mode tap vnet_hdr
	at_exit ip link del tap0
	ip link set tap0 up
	vmm_up vm1 2 --tap tap0 --vcpus 1 --helpers 2
	vm1=$VMM_PID
	# A line for each thread: a worker more or less shows, too.
	cpus="cat /proc/$vm1/task/*/status | grep Cpus_allowed_list"
	workers="$values; $cpus"
	exec 6>&"$vmm_in" 7<&"$vmm_out"
	: >"$LAB_OUT/faults.txt"
	# The cache of types is there, but where its absence is the subject.
	"$ctl" show vm1 >/dev/null
}

test_list() { faults -- list; }
test_show_by_owner() { faults -- show vm1/net0 --source owner; }
test_show_by_snapshot() {
	need_snapshot
	faults -- show vm1 --source snapshot
}
test_show_by_snapshot_without_a_cache() {
	need_snapshot
	faults -r "rm -rf /run/vhostctl" -- show vm1 --source snapshot
}
test_check() { faults -- check vm1; }
test_busyloop_get() { faults -s "$values" -- busyloop get vm1/net0 --source owner; }
test_busyloop_set() { faults -r "$(vm 'busyloop net0 7')" -s "$values" -- busyloop set vm1/net0 50; }
test_worker_list() {
	need_workers
	faults -s "$workers" -- worker list vm1/scsi0
}
test_worker_create() {
	need_workers
	faults -r "$one_worker" -s "$workers" -c "$clear" -- worker create vm1/scsi0
}
test_worker_attach() {
	need_workers
	faults -r "$idle_worker" -s "$workers" -- worker attach vm1/scsi0/req0 1
}
test_worker_free() {
	need_workers
	faults -r "$idle_worker" -s "$workers" -- worker free vm1/scsi0 1
}
test_worker_spread() {
	need_workers
	faults -r "$one_worker" -s "$workers" -c "$clear" -- worker spread vm1/scsi0 --workers 2
}
test_worker_pin() {
	need_workers
	faults -r "$ctl -q worker pin vm1/scsi0 0 0-1" -s "$workers" -- worker pin vm1/scsi0 0 1
}
test_coalesce_get() { faults -s "$frames" -- coalesce get vm1/tap0; }
test_coalesce_set() { faults -r "ethtool -C tap0 rx-frames 0" -s "$frames" -- coalesce set vm1/tap0 64; }
test_save() { faults -- save vm1; }
test_stat() { faults -- stat vm1 0.1 1; }

# All of it or nothing: three settings of two devices.
policy() {
	local workers=',{"match":{"kind":"scsi"},"workers":2}'
	[ "$LAB_KERNEL" != 6.1 ] || workers=''
	echo '{"schema":1,"vms":[{"match":{"name":"vm1"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":50,"rx_frames":64}'"$workers"']}]}'
}
test_apply() {
	local reset state="$values; $frames"
	reset="$(vm 'busyloop net0 7') && ethtool -C tap0 rx-frames 0"
	[ "$LAB_KERNEL" = 6.1 ] || { reset+=" && $one_worker"; state+="; $cpus"; }
	policy >"$t_dir/policy.json"
	faults -r "$reset" -s "$state" -c "$clear" -- apply "$t_dir/policy.json"
}
test_diff() {
	policy >"$t_dir/policy.json"
	"$ctl" -q apply "$t_dir/policy.json"
	faults -- diff "$t_dir/policy.json"
}

run_cases
