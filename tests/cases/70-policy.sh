#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# save, diff and apply on a real QEMU: a policy becomes true, entries are merged, bad documents are refused.
# timeout: 900
# shellcheck disable=SC2317 # run_cases calls the functions
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/fixture/qemu.sh
. tests/fixture/qemu.sh
# shellcheck source=tests/fixture/io.sh
. tests/fixture/io.sh
# shellcheck source=tests/fixture/policy.sh
. tests/fixture/policy.sh
case_limit=${POLICY_LIMIT:-240}

setup() {
	qemu_up vm1 --scsi-queues 4
	vm1=${VM_PID[vm1]}
	tap1=${VM_TAP[vm1]}
}

# Every value that a policy can set, by ioctls in the VM's own process, by ethtool and from /proc.
second_reading() {
	local source=$1
	"$VHOSTCTL" show vm1 --all-queues --source "$source" >"$t_dir/reading"
	jq -c '[.vms[0].devices[] | select(.kind == "net").queues[].busyloop_usecs]' "$t_dir/reading"
	frames "$tap1"
	if no_worker_calls; then return; fi
	jq -c '[.vms[0].devices[] | select(.kind == "scsi").queues[0:6][].worker_id]' "$t_dir/reading"
	vhost_threads "$vm1" | wc -l
}

test_save_and_apply_change_nothing() {
	local before after
	before=$(second_reading owner)
	ctl save vm1
	expect_status 0
	keep policy
	run apply "$out"
	expect_status 0
	expect_json .changes '[]'
	expect_json .notes '[]'
	after=$(second_reading owner)
	expect_eq "second reading" "$after" "$before"
	# Without the right to a snapshot as well.
	run no_snapshot "$VHOSTCTL" save vm1
	expect_status 0
	keep policy
	run no_snapshot "$VHOSTCTL" apply - <<<"$out"
	expect_status 0
	expect_json .changes '[]'
	expect_eq "second reading" "$(second_reading owner)" "$before"
}

test_a_policy_becomes_true() {
	local workers='"workers":"per-queue",' before
	! no_worker_calls || workers=''
	before=$("$VHOSTCTL" save vm1)
	policy='{"schema":1,"vms":[{"match":{"name":"vm*"},"devices":[
		{"match":{"kind":"net","tap":"'$tap1'"},"busyloop_usecs":{"rx":50,"tx":21},"rx_frames":16},
		{"match":{"kind":"scsi"},'$workers'"comment":"as many as it has queues"}]}]}'
	run "$VHOSTCTL" diff - <<<"$policy"
	expect_status 1
	keep changes
	expect_json '[.changes[] | select(.applied)]' '[]'
	expect_json '[.changes[] | select(.setting == "busyloop_usecs") | [.target, .before, .after]]' \
		'[["vm1/net0/rx",33,50],["vm1/net0/tx",33,21],["vm1/net1/rx",33,50],["vm1/net1/tx",33,21]]'
	run apply "$policy"
	expect_status 0
	keep changes
	expect_json '[.changes[] | select(.applied | not)]' '[]'
	expect_json '[.changes[] | select(.setting == "rx_frames") | [.target, .before, .after]]' "[[\"vm1/$tap1\",0,16]]"
	run "$VHOSTCTL" diff - <<<"$policy"
	expect_status 0
	expect_json .changes '[]'
	if no_worker_calls; then
		expect_eq "second reading" "$(second_reading owner)" $'[50,21,50,21]\n16'
		has_no_snapshot || expect_eq "third reading" "$(second_reading snapshot)" $'[50,21,50,21]\n16'
	else
		expect_eq "second reading" "$(second_reading owner)" $'[50,21,50,21]\n16\n[0,0,1,2,3,4]\n8'
		has_no_snapshot || expect_eq "third reading" "$(second_reading snapshot)" $'[50,21,50,21]\n16\n[0,0,1,2,3,4]\n8'
	fi
	# Nothing differs, so nobody is stopped, where it can be known without.
	run apply "$policy" -v
	expect_status 0
	expect_json .changes '[]'
	if ! has_no_snapshot; then
		expect_match err 'no thread was stopped'
		run strace -f -qq -e trace=ptrace -o "$t_dir/trace" "$VHOSTCTL" apply - <<<"$policy"
		expect_status 0
		expect_eq "ptrace calls" "$(grep -c ptrace "$t_dir/trace" || true)" 0
	fi
	run apply "$before"
	expect_status 0
	keep changes
	run "$VHOSTCTL" diff - <<<"$before"
	expect_status 0
	guest_ping vm1 -q -c 2 -W 5 >/dev/null || fail "the guest does not answer"
}

test_worker_list_and_cpus() {
	need_workers
	need_snapshot	# it names the worker's thread, whose cpus these are
	local before tid
	before=$("$VHOSTCTL" save vm1)
	policy='{"schema":1,"vms":[{"match":{"name":"vm1"},"devices":[{"match":{"id":"scsi0"},"cpus":"0-1",
		"workers":[{"queues":"req0,req2","cpus":"1"},{"queues":"3"}]}]}]}'
	run apply "$policy"
	expect_status 0
	ctl show vm1/scsi0 --all-queues
	expect_json '[.vms[0].devices[0].queues[0:6][].worker_id]' '[0,0,1,2,1,0]'
	expect_json '[.vms[0].devices[0].workers[] | [.id, .cpus]]' '[[0,"0-1"],[1,"1"],[2,"0-1"]]'
	tid=$(jq '.vms[0].devices[0].workers[1].tid' <<<"$out")
	expect_eq "its cpus" "$(sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$vm1/task/$tid/status")" 1
	run apply "$policy"
	expect_json .changes '[]'
	ctl save vm1
	keep policy
	expect_json '[.vms[0].devices[] | select(.workers).workers]' \
		'[[{"queues":"2,4","cpus":"1"},{"queues":"3","cpus":"0-1"}]]'
	run apply "$out"
	expect_json .changes '[]'
	# One queue less for the first, and the second's cpus.
	run apply "${policy/req0,req2/req0}"
	expect_json '[.changes[] | [.target, .setting, .before, .after]]' '[["vm1/scsi0/req2","worker_id",1,0]]'
	run apply "$before"
	expect_status 0
	run "$VHOSTCTL" diff - <<<"$before"
	expect_status 0
	expect_threads "$vm1" 4
}

test_an_idle_worker_is_taken_before_one_is_made() {
	need_workers
	need_snapshot	# no call tells of an idle worker
	ctl worker create vm1/scsi0
	expect_status 0
	local before='{"schema":1,"vms":[{"match":{"name":"vm1"},"devices":[{"match":{"id":"scsi0"},"workers":1}]}]}'
	run apply '{"schema":1,"vms":[{"match":{"name":"vm1"},"devices":[{"match":{"kind":"scsi"},"workers":2}]}]}'
	expect_status 0
	expect_json '[.changes[] | select(.setting == "worker")] | length' 1
	expect_threads "$vm1" 6
	run apply "$before"
	expect_threads "$vm1" 4
}

test_merging_and_conflicts() {
	local policy='{"schema":1,"vms":[
		{"match":{},"devices":[{"match":{"kind":"net"},"busyloop_usecs":10,"rx_frames":8}]},
		{"match":{"name":"vm1"},"devices":[{"match":{"id":"net1"},"busyloop_usecs":{"tx":20}}]},
		{"match":{"name":"vm?"},"devices":[{"match":{"id":"net0"},"busyloop_usecs":{"rx":30}}]},
		{"match":{"name":"*"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":{"rx":40}}]},
		{"match":{"name":"other"},"devices":[]}]}'
	run "$VHOSTCTL" diff - <<<"$policy"
	expect_status 1
	expect_json '[.changes[] | select(.setting == "busyloop_usecs") | [.target, .after]]' \
		'[["vm1/net0/rx",40],["vm1/net0/tx",10],["vm1/net1/rx",40],["vm1/net1/tx",20]]'
	# Narrower entries override without a word, the last one, which is wider, does not.
	expect_json '[.notes[] | select(test("vms\\[3\\].devices\\[0\\]; the later one holds"))] | length' 1
	expect_json '[.notes[] | select(test("vms\\[[12]\\].*to something else, by .*vms\\[[12]\\]"))] | length' 0
	expect_json '[.notes[] | select(test("^no VM matches standard input: \\$.vms\\[4\\]"))] | length' 1
}

# ---- bad documents ----

# refused STATUS REGEX: the file $t_dir/bad.json
refused() {
	run "$VHOSTCTL" apply "$t_dir/bad.json"
	expect_status "$1"
	expect_match err "$2"
	expect_eq stdout "$out" ''
	expect_eq "lines of stderr" "$(wc -l <<<"$err")" 1
	run "$VHOSTCTL" diff "$t_dir/bad.json"
	expect_status "$1"
}
device() { echo '{"schema":1,"vms":[{"match":{"name":"vm1"},"devices":[{"match":{"id":"net0"},"busyloop_usecs":7},
{"match":{"kind":"net"},'"$1"'}]}]}' >"$t_dir/bad.json"; }

test_bad_documents_change_nothing() {
	local before at='\$\.vms\[0\]\.devices\[1\]'
	before=$(second_reading owner)
	device '"busyloop":5'
	refused 2 "bad.json: $at.busyloop: there is no such key; there are: match"
	device '"rx_frames":"5"'
	refused 2 "$at.rx_frames: it has to be a whole number, not a string"
	device '"rx_frames":5,"rx_frames":6'
	refused 2 'line 2, column [0-9]+: duplicate object key'
	device '"rx_frames":65'
	refused 2 "$at.rx_frames: 65 is out of range; it is 0 to 64"
	device '"busyloop_usecs":{"rx":-1}'
	refused 2 "$at.busyloop_usecs.rx: -1 is out of range"
	device '"busyloop_usecs":20000'
	refused 2 "$at.busyloop_usecs: 20000 us is more than 10 ms"
	device '"busyloop_usecs":NaN'
	refused 2 "line 2, column [0-9]+: invalid token near 'NaN'"
	device '"busyloop_usecs":99999999999999999999'
	refused 2 'line 2, column [0-9]+: too big integer'
	device $'"comment":"\xff"'
	refused 2 'line 2, column [0-9]+: unable to decode byte 0xff'
	device '"cpus":"x"'
	refused 2 "$at.cpus: 'x' is no list of cpus"
	python3 -c 'print("[" * 10000 + "]" * 10000)' >"$t_dir/bad.json"
	refused 2 'line 1, column [0-9]+: maximum parsing depth reached'
	python3 -c 'print("{\"schema\":1,\"comment\":\"" + "a" * 10000000 + "\",\"vms\":[]}")' >"$t_dir/bad.json"
	refused 2 'bad.json: read the policy: it is larger than 1024 KiB'
	: >"$t_dir/bad.json"
	refused 2 'it is empty'
	rm "$t_dir/bad.json"
	refused 2 'bad.json: read the policy: No such file'
	mkdir "$t_dir/bad.json"
	refused 2 'bad.json: read the policy: it is no regular file'
	rmdir "$t_dir/bad.json"
	device '"rx_frames":5'
	chmod 600 "$t_dir/bad.json"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$VHOSTCTL" apply "$t_dir/bad.json"
	expect_status 4
	expect_match err 'bad.json: read the policy: Permission denied'
	# What only the VM tells.
	device '"cpus":"9"'
	refused 3 'vm1/net[01]: set the worker.s cpus: this host has no cpu 9 online'
	device '"rx_frames":5},{"match":{"id":"vsock0"},"rx_frames":5'
	refused 5 'busyloop_usecs and rx_frames are settings of net devices'
	expect_eq "second reading" "$(second_reading owner)" "$before"
}

test_default_files() {
	[ ! -e /etc/vhostctl ] || skip "this host has an /etc/vhostctl"
	ctl diff
	expect_status 2
	expect_match err '^vhostctl: /etc/vhostctl/policy.json: read the policy: there is none'
	mkdir -p /etc/vhostctl/policy.d
	at_exit rm -rf /etc/vhostctl
	device '"busyloop_usecs":1'
	cp "$t_dir/bad.json" /etc/vhostctl/policy.json
	device '"busyloop_usecs":2'
	cp "$t_dir/bad.json" /etc/vhostctl/policy.d/20-two.json
	device '"busyloop_usecs":3'
	cp "$t_dir/bad.json" /etc/vhostctl/policy.d/10-one.json
	echo x >/etc/vhostctl/policy.d/README
	ctl diff
	expect_status 1
	expect_json '[.changes[].after] | unique' '[2]'
	echo x >/etc/vhostctl/policy.d/30.json
	ctl diff
	expect_status 2
	expect_match err '^vhostctl: /etc/vhostctl/policy.d/30.json: line 1, column '
}

test_documents_are_valid() {
	if [ ! -s "$t_dir/changes.json" ] || [ ! -s "$t_dir/policy.json" ]; then skip "the tests that print documents did not run"; fi
	run /usr/bin/python3 tests/unit/validate.py src/schema/vhostctl.schema.json changes <"$t_dir/changes.json"
	expect_status 0
	run /usr/bin/python3 tests/unit/validate.py src/schema/vhostctl-policy.schema.json policy <"$t_dir/policy.json"
	expect_status 0
}

run_cases
