#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Workers of the fixture VMM's vhost-scsi: threads proved by kicks, rounds and kills under I/O, limits, refusals
# half-way, kernel threads. WORKER_ROUNDS and WORKER_KILLS make the two long tests as long as one likes, within
# WORKER_LIMIT seconds each ("make check-worker").
# timeout: 2400
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/fixture/qemu.sh
. tests/fixture/qemu.sh
# shellcheck source=tests/fixture/io.sh
. tests/fixture/io.sh
# shellcheck source=tests/fixture/worker.sh
. tests/fixture/worker.sh
case_limit=${WORKER_LIMIT:-240}

note() { echo "$LAB_KERNEL: $*" >>"$LAB_OUT/notes"; }

# A thread is the one that serves a queue if kicks of that queue make it run, and no other.
proved_by_kicks() {
	local device=$1 queue=$2 tid=$3 before after ran
	before=$(switches "$VMM_PID")
	for _ in 1 2 3 4; do
		vmm_say kick "$device" "$queue" >/dev/null
		sleep 0.02
	done
	after=$(switches "$VMM_PID")
	ran=$(comm -13 <(sort <<<"$before") <(sort <<<"$after") | cut -d' ' -f1)
	expect_eq "threads that ran for queue $queue of $device" "$ran" "$tid"
}

# All queues of all devices of the VM $1, as its worker list has them.
prove_all() {
	local device queue tid n=0
	ctl worker list "$1"
	expect_status 0
	keep state
	expect_json .source '"snapshot"'
	while read -r device queue tid; do
		proved_by_kicks "$device" "$queue" "$tid"
		n=$((n + 1))
	done < <(jq -r '.vms[0].devices[] | .id as $d | .queues[] | "\($d) \(.index) \(.worker_tid)"' <<<"$out")
	expect_eq "queues" "$n" "$2"
	note "$n queues proved to be of the thread shown, among $(thread_count "$VMM_PID")"
}

test_threads_are_proved_by_kicks() {
	need_snapshot
	vmm_up fx 4 --helpers 2 --net 1 --vsock 77
	prove_all fx 10
	if no_worker_calls; then return; fi
	# Those that were just made, as the run that made them says.
	changes worker spread fx/scsi0 --queues 2-5
	for q in 2 3 4 5; do
		proved_by_kicks scsi0 "$q" "$(jq ".changes[] | select(.target == \"fx/scsi0/req$((q - 2))\").worker_tid" <<<"$out")"
	done
	prove_all fx 10
}

# Without the right to a snapshot nobody tells the thread: pin finds it.
test_threads_are_found_without_a_snapshot() {
	need_workers
	vmm_up fx 4 --helpers 2 --vsock 77
	changes worker spread fx/scsi0 --queues 2-5
	local q id
	for q in 0 3; do
		id=$(map fx/scsi0 6 | jq ".[$q]")
		run no_snapshot "$VHOSTCTL" worker pin fx/scsi0 "$id" 1
		expect_status 0
		keep changes
		proved_by_kicks scsi0 "$q" "$(jq '.changes[0].worker_tid' <<<"$out")"
		changes worker pin fx/scsi0 "$id" 0
		proved_by_kicks scsi0 "$q" "$(jq '.changes[0].worker_tid' <<<"$out")"
	done
	expect_eq "the map" "$(map fx/scsi0 6)" '[0,0,1,2,3,4]'
	expect_threads "$VMM_PID" 6
	# One that was made is known all the same, and so is one that ended alone.
	run no_snapshot "$VHOSTCTL" worker create fx/scsi0
	expect_status 0
	expect_eq "its name" "$(cat "/proc/$VMM_PID/task/$(jq '.changes[0].worker_tid' <<<"$out")/comm")" "vhost-$VMM_PID"
	local tid
	tid=$(jq '.changes[0].worker_tid' <<<"$out")
	run no_snapshot "$VHOSTCTL" worker free fx/scsi0 5
	expect_status 0
	expect_json '[.changes[] | [.before, .worker_tid]]' "[[5,$tid]]"
}

# Other vhost threads of the VM come and go all the while: which is new is not which is ours.
test_threads_are_told_from_others_born_meanwhile() {
	need_workers
	vmm_up fx 1 --helpers 2
	local i tid known=0
	for i in 1 2 3 4 5 6; do
		vmm_say births on
		run no_snapshot "$VHOSTCTL" worker create fx/scsi0 --attach req0
		vmm_say births off
		expect_status 0
		tid=$(jq '.changes[0].worker_tid' <<<"$out")
		if [ "$tid" != null ]; then
			known=$((known + 1))
			proved_by_kicks scsi0 2 "$tid"
		fi
	done
	note "$known of 6 threads told from others born meanwhile"
	[ "$known" -ge 4 ] || fail "only $known of 6 threads were told"
	changes worker spread fx/scsi0 --queues 2 --workers 1
	changes worker free fx/scsi0 --idle
	expect_threads "$VMM_PID" 1
}

refused_for_kthread() {
	ctl worker "$@"
	expect_status 5
	expect_match err "kt/scsi0: create a worker: the device's worker is a kernel thread, and the kernel makes no further ones"
}

kernel_threads_are_told_apart() {
	local tid
	prove_all kt 8
	changes worker pin kt/scsi0 0 1
	tid=$(jq '.changes[0].worker_tid' <<<"$out")
	expect_eq "its cpus" "$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$tid/status")" 1
	proved_by_kicks scsi0 2 "$tid"
}

test_workers_that_are_kernel_threads() {
	[ -e /sys/module/vhost/parameters/fork_from_owner_default ] || skip "this kernel has no choice of it"
	vmm_up kt 4 --kthread --helpers 2 --vsock 78
	expect_threads "$VMM_PID" 2
	ctl list kt
	expect_status 0
	expect_json '[.vms[0].worker_threads[] | [.mode, .comm]]' "[[\"kthread\",\"vhost-$VMM_PID\"],[\"kthread\",\"vhost-$VMM_PID\"]]"
	expect_json '[.vms[0].devices[].worker_mode] | unique' '["kthread"]'
	ctl worker list kt --table
	expect_status 0
	expect_match out 'kthread'
	refused_for_kthread create kt/scsi0
	refused_for_kthread create kt/scsi0 --count 2 --attach req0
	refused_for_kthread create kt/scsi0 --dry-run
	refused_for_kthread spread kt/scsi0 --queues 2-5
	refused_for_kthread spread kt/scsi0 --queues 2-5 --dry-run
	# What is so already, or takes no new worker, is no matter.
	changes worker spread kt/scsi0 --queues 2-5 --workers 1
	expect_json .changes '[]'
	changes worker attach kt/scsi0/2 0
	expect_json .changes '[]'
	changes worker free kt/scsi0 --idle
	expect_json .changes '[]'
	ctl worker free kt/scsi0 0
	expect_status 1
	ctl worker free kt/scsi0 1
	expect_status 3
	ctl worker attach kt/scsi0/2 1
	expect_status 3
	expect_threads "$VMM_PID" 2
	has_no_snapshot || kernel_threads_are_told_apart
	run no_snapshot "$VHOSTCTL" worker pin kt/scsi0 0 0
	expect_status 5
	expect_match err "which of the VM's 2 vhost threads is worker 0 is not known, .* no second worker can be made beside a kernel thread"
	quiet_threads "$VMM_PID"
}

test_spread_under_io() {
	need_workers
	vmm_up io 4 --helpers 2
	io_start 4
	run "$BUILD/tests/spreads" rounds "$VMM_PID" 4 "${WORKER_ROUNDS:-30}"
	expect_status 0
	io_stop
	note "$out, $io_blocks blocks"
	expect_threads "$VMM_PID" 1
	quiet_threads "$VMM_PID"
}

test_spread_of_64_queues_under_io() {
	need_workers
	vmm_up io 64 --helpers 2
	io_start 64
	changes worker spread io/scsi0 --queues 2-65
	expect_json '[.changes[] | select(.setting == "worker_id").after] | unique | length' 64
	changes worker spread io/scsi0 --queues 2-65
	expect_json .changes '[]'
	changes worker spread io/scsi0 --queues 2-65 --workers 1
	io_stop
	note "64 queues: $io_blocks blocks"
	expect_threads "$VMM_PID" 1
	quiet_threads "$VMM_PID"
}

test_kills_amid_spread() {
	need_workers
	vmm_up kl 4 --helpers 2
	io_start 4
	run "$BUILD/tests/spreads" kills "$VMM_PID" 4 "${WORKER_KILLS:-30}"
	expect_status 0
	quiet_threads "$VMM_PID"
	note "$out, then $(thread_count "$VMM_PID") vhost threads"
	changes worker free kl/scsi0 --idle
	changes worker spread kl/scsi0 --queues 2-5 --workers 1
	expect_threads "$VMM_PID" 1
	changes worker spread kl/scsi0 --queues 2-5
	expect_json '[.changes[] | select(.setting == "worker")] | length' 4
	io_stop
	note "$io_blocks blocks"
	expect_threads "$VMM_PID" 5
	quiet_threads "$VMM_PID"
}

# Two of four are there, one more may be: the second to be made is refused, and the first ends again.
test_limit_reached_half_way() {
	need_workers
	local before
	VMM_WITH=(setpriv --ruid 65534 "--bounding-set=-sys_resource,-sys_admin")
	vmm_up lim 4 --helpers 1
	io_start 4
	changes worker spread lim/scsi0 --queues 2-5 --workers 2
	before=$(map lim/scsi0 6)
	expect_eq "the map" "$before" '[0,0,1,1,2,2]'
	prlimit --pid "$VMM_PID" --nproc="$(($(find "/proc/$VMM_PID/task" -mindepth 1 -maxdepth 1 | wc -l) + 1))"
	ctl worker spread lim/scsi0 --queues 2-5
	expect_status 1
	expect_match err 'lim/scsi0: create a worker: the kernel could make no thread .*RLIMIT_NPROC'
	expect_threads "$VMM_PID" 3
	expect_eq "the map" "$(map lim/scsi0 6)" "$before"
	prlimit --pid "$VMM_PID" --nproc=1000
	changes worker spread lim/scsi0 --queues 2-5
	expect_threads "$VMM_PID" 5
	io_stop
}

test_limit_of_the_cgroup() {
	need_workers
	vmm_up lim 1 --helpers 1
	local dir=/sys/fs/cgroup/vhostctl-lim
	mkdir "$dir" 2>/dev/null || skip "no cgroup v2 to write to"
	at_exit rmdir "$dir"
	at_exit vmm_down
	echo +pids >/sys/fs/cgroup/cgroup.subtree_control
	echo "$VMM_PID" >"$dir/cgroup.procs"
	cat "$dir/pids.current" >"$dir/pids.max"
	ctl worker create lim/scsi0 --count 2
	expect_status 1
	expect_match err 'could make no thread .*pids.max'
	echo max >"$dir/pids.max"
	expect_threads "$VMM_PID" 1
	changes worker create lim/scsi0
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
	expect_threads "$VMM_PID" 1
	ctl worker pin cs/scsi0 0 0-1
	expect_status 1
	expect_match err 'cpu 0 is outside of the cpuset of its cgroup, which is 1;'
	changes worker create cs/scsi0 --cpus 1
	tid=$(jq '.changes[0].worker_tid' <<<"$out")
	expect_match out '"worker_tid":[0-9]'
	expect_eq "cgroup of the worker" "$(cat "/proc/$VMM_PID/task/$tid/cgroup")" "0::/vhostctl-cs"
}

# A kernel thread stays where the VM was when it took the device; a task can be moved by itself.
test_remark_on_another_cgroup() {
	vmm_up cg 1 --helpers 1
	local dir=/sys/fs/cgroup/vhostctl-cg tid
	mkdir "$dir" 2>/dev/null || skip "no cgroup v2 to write to"
	at_exit rmdir "$dir"
	at_exit vmm_down
	ctl worker list cg
	expect_json '[.vms[0].devices[0].workers[].remark]' '[null]'
	echo "$VMM_PID" >"$dir/cgroup.procs"
	tid=$(vhost_threads "$VMM_PID")
	if ! no_worker_calls; then
		ctl worker list cg
		expect_json '[.vms[0].devices[0].workers[].remark]' '[null]'
		mkdir "$dir/own"
		at_exit rmdir "$dir/own"
		at_exit vmm_down
		echo threaded >"$dir/own/cgroup.type"
		echo "$tid" >"$dir/own/cgroup.threads"
	fi
	ctl worker list cg
	keep state
	expect_json '[.vms[0].devices[0].workers[] | [.tid, .remark]]' \
		"[[$tid,\"in another cgroup than the VM's main thread\"]]"
	expect_json '.vms[0].devices[0].workers[0].cgroup' "\"$(sed -n 's/^0:://p' "/proc/$tid/cgroup")\""
}

# Four queues go to four workers, of which one is taken away after it was made and before it gets its queue.
test_refusal_among_the_moves_puts_the_old_map_back() {
	need_workers
	command -v gdb >/dev/null || skip "no gdb"
	local before
	vmm_up rb 4 --helpers 1
	io_start 4
	changes worker spread rb/scsi0 --queues 2-5 --workers 2
	before=$(map rb/scsi0 6)
	run gdb -nx -q -batch -return-child-result -iex 'set debuginfod enabled off' -ex 'break make_moves' -ex run \
		-ex "shell $VHOSTCTL worker free rb/scsi0 4 >$t_dir/freed" -ex continue \
		--args "$VHOSTCTL" worker spread rb/scsi0 --queues 2-5
	expect_eq "freed meanwhile" "$(jq -c '[.changes[].before]' "$t_dir/freed")" '[4]'
	expect_status 3
	expect_match err 'rb/scsi0: attach the queue to the worker: the device has no worker 4;'
	expect_eq "the map" "$(map rb/scsi0 6)" "$before"
	expect_threads "$VMM_PID" 3
	io_stop
	quiet_threads "$VMM_PID"
}

test_refusals_change_nothing() {
	need_workers
	vmm_up rb 4 --helpers 1
	changes worker attach rb/scsi0/2 0
	expect_json .changes '[]'
	ctl worker attach rb/scsi0/2-5 9
	expect_status 3
	ctl worker create rb/scsi0 --attach 2-5,129,130
	expect_status 3
	expect_match err 'the device has no queue 130'
	ctl show rb/scsi0 --all-queues
	expect_json '[.vms[0].devices[0].queues[].worker_id] | unique' '[0]'
	expect_threads "$VMM_PID" 1
}

# The ids that a killed run leaves can lie far above those that are free.
test_idle_workers_past_a_gap() {
	need_workers
	vmm_up gap 1 --helpers 1
	changes worker create gap/scsi0 --count 70
	expect_json '[.changes[].after] == [range(1; 71)]' true
	changes worker free gap/scsi0 1-68
	expect_json '.changes | length' 68
	run no_snapshot "$VHOSTCTL" worker free gap/scsi0 --idle
	expect_status 0
	expect_json '[.changes[].before]' '[69,70]'
	expect_threads "$VMM_PID" 1
}

test_documents_are_valid() { valid_documents; }

run_cases
