#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
# list, show and busyloop on a real QEMU: two queue pairs, vhost-scsi, vhost-vsock.
# shellcheck disable=SC2317 # run_cases calls the tests
. "$TOP/tests/lib.sh"
. "$TOP/tests/fixture/qemu.sh"

case_limit=90

setup() {
	qemu_up vm1
}

busyloops() { ctl busyloop get "${1:-vm1}" && expect_status 0; }
values='[.vms[0].devices[].queues[].busyloop_usecs]'

# The fd numbers that the kernel itself shows for a device.
fds_of() { find "/proc/$QEMU_PID/fd" -lname "/dev/$1" -printf '%f\n' | sort -n; }

test_list_shows_the_devices() {
	ctl list
	expect_status 0
	expect_json '[.vms[].name]' '["vm1"]'
	expect_json '.vms[0].pid' "$QEMU_PID"
	expect_json '[.vms[0].devices[].id]' '["net0","net1","scsi0","vsock0"]'
	expect_json '[.vms[0].devices[] | select(.kind == "net").fd]' "$(fds_of vhost-net | jq -sc .)"
	expect_json '[.vms[0].devices[] | select(.kind == "scsi").fd]' "$(fds_of vhost-scsi | jq -sc .)"
	expect_json '[.vms[0].devices[] | select(.kind == "vsock").fd]' "$(fds_of vhost-vsock | jq -sc .)"
	expect_json '.vms[0].worker_threads | length' 4
	expect_json '[.vms[0].taps[].ifname]' "[\"${VM_TAP[vm1]}\"]"
}

test_list_stops_nobody_and_needs_no_ptrace() {
	run strace -f -qq -e signal=none -e trace=ptrace,pidfd_getfd,process_vm_readv,process_vm_writev,kill \
		-o "$t_dir/trace" "$VHOSTCTL" list
	expect_status 0
	expect_eq "calls" "$(grep -vc 'exited with' "$t_dir/trace" || true)" 0
}

test_documents_keep_to_the_schema() {
	for command in list "show vm1" "busyloop get vm1"; do
		# shellcheck disable=SC2086
		ctl $command
		expect_status 0
		expect_valid state
	done
	ctl busyloop set vm1 33 --dry-run
	expect_valid changes
	ctl check vm1
	expect_status 0
	expect_valid checks
}

test_show_reads_the_timeouts() {
	ctl show vm1 --source owner
	expect_status 0
	expect_json .source '"owner"'
	expect_json '[.vms[0].devices[] | select(.kind == "net").queues[].busyloop_usecs]' '[33,33,33,33]'
	ctl show vm1
	expect_status 0
	expect_json '[.vms[0].devices[] | select(.kind == "net").queues[].busyloop_usecs]' '[33,33,33,33]'
	expect_json '[.vms[0].devices[] | .errors[]]' '[]'
	expect_json '[.vms[0].devices[] | select(.features == null)]' '[]'
	ctl show vm1 --table
	expect_status 0
	expect_match out '33us'
}

test_set_one_queue() {
	ctl busyloop set vm1/net0/tx 50
	expect_status 0
	expect_json '[.changes[] | [.target, .before, .after, .applied]]' '[["vm1/net0/tx",33,50,true]]'
	busyloops
	expect_json "$values" '[33,50,33,33]'
}

test_set_by_tap() {
	ctl busyloop set "vm1/${VM_TAP[vm1]}" 40
	expect_status 0
	expect_json '[.changes[] | [.before, .after]]' '[[33,40],[50,40],[33,40],[33,40]]'
	busyloops
	expect_json "$values" '[40,40,40,40]'
}

test_setting_what_is_set_changes_nothing() {
	ctl busyloop set vm1 40
	expect_status 0
	expect_json '.changes' '[]'
}

test_dry_run_changes_nothing() {
	ctl busyloop set vm1/net1 7 --dry-run
	expect_status 0
	expect_json '[.changes[] | [.before, .after, .applied]]' '[[40,7,false],[40,7,false]]'
	busyloops
	expect_json "$values" '[40,40,40,40]'
}

test_values_with_units() {
	ctl busyloop set vm1/net0/0 1ms
	expect_status 0
	ctl busyloop set vm1/net0/1 50us
	expect_status 0
	ctl busyloop set vm1/net1/rx off
	expect_status 0
	busyloops
	expect_json "$values" '[1000,50,0,40]'
	ctl busyloop set vm1 33
	expect_status 0
}

test_targets_by_pid_and_fd() {
	local fd
	fd=$(fds_of vhost-net | head -n 1)
	ctl busyloop set "$QEMU_PID/fd$fd/0-1" 21
	expect_status 0
	busyloops "$QEMU_PID/net0"
	expect_json "$values" '[21,21]'
	ctl busyloop set vm1 33
}

test_bad_input_is_told_apart() {
	ctl busyloop set vm1/net0/7 5
	expect_status 3
	expect_match err 'no queue 7'
	ctl busyloop set vm1/net7 5
	expect_status 3
	ctl busyloop set nosuchvm 5
	expect_status 3
	ctl show nosuchvm
	expect_status 3
	ctl busyloop set vm1/net0 abc
	expect_status 2
	ctl busyloop set vm1/net0 -- -5
	expect_status 2
	ctl busyloop set vm1/net0 11ms
	expect_status 2
	expect_match err '--force'
	expect_eq stdout "$out" ''
	busyloops
	expect_json "$values" '[33,33,33,33]'
	ctl busyloop set vm1/net0/rx 11ms --force
	expect_status 0
	expect_json '.changes[0].after' 11000
	ctl busyloop set vm1/net0/rx 33
}

test_an_ordinary_user_is_refused() {
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$VHOSTCTL" busyloop set "$QEMU_PID/net0" 5
	expect_status 4
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$VHOSTCTL" busyloop set vm1/net0 5
	expect_status 4
	expect_match err 'root'
	busyloops
	expect_json "$values" '[33,33,33,33]'
}

test_scsi_and_vsock_ignore_it() {
	ctl busyloop set vm1/vsock0 5 --dry-run
	expect_status 0
	expect_json '[.notes[] | select(test("ignores"))] | length' 1
	ctl busyloop get vm1/scsi0/ctl
	expect_status 0
	expect_match err 'vhost-scsi stores'
}

test_verbose_tells_each_call() {
	ctl busyloop get vm1 -v --source owner
	expect_status 0
	expect_match err 'in 1 stop'
	expect_match err 'PTRACE_SEIZE'
	expect_match err 'PTRACE_DETACH'
}

# A host that is starved of CPU ends a stop early and takes another; once in a while is enough.
takes_stops() {
	local regex=$1
	shift
	for _ in {1..20}; do
		ctl "$@" -v
		expect_status 0
		! grep -qE "in $regex;" <<<"$err" || return 0
	done
	fail "never in $regex"
}

test_one_stop_for_all_queues_of_a_vm() {
	takes_stops '[1-3] stops?' show vm1 --source owner
	takes_stops '1 stop' busyloop set vm1 34
	ctl busyloop set vm1 33
}

test_a_traced_vm_is_refused_and_the_tracer_named() {
	strace -qq -p "$QEMU_PID" -o /dev/null &
	local tracer=$!
	wait_for 10 grep -q "^TracerPid:.$tracer" "/proc/$QEMU_PID/status"
	ctl busyloop set vm1/net0 5
	expect_status 4
	expect_match err "$tracer"
	kill "$tracer"
	wait "$tracer" || true
	busyloops
	expect_json "$values" '[33,33,33,33]'
}

test_a_vm_under_gdb_is_refused() {
	# gdb holds the VM stopped until its input ends.
	mkfifo "$t_dir/gdb"
	gdb -q -nx -iex 'set auto-solib-add off' -iex 'set debuginfod enabled off' -p "$QEMU_PID" \
		<"$t_dir/gdb" >"$t_dir/gdb.log" 2>&1 &
	local gdb=$! hold
	at_exit kill "$gdb"
	exec {hold}>"$t_dir/gdb"
	wait_for 60 grep -q "^TracerPid:.$gdb" "/proc/$QEMU_PID/status"
	ctl busyloop set vm1/net0 5
	echo quit >&"$hold"
	exec {hold}>&-
	wait "$gdb" || true
	expect_status 4
	expect_match err "$gdb"
	guest_ping vm1 -q -c 1 -W 5 >/dev/null
}

test_a_stopped_vm_is_tuned_and_stays_stopped() {
	kill -STOP "$QEMU_PID"
	wait_for 5 grep -q '^State:.T' "/proc/$QEMU_PID/status"
	ctl busyloop set vm1/net0 60
	wait_for 5 grep -q '^State:.T' "/proc/$QEMU_PID/status"
	kill -CONT "$QEMU_PID"
	expect_status 0
	expect_json '[.changes[].after]' '[60,60]'
	guest_ping vm1 -q -c 1 -W 5 >/dev/null
	ctl busyloop set vm1/net0 33
	expect_status 0
}

has_vhost() { readlink "/proc/$1/fd/"* | grep -q vhost-net; }

test_two_vms_of_one_name_are_an_error() {
	local first=$QEMU_PID
	qemu_up twin --name vm1 --no-scsi --no-vsock --no-wait
	wait_for 30 has_vhost "$QEMU_PID"
	ctl busyloop set vm1/net0 5
	expect_status 3
	expect_match err "$first"
	expect_match err "$QEMU_PID"
	ctl busyloop get "$first"
	expect_status 0
}

test_qemu_in_its_own_sandbox_works() {
	qemu_up boxed --no-scsi --no-vsock -- -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny
	expect_eq seccomp "$(awk '/^Seccomp:/ { print $2 }' "/proc/$QEMU_PID/status")" 2
	ctl busyloop set boxed/net0 44
	expect_status 0
	expect_json '[.changes[].after]' '[44,44]'
	guest_ping boxed -q -c 1 -W 5 >/dev/null
}

# A process with a vhost-net device and a seccomp filter of its own.
filtered_up() {
	coproc VMM { exec "$BUILD/tests/vmm" --name "$1" --net 1 --busyloop 33 --seccomp "$1"; }
	# shellcheck disable=SC2153 # set by coproc
	filtered=$VMM_PID
	at_exit kill "$filtered"
	read -r -t 30 _ <&"${VMM[0]}" || fail "the VMM did not start"
}

# It lives and does its work still.
filtered_down() {
	echo stats >&"${VMM[1]}"
	read -r -t 10 _ <&"${VMM[0]}" || fail "the VMM answers no more"
	echo quit >&"${VMM[1]}"
	wait "$filtered"
}

test_a_seccomp_filter_that_forbids_the_call_is_heeded() {
	for filter in deny-busyloop errno-busyloop deny-sigreturn; do
		filtered_up "$filter"
		ctl busyloop set "$filter/net0" 5
		expect_status 5
		expect_match err 'seccomp filter does not allow'
		filtered_down
	done
}

test_a_seccomp_filter_that_lets_it_through_is_no_hindrance() {
	for filter in allow log-busyloop; do
		filtered_up "$filter"
		ctl busyloop set "$filter/net0" 5
		expect_status 0
		expect_json '[.changes[] | [.before, .after]]' '[[33,5],[33,5]]'
		filtered_down
	done
}

test_the_guest_answers_throughout() {
	guest_ping vm1 -q -i 0.2 -c 40 -W 2 >"$t_dir/ping" &
	local ping=$!
	for usecs in $(seq 1 20); do
		ctl busyloop set vm1 "$usecs"
		expect_status 0
	done
	wait "$ping"
	expect_eq "unanswered pings" "$(sed -nE 's/.* ([0-9]+)% packet loss.*/\1/p' "$t_dir/ping")" 0
	ctl busyloop set vm1 33
}

run_cases
