#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Workers of a real QEMU's vhost-scsi: created, attached, freed, spread, pinned, and what is refused.
# timeout: 1200
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/fixture/qemu.sh
. tests/fixture/qemu.sh
# shellcheck source=tests/fixture/io.sh
. tests/fixture/io.sh
# shellcheck source=tests/fixture/worker.sh
. tests/fixture/worker.sh
case_limit=240
worker_of() { ctl worker list "$1"; expect_status 0; jq ".vms[0].devices[0].queues[0].worker_id" <<<"$out"; }

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

# Nothing but the snapshot knows of workers that serve no queue.
test_qemu_free_of_several() {
	need_snapshot
	fresh
	changes worker create vm1/scsi0 --count 4 --attach req0,req1
	for dry in --dry-run --compact; do
		ctl worker free vm1/scsi0 1-4 77,78 "$dry"
		expect_status 1
		expect_match err "^vhostctl: vm1/scsi0: free the worker: workers 1-2 are attached to queues; attach those to other \
workers first; the device has no workers 77-78; 'vhostctl worker list' shows those it has\$"
		expect_json '[.changes[] | [.setting, .before, .after, .worker_tid > 0]]' '[["worker",3,null,true],["worker",4,null,true]]'
		expect_json '[.errors[].code]' '["EBUSY","EBUSY","ENODEV","ENODEV"]'
		keep changes
	done
	expect_eq "number of threads" "$(thread_count "$vm1")" 6
	ctl worker free vm1/scsi0 1 77
	expect_status 1
	expect_eq stdout "$out" ""
	expect_match err 'worker 1 is attached to a queue; .* the device has no worker 77;'
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

# QEMU's command line says how many queues it has; that of all others the default worker is known all the same.
test_qemu_queues_shown_without_a_snapshot() {
	fresh
	ctl show --source owner vm1/scsi0
	expect_status 0
	expect_json '[.vms[0].devices[0].queues[].index]' '[0,1,2,3,4,5]'
	expect_json '[.vms[0].devices[0].workers[].queues | length] | add >= 130' true
	ctl show --source owner --all-queues vm1/scsi0
	expect_json '.vms[0].devices[0].queues | length >= 130' true
	changes worker create vm1/scsi0 --attach 77
	ctl show --source owner vm1/scsi0
	expect_json '[.vms[0].devices[0].queues[] | [.index, .worker_id]] | .[5:]' '[[5,0],[77,1]]'
	changes worker attach vm1/scsi0/77 0
	changes worker free vm1/scsi0 --idle
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
}

test_a_stopped_vm() {
	fresh
	local what
	kill -STOP "$vm1"
	at_exit kill -CONT "$vm1"
	for what in "create vm1/scsi0" "free vm1/scsi0 1" "spread vm1/scsi0"; do
		# shellcheck disable=SC2086 # several words
		ctl worker $what
		expect_status 1
		expect_match err 'vm1/scsi0: .* it is stopped \(SIGSTOP\)'
	done
	ctl worker list vm1/scsi0
	expect_status 0
	kill -CONT "$vm1"
	expect_eq "number of threads" "$(thread_count "$vm1")" 4
}

# Tasks of the process or kernel threads: what the scheduler knows of them is said of both.
test_scheduling_facts() {
	local tid
	for tid in $(vhost_threads "$vm1"); do
		ctl list vm1
		expect_json ".vms[0].worker_threads[] | select(.tid == $tid) | [.policy, .nice, .cpus, .cgroup, .cpu_ns > 0, .remark]" \
			"[\"other\",0,\"$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$tid/status")\",\"$(sed -n 's/^0:://p' "/proc/$tid/cgroup")\",true,null]"
	done
	renice -n 5 -p "$tid" >/dev/null
	at_exit renice -n 0 -p "$tid"
	chrt --batch -p 0 "$tid"
	at_exit chrt --other -p 0 "$tid"
	ctl list vm1
	expect_json ".vms[0].worker_threads[] | select(.tid == $tid) | [.policy, .nice]" '["batch",5]'
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

test_documents_are_valid() { valid_documents; }

run_cases
