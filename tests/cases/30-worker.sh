#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Workers of vhost-scsi on a live VM: created, attached, freed, spread, pinned, and what is refused.
# WORKER_ROUNDS and WORKER_KILLS make the two long tests as long as one likes.
# timeout: 600
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/fixture/qemu.sh
. tests/fixture/qemu.sh
# shellcheck source=tests/fixture/io.sh
. tests/fixture/io.sh
case_limit=${WORKER_LIMIT:-150}

# Every document is held to the schema, by the last test: a start of Python costs seconds here.
keep() { echo "$out" >>"$t_dir/$1.json"; }
changes() { ctl "$@"; expect_status 0; keep changes; }
worker_of() { ctl worker list "$1"; expect_status 0; jq ".vms[0].devices[0].queues[0].worker_id" <<<"$out"; }
no_worker_calls() { [ "$LAB_KERNEL" = 6.1 ]; }
need_workers() { ! no_worker_calls || skip "Linux 6.1 has no worker calls"; }
untouched() { ! grep -qE '^(TracerPid:\s*[1-9]|State:\s*[tT])' /proc/"$1"/task/*/status; }
quiet_threads() { wait_for 20 untouched "$1" || fail "a thread is stopped or traced: $(grep -HE '^(TracerPid|State)' /proc/"$1"/task/*/status)"; }
thread_count() { vhost_threads "$1" | wc -l; }
has_threads() { [ "$(thread_count "$1")" = "$2" ]; }

# As the VM came up, whatever the test before left.
fresh() {
	need_workers
	ctl worker spread vm1/scsi0 --workers 1
	expect_status 0
	ctl worker free vm1/scsi0 --idle
	expect_status 0
	expect_eq "number of threads" "$(thread_count "$vm1")" 4
}

setup() {
	qemu_up vm1 --scsi-queues 4
	vm1=${VM_PID[vm1]}
}

test_qemu_create_prints_ids_and_threads() {
	fresh
	local before id tid
	before=$(vhost_threads "$vm1")
	changes worker create vm1/scsi0 --count 2
	expect_json '[.changes[] | [.target, .setting, .before, .after, .worker_id, .applied]]' \
		'[["vm1/scsi0","worker",null,1,1,true],["vm1/scsi0","worker",null,2,2,true]]'
	for tid in $(jq '.changes[].worker_tid' <<<"$out"); do
		expect_eq "name of thread $tid" "$(cat "/proc/$vm1/task/$tid/comm")" "vhost-$vm1"
		! grep -qx "$tid" <<<"$before" || fail "$tid was there before"
	done
	expect_eq "number of threads" "$(thread_count "$vm1")" 6
	for id in 1 2; do expect_json ".changes[$((id - 1))].worker_tid > 0" true; done
}

test_qemu_idle_workers_are_shown() {
	fresh
	changes worker create vm1/scsi0 --count 2
	ctl worker list vm1
	expect_status 0
	keep state
	expect_json '[.vms[0].devices[] | select(.kind == "scsi").workers[] | select(.queues == [])] | length' 2
	ctl worker list vm1 --table
	expect_match out ', idle$'
}

test_qemu_attach_and_free() {
	fresh
	changes worker create vm1/scsi0 --count 2
	changes worker attach vm1/scsi0/2 1
	expect_json '[.changes[] | [.target, .setting, .before, .after]]' '[["vm1/scsi0/req0","worker_id",0,1]]'
	expect_eq "worker of queue 2" "$(worker_of vm1/scsi0/2)" 1
	ctl worker free vm1/scsi0 1
	expect_status 1
	expect_match err 'vm1/scsi0: free the worker: worker 1 is attached to a queue; attach its queues'
	changes worker attach vm1/scsi0/req0 0
	changes worker free vm1/scsi0 1
	expect_json '[.changes[] | [.setting, .before, .after, .worker_tid > 0]]' '[["worker",1,null,true]]'
	[ ! -e "/proc/$vm1/task/$(jq '.changes[0].worker_tid' <<<"$out")" ] || fail "the thread is there"
	expect_eq "number of threads" "$(thread_count "$vm1")" 5
	ctl worker free vm1/scsi0 1
	expect_status 3
	expect_match err 'the device has no worker 1'
}

test_qemu_free_idle() {
	fresh
	changes worker create vm1/scsi0 --count 2
	changes worker free vm1/scsi0 1
	changes worker free vm1/scsi0 --idle
	expect_json '[.changes[] | [.setting, .before, .after]]' '[["worker",2,null]]'
	expect_eq "number of threads" "$(thread_count "$vm1")" 4
	changes worker free vm1/scsi0 --idle
	expect_json .changes '[]'
}

test_qemu_spread_is_an_end_state() {
	fresh
	changes worker spread vm1/scsi0 --dry-run
	expect_json '[.changes[] | select(.applied)] | length' 0
	expect_eq "number of threads" "$(thread_count "$vm1")" 4
	changes worker spread vm1/scsi0
	expect_json '[.changes[] | select(.setting == "worker_id").target]' \
		'["vm1/scsi0/req0","vm1/scsi0/req1","vm1/scsi0/req2","vm1/scsi0/req3"]'
	ctl show vm1/scsi0 --all-queues
	expect_json '[.vms[0].devices[0].queues[].worker_id] | [.[0:6], (.[6:] | unique)]' '[[0,0,1,2,3,4],[0]]'
	changes worker spread vm1/scsi0
	expect_json .changes '[]'
	changes worker spread vm1/scsi0 --workers 2
	ctl show vm1/scsi0 --all-queues
	expect_json '[.vms[0].devices[0].queues[].worker_id] | .[0:7]' '[0,0,1,2,1,2,0]'
	changes worker spread vm1/scsi0 --workers 1
	expect_json '[.changes[] | select(.setting == "worker").before]' '[1,2]'
	expect_eq "number of threads" "$(thread_count "$vm1")" 4
	changes worker spread vm1/scsi0 --workers 1
	expect_json .changes '[]'
}

test_qemu_pin() {
	fresh
	changes worker create vm1/scsi0 --attach req0
	local tid
	tid=$(jq '.changes[0].worker_tid' <<<"$out")
	changes worker pin vm1/scsi0 1 0
	expect_json '[.changes[] | [.setting, .before, .after, .worker_id, .worker_tid]]' "[[\"cpus\",\"0-1\",\"0\",1,$tid]]"
	expect_eq "its cpus" "$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$vm1/task/$tid/status")" 0
	expect_eq "threads on cpu 0 only" "$(grep -lP '^Cpus_allowed_list:\t0$' /proc/"$vm1"/task/*/status | wc -l)" 1
	changes worker pin vm1/scsi0 1 0-1
	changes worker pin vm1/scsi0 1 0-1
	expect_json .changes '[]'
	changes worker attach vm1/scsi0/req0 0
	changes worker free vm1/scsi0 --idle
	expect_eq "number of threads" "$(thread_count "$vm1")" 4
	guest_ping vm1 -q -c 2 -W 2 >/dev/null || fail "the guest does not answer"
}

test_bad_values_change_nothing() {
	fresh
	local map
	map=$(worker_of vm1/scsi0)
	ctl worker attach vm1/scsi0/2 77
	expect_status 3
	ctl worker attach vm1/scsi0/2,200 0
	expect_status 3
	ctl worker attach vm1/scsi0/2 x
	expect_status 2
	ctl worker attach vm1/scsi0 0
	expect_status 2
	ctl worker free vm1/scsi0 77
	expect_status 3
	ctl worker free vm1/scsi0
	expect_status 2
	ctl worker free vm1/scsi0 0
	expect_status 1
	ctl worker create vm1/scsi0 --cpus 9
	expect_status 3
	expect_match err 'no cpu 9 online; it has 0-1'
	ctl worker create vm1/scsi0 --cpus x
	expect_status 2
	ctl worker create vm1/scsi0 --count 0
	expect_status 2
	ctl worker create vm1/scsi0 --attach 2,500
	expect_status 3
	ctl worker create vm1
	expect_status 2
	ctl worker spread vm1/scsi0 --workers 5
	expect_status 2
	ctl worker spread vm1/scsi0 --queues 1-3
	expect_status 2
	ctl worker spread vm1/scsi0 --queues 100-200
	expect_status 3
	ctl worker pin vm1/scsi0 77 0
	expect_status 3
	ctl worker pin vm1/scsi0 0 9
	expect_status 3
	expect_eq "the map" "$(worker_of vm1/scsi0)" "$map"
	expect_eq "number of threads" "$(thread_count "$vm1")" 4
}

# Placing a thread takes no worker call, only to know which thread it is.
pin_kernel_thread() {
	local source tid
	source=$(jq -r .source <<<"$out")
	ctl worker pin vm1/scsi0 0 0
	if [ "$source" != snapshot ]; then
		expect_status 5
		expect_match err 'is not known, .* this kernel has no worker calls for vhost-scsi'
		return
	fi
	expect_status 0
	tid=$(jq '.changes[0].worker_tid' <<<"$out")
	expect_eq "its cpus" "$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$tid/status")" 0
	expect_eq "its name" "$(cat "/proc/$tid/comm")" "vhost-$vm1"
	ctl worker pin vm1/scsi0 0 0-1
	expect_status 0
}

test_refusals_in_words() {
	local device
	for device in net0 vsock0; do
		ctl worker create "vm1/$device"
		expect_status 5
		expect_match err "vm1/$device: change workers: vhost-${device%0} has no worker calls in any kernel"
	done
	if no_worker_calls; then
		for what in "create vm1/scsi0" "attach vm1/scsi0/2 1" "free vm1/scsi0 1" "free vm1/scsi0 --idle" \
			"spread vm1/scsi0" "spread vm1/scsi0 --dry-run"; do
			# shellcheck disable=SC2086 # several words
			ctl worker $what
			expect_status 5
			expect_match err 'this kernel has no worker calls for vhost-scsi'
		done
		ctl worker list vm1
		expect_status 0
		expect_json '[.vms[0].worker_threads[] | [.mode, .comm]] | unique' "[[\"kthread\",\"vhost-$vm1\"]]"
		expect_json '.vms[0].worker_threads | length' 4
		pin_kernel_thread
		return
	fi
	kill -STOP "$vm1"
	ctl worker create vm1/scsi0
	kill -CONT "$vm1"
	expect_status 1
	expect_match err 'it is stopped \(SIGSTOP\)'
}

test_no_more_processes() {
	need_workers
	[ "$(id -u)" = 0 ] || skip "needs another user"
	vmm_up lim 1 --helpers 1
	# A limit counts for users without CAP_SYS_RESOURCE, so the memory of root's own makes it moot: a cgroup's does.
	local dir=/sys/fs/cgroup/vhostctl-lim
	mkdir "$dir" 2>/dev/null || skip "no cgroup v2 to write to"
	at_exit rmdir "$dir"
	at_exit vmm_down
	echo +pids >/sys/fs/cgroup/cgroup.subtree_control
	echo "$VMM_PID" >"$dir/cgroup.procs"
	cat "$dir/pids.current" >"$dir/pids.max"
	ctl worker create lim/scsi0 --count 2
	expect_status 1
	expect_match err 'could make no thread .*RLIMIT_NPROC.*pids.max'
	echo max >"$dir/pids.max"
	expect_eq "threads" "$(thread_count "$VMM_PID")" 1
	ctl worker create lim/scsi0
	expect_status 0
}

test_cpuset_and_another_cgroup() {
	need_workers
	vmm_up cs 1 --helpers 1
	local dir=/sys/fs/cgroup/vhostctl-cs tid
	mkdir "$dir" 2>/dev/null || skip "no cgroup v2 to write to"
	at_exit rmdir "$dir"
	at_exit vmm_down
	echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control || skip "no cpuset controller"
	echo 1 >"$dir/cpuset.cpus"
	echo "$VMM_PID" >"$dir/cgroup.procs"
	ctl worker create cs/scsi0 --cpus 0
	expect_status 1
	expect_match err 'cpu 0 is outside of the cpuset of its cgroup, which is 1;'
	expect_eq "threads" "$(thread_count "$VMM_PID")" 1
	changes worker create cs/scsi0 --cpus 1
	tid=$(jq '.changes[0].worker_tid' <<<"$out")
	expect_match out '"worker_tid":[0-9]'
	expect_eq "cgroup of the worker" "$(cat "/proc/$VMM_PID/task/$tid/cgroup")" "0::/vhostctl-cs"
}

# A thread is the one that serves a queue if kicks of that queue make it run, and no other.
proved_by_kicks() {
	local queue=$1 tid=$2 before after ran
	before=$(switches "$VMM_PID")
	for _ in 1 2 3 4; do
		vmm_say kick scsi0 "$queue" >/dev/null
		sleep 0.02
	done
	after=$(switches "$VMM_PID")
	ran=$(comm -13 <(sort <<<"$before") <(sort <<<"$after") | cut -d' ' -f1)
	expect_eq "threads that ran for queue $queue" "$ran" "$tid"
}

test_threads_are_proved_by_function() {
	need_workers
	vmm_up fx 4 --helpers 2
	local q tid
	changes worker spread fx/scsi0 --queues 2-5
	for q in 2 3 4 5; do
		tid=$(jq ".changes[] | select(.target == \"fx/scsi0/req$((q - 2))\").worker_tid" <<<"$out")
		proved_by_kicks "$q" "$tid"
	done
	for q in 0 3; do
		ctl worker list "fx/scsi0/$q"
		id=$(jq '.vms[0].devices[0].queues[0].worker_id' <<<"$out")
		# Without the right to a snapshot nobody tells the thread: pin finds it.
		run setpriv --bounding-set=-bpf,-perfmon,-sys_admin "$VHOSTCTL" worker pin fx/scsi0 "$id" 1
		expect_status 0
		keep changes
		proved_by_kicks "$q" "$(jq '.changes[0].worker_tid' <<<"$out")"
		changes worker pin fx/scsi0 "$id" 0
		proved_by_kicks "$q" "$(jq '.changes[0].worker_tid' <<<"$out")"
	done
	ctl worker list fx/scsi0
	expect_json '[.vms[0].devices[0].queues[].worker_id] | .[0:6]' '[0,0,1,2,3,4]'
}

# Rounds and kills are many calls in one process: a start of the program is most of the time in the lab.
note_numbers() { echo "$LAB_KERNEL: $out" >>"$LAB_OUT/notes"; }

test_spread_under_io() {
	need_workers
	vmm_up io 4 --helpers 2
	io_start 4
	run "$BUILD/tests/spreads" rounds "$VMM_PID" 4 "${WORKER_ROUNDS:-30}"
	expect_status 0
	note_numbers
	io_stop
	wait_for 5 has_threads "$VMM_PID" 1 || fail "$(thread_count "$VMM_PID") threads are left of 1"
	quiet_threads "$VMM_PID"
}

test_spread_of_64_queues_under_io() {
	need_workers
	vmm_up io 64 --helpers 2
	io_start 64
	changes worker spread io/scsi0 --queues 2-65
	expect_json '[.changes[] | select(.setting == "worker_id").after] | unique | length' 64
	changes worker spread io/scsi0 --queues 2-65 --workers 1
	io_stop
	wait_for 5 has_threads "$VMM_PID" 1 || fail "$(thread_count "$VMM_PID") threads are left of 1"
	quiet_threads "$VMM_PID"
}

test_kills_amid_spread() {
	need_workers
	vmm_up kl 4 --helpers 2
	io_start 4
	run "$BUILD/tests/spreads" kills "$VMM_PID" 4 "${WORKER_KILLS:-30}"
	expect_status 0
	note_numbers
	quiet_threads "$VMM_PID"
	changes worker free kl/scsi0 --idle
	changes worker spread kl/scsi0 --queues 2-5 --workers 1
	changes worker free kl/scsi0 --idle
	wait_for 5 has_threads "$VMM_PID" 1 || fail "$(thread_count "$VMM_PID") threads are left of 1"
	changes worker spread kl/scsi0 --queues 2-5
	expect_json '[.changes[] | select(.setting == "worker")] | length' 4
	io_stop
	quiet_threads "$VMM_PID"
}

test_failure_half_way_is_put_back() {
	need_workers
	vmm_up rb 4 --helpers 1
	changes worker attach rb/scsi0/2 0
	expect_json .changes '[]'
	ctl worker attach rb/scsi0/2-5 9
	expect_status 3
	ctl worker create rb/scsi0 --attach 2-5,129,130
	expect_status 3
	expect_match err 'the device has no queue 130'
	ctl show rb/scsi0
	expect_json '[.vms[0].devices[0].queues[].worker_id] | unique' '[0]'
	expect_eq "threads" "$(thread_count "$VMM_PID")" 1
}

test_graph() {
	command -v dot >/dev/null || skip "no Graphviz"
	ctl show --dot vm1
	expect_status 0
	dot -Tplain <<<"$out" >"$t_dir/plain" || fail "Graphviz refuses it"
	grep -q '^node vm0 .*vm1' "$t_dir/plain" || fail "$(cat "$t_dir/plain")"
	no_worker_calls || grep -q '^edge q0_2_0 w0_2_0 ' "$t_dir/plain" || fail "$(cat "$t_dir/plain")"
	ctl show --table vm1
	no_worker_calls || expect_match out 'req0'
}

test_documents_are_valid() {
	local kind
	for kind in changes state; do
		[ -s "$t_dir/$kind.json" ] || continue
		run /usr/bin/python3 tests/unit/validate.py man/vhostctl.schema.json "$kind" <"$t_dir/$kind.json"
		expect_status 0
	done
}

run_cases
