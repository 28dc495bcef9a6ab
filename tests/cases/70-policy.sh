#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# save, diff and apply: on a real QEMU; undone step by step where the kernel refuses; killed, interrupted, at
# once, while a VM starts, and by hooks as their callers run them.
# POLICY_KILLS makes the test of SIGKILL as long as one likes.
# timeout: 900
# shellcheck disable=SC2317 # run_cases calls the functions
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/fixture/qemu.sh
. tests/fixture/qemu.sh
# shellcheck source=tests/fixture/io.sh
. tests/fixture/io.sh
case_limit=${POLICY_LIMIT:-240}

no_worker_calls() { [ "$LAB_KERNEL" = 6.1 ]; }
need_workers() { ! no_worker_calls || skip "Linux 6.1 has no worker calls"; }
frames() { ethtool -c "$1" | sed -n 's/^rx-frames:[[:blank:]]*//p'; }
keep() { echo "$out" >>"$t_dir/$1.json"; }
# as(what is wanted): the policy on standard input
apply() { "$VHOSTCTL" apply - "${@:2}" <<<"$1"; }
has_threads() { [ "$(vhost_threads "$1" | wc -l)" = "$2" ]; }
# A thread that ended is in /proc for a moment still.
threads_become() { wait_for 10 has_threads "$1" "$2" || fail "$(vhost_threads "$1" | wc -l) vhost threads, not $2"; }
stops() { sed -nE 's/.* stopped .* in ([0-9]+) stops?; .*/\1/p' <<<"$err"; }

setup() {
	qemu_up vm1 --scsi-queues 4
	vm1=${VM_PID[vm1]}
	tap1=${VM_TAP[vm1]}
}

# ---- a real QEMU ----

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
	run setpriv --bounding-set=-bpf,-perfmon,-sys_admin "$VHOSTCTL" save vm1
	expect_status 0
	keep policy
	run setpriv --bounding-set=-bpf,-perfmon,-sys_admin "$VHOSTCTL" apply - <<<"$out"
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
		expect_eq "third reading" "$(second_reading snapshot)" $'[50,21,50,21]\n16'
	else
		expect_eq "second reading" "$(second_reading owner)" $'[50,21,50,21]\n16\n[0,0,1,2,3,4]\n8'
		expect_eq "third reading" "$(second_reading snapshot)" $'[50,21,50,21]\n16\n[0,0,1,2,3,4]\n8'
	fi
	# Nothing differs, so nobody is stopped.
	run apply "$policy" -v
	expect_status 0
	expect_json .changes '[]'
	expect_match err 'no thread was stopped'
	run strace -f -qq -e trace=ptrace -o "$t_dir/trace" "$VHOSTCTL" apply - <<<"$policy"
	expect_status 0
	expect_eq "ptrace calls" "$(grep -c ptrace "$t_dir/trace" || true)" 0
	run apply "$before"
	expect_status 0
	keep changes
	run "$VHOSTCTL" diff - <<<"$before"
	expect_status 0
	guest_ping vm1 -q -c 2 -W 5 >/dev/null || fail "the guest does not answer"
}

test_worker_list_and_cpus() {
	need_workers
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
	threads_become "$vm1" 4
}

test_an_idle_worker_is_taken_before_one_is_made() {
	need_workers
	ctl worker create vm1/scsi0
	expect_status 0
	local before='{"schema":1,"vms":[{"match":{"name":"vm1"},"devices":[{"match":{"id":"scsi0"},"workers":1}]}]}'
	run apply '{"schema":1,"vms":[{"match":{"name":"vm1"},"devices":[{"match":{"kind":"scsi"},"workers":2}]}]}'
	expect_status 0
	expect_json '[.changes[] | select(.setting == "worker")] | length' 1
	threads_become "$vm1" 6
	run apply "$before"
	threads_become "$vm1" 4
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

# ---- undone step by step ----

declare -A fixture_in fixture_out fixture_pid
# fixture NAME [WRAPPER…] -- OPTION…: a VMM with a NIC on a tap of its own and a vhost-scsi with four queues
fixture() {
	local name=$1 wrapper=()
	shift
	while [ "$1" != -- ]; do wrapper+=("$1"); shift; done
	shift
	ip link show "t-$name" >/dev/null 2>&1 || ip tuntap add "t-$name" mode tap vnet_hdr user 65534
	at_exit fixture_down "$name"
	ip link set "t-$name" up
	mkfifo "$t_dir/$name.in" "$t_dir/$name.out"
	"${wrapper[@]}" "$BUILD/tests/vmm" --name "$name" --net 1 --tap "t-$name" --scsi none --scsi-queues 4 \
		--busyloop 5 --helpers 1 "$@" <"$t_dir/$name.in" >"$t_dir/$name.out" 2>"$t_dir/$name.err" &
	fixture_pid[$name]=$!
	exec {to}>"$t_dir/$name.in" {from}<"$t_dir/$name.out"
	fixture_in[$name]=$to fixture_out[$name]=$from
	read -r -t 60 _ <&"${fixture_out[$name]}" || fail "$(cat "$t_dir/$name.err")"
	ethtool -C "t-$name" rx-frames 4
}

fixture_down() {
	local pid=${fixture_pid[$1]:-}
	if [ -n "$pid" ]; then
		kill "$pid" && kill -CONT "$pid"
		wait "$pid"
	fi
	fixture_pid[$1]=
	ip link del "t-$1" 2>/dev/null
	rm -f "$t_dir/$1".{in,out}
}

fixture_says() {
	local answer
	echo "$2" >&"${fixture_in[$1]}"
	read -r -t 30 answer <&"${fixture_out[$1]}" || fail "$1 does not answer"
	echo "$answer"
}

# Value by value, as the VM's own calls, ethtool and /proc tell.
values_of() {
	local pid=${fixture_pid[$1]}
	fixture_says "$1" values
	if [ -e "/sys/class/net/t-$1" ]; then frames "t-$1"; fi
	vhost_threads "$pid" | while read -r t; do sed -n "s/^Cpus_allowed_list:/$t/p" "/proc/$pid/task/$t/status"; done
}

has_values() { [ "$(values_of "$1")" = "$2" ]; }
values_become() { wait_for 10 has_values "$1" "$2" || expect_eq "values" "$(values_of "$1")" "$2"; }

# Five steps: make a worker, set cpus, move queues, busy-loop, rx-frames.
five_steps() {
	echo '{"schema":1,"vms":[{"match":{"name":"'"$1"'"},"devices":[
		{"match":{"kind":"scsi"},"workers":[{"queues":"2-3"},{"queues":"req2"}],"cpus":"0"},
		{"match":{"kind":"net"},"busyloop_usecs":{"rx":50,"tx":0},"rx_frames":32}]}]}'
}

# undone STATUS REGEX NAME COMMAND…: it fails so, and all is as it was
undone() {
	local status_wanted=$1 regex=$2 name=$3 before
	shift 3
	before=$(values_of "$name")
	run "$@"
	expect_status "$status_wanted"
	expect_match err "$regex"
	expect_eq stdout "$out" ''
	values_become "$name" "$before"
	quiet "${fixture_pid[$name]}"
}

untouched() { ! grep -qE '^(TracerPid:\s*[1-9]|State:\s*[tT])' /proc/"$1"/task/*/status; }
quiet() { wait_for 20 untouched "$1" || fail "a thread is stopped or traced"; }

test_five_steps_are_made() {
	need_workers
	fixture five --
	five_steps five >"$t_dir/five.json"
	ctl apply "$t_dir/five.json"
	expect_status 0
	keep changes
	expect_json '[.changes[].setting] | unique' '["busyloop_usecs","cpus","rx_frames","worker","worker_id"]'
	expect_eq "values" "$(values_of five | sed 's/^[0-9]*\t/TID /' | LC_ALL=C sort)" \
		$'32\nTID 0\nTID 0\nTID 0\nTID 0-1\n{"net0":[50,0],"scsi0":[0,0,1,1,2,0]}'
}

test_step_one_fails_for_want_of_a_process() {
	need_workers
	chmod 666 /dev/vhost-scsi /dev/vhost-net /dev/net/tun
	fixture nproc setpriv --reuid 65534 --regid 65534 --clear-groups -- --vcpus 1
	five_steps nproc >"$t_dir/five.json"
	prlimit --pid "${fixture_pid[nproc]}" --nproc=1
	undone 1 'nproc/scsi0: create a worker: the kernel could make no thread .*everything is as it was' nproc \
		"$VHOSTCTL" apply "$t_dir/five.json"
	prlimit --pid "${fixture_pid[nproc]}" --nproc=1000
	ctl apply "$t_dir/five.json"
	expect_status 0
}

test_step_one_fails_on_a_stopped_VM() {
	need_workers
	local before
	fixture stopped --
	five_steps stopped >"$t_dir/five.json"
	before=$(values_of stopped)
	kill -STOP "${fixture_pid[stopped]}"
	ctl apply "$t_dir/five.json"
	kill -CONT "${fixture_pid[stopped]}"
	expect_status 1
	expect_match err 'stopped/scsi0: .*it is stopped \(SIGSTOP\).*everything is as it was'
	values_become stopped "$before"
}

# The default worker's thread is put where cpu 0 is not allowed; the VM's process is elsewhere.
test_step_two_fails_for_a_cpuset() {
	need_workers
	local dir=/sys/fs/cgroup/vhostctl-two tid
	mkdir -p "$dir/inner" 2>/dev/null || skip "no cgroup v2 to write to"
	at_exit rmdir "$dir/inner" "$dir"
	fixture two --
	echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control || skip "no cpuset controller"
	echo "${fixture_pid[two]}" >"$dir/cgroup.procs"
	echo threaded >"$dir/inner/cgroup.type"
	echo +cpuset >"$dir/cgroup.subtree_control"
	echo 1 >"$dir/inner/cpuset.cpus"
	ctl show two/scsi0
	tid=$(jq '.vms[0].devices[0].workers[0].tid' <<<"$out")
	echo "$tid" >"$dir/inner/cgroup.threads"
	five_steps two >"$t_dir/five.json"
	undone 1 'two/scsi0: set the worker.s cpus: none of these cpus .*everything is as it was' two \
		"$VHOSTCTL" apply "$t_dir/five.json"
	grep -q 'scsi0: worker: put back from 2 to none' <<<"$err" || fail "no report of what was put back"
}

test_step_three_fails_for_a_filter() {
	need_workers
	fixture three -- --seccomp deny-attach
	five_steps three >"$t_dir/five.json"
	undone 1 'three/scsi0: .*seccomp filter does not allow.*everything is as it was' three \
		"$VHOSTCTL" apply "$t_dir/five.json"
}

test_step_four_fails_for_a_filter() {
	need_workers
	fixture four -- --seccomp deny-busyloop
	five_steps four >"$t_dir/five.json"
	undone 1 'four: .*seccomp filter does not allow.*everything is as it was' four \
		"$VHOSTCTL" apply "$t_dir/five.json"
}

test_step_five_fails_for_a_tap_that_vanishes() {
	need_workers
	fixture gone --
	five_steps gone >"$t_dir/five.json"
	before=$(values_of gone | sed 2d)
	run tests/fixture/at-thread.py "${fixture_pid[gone]}" "$VHOSTCTL" apply "$t_dir/five.json" -- ip link del t-gone
	expect_status 1
	expect_match err 'gone/t-gone: find the tap: the interface is gone; everything is as it was'
	expect_match err 'gone/net0/rx: busyloop_usecs: put back from 50 to 5'
	expect_match err 'gone/scsi0/req0: worker_id: put back from 1 to 0'
	values_become gone "$before"
}

test_what_cannot_be_put_back_is_listed() {
	need_workers
	fixture stuck --
	five_steps stuck >"$t_dir/five.json"
	# Another tracer comes, and stays: neither the next step nor the way back can be gone.
	cat >"$t_dir/trace" <<-'END'
		for try in 1 2 3 4 5 6 7 8 9; do
			setsid strace -qq -f -p "$1" -e trace=none -o /dev/null </dev/null >/dev/null 2>&1 &
			sleep 1
			! kill -0 "$!" || exit 0
		done
		exit 1
	END
	run tests/fixture/at-thread.py "${fixture_pid[stuck]}" "$VHOSTCTL" apply "$t_dir/five.json" -- \
		bash "$t_dir/trace" "${fixture_pid[stuck]}"
	pid=$(sed -n 's/^TracerPid:\t//p' "/proc/${fixture_pid[stuck]}/status")
	kill "$pid"
	expect_status 6
	expect_match err 'stuck/scsi0: worker: it was none, may be 1, and could not be put back: '
	expect_match err 'setting\(s\) could not be put back'
	wait_for 10 untouched "${fixture_pid[stuck]}"
	ctl apply "$t_dir/five.json"
	expect_status 0
	run "$VHOSTCTL" diff "$t_dir/five.json"
	expect_status 0
}

test_SIGTERM_and_SIGINT_undo() {
	need_workers
	local signal
	fixture term --
	five_steps term >"$t_dir/five.json"
	for signal in TERM INT HUP; do
		undone 1 '^vhostctl: apply: ended by .* amid its steps; everything is as it was' term \
			tests/fixture/at-thread.py "${fixture_pid[term]}" env --default-signal=INT "$VHOSTCTL" apply "$t_dir/five.json" -- kill -"$signal" '{pid}'
	done
	ctl apply "$t_dir/five.json"
	expect_status 0
}

# ---- killed ----

test_SIGKILL_amid_apply() {
	need_workers
	local i kills=${POLICY_KILLS:-40} killed=0 failed=0 other first
	fixture kill --
	five_steps kill >"$t_dir/five.json"
	other=$("$VHOSTCTL" save kill)
	echo "$other" >"$t_dir/other.json"
	fixture_says kill "load on 200" >/dev/null
	for ((i = 0; i < kills; i++)); do
		run timeout -s KILL "0.$(printf %03d $((RANDOM % 900 + 50)))" "$VHOSTCTL" apply \
			"$t_dir/$([ $((i % 2)) = 0 ] && echo five || echo other).json"
		case $status in
		0) ;;
		137) killed=$((killed + 1)) ;;
		*) failed=$((failed + 1)); echo "round $i: $status $err" ;;
		esac
	done
	echo "# $killed of $kills killed, $failed failed"
	# The tracer of one that was killed can be at its end still.
	[ "$failed" -le $((kills / 10)) ] || fail "too many failed"
	[ "$killed" -gt $((kills / 4)) ] || fail "only $killed of $kills runs were killed"
	quiet "${fixture_pid[kill]}"
	ctl apply "$t_dir/five.json"
	expect_status 0
	run "$VHOSTCTL" diff "$t_dir/five.json"
	expect_status 0
	expect_json .changes '[]'
	first=$(values_of kill)
	expect_eq "values" "$(sed -E 's/\[0,0,([1-9][0-9]*),\1,([1-9][0-9]*),0\]/MAP/' <<<"${first%%$'\n'*}")" \
		'{"net0":[50,0],"scsi0":MAP}'
	ctl worker free kill/scsi0 --idle
	expect_status 0
	threads_become "${fixture_pid[kill]}" 4
}

# ---- two at once ----

test_two_at_once() {
	local pid busy
	fixture pair --
	pid=${fixture_pid[pair]}
	policy='{"schema":1,"vms":[{"match":{"name":"pair"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":17}]}]}'
	mkdir -p /run/vhostctl/lock
	# Field 22 of stat; the name before it has no blanks here.
	busy=/run/vhostctl/lock/$pid-$(cut -d' ' -f22 "/proc/$pid/stat")
	exec {held}>"$busy"
	flock "$held"
	echo -n 4711 >"$busy"
	run timeout 30 "$VHOSTCTL" apply - <<<"$policy"
	expect_status 1
	expect_match err '^vhostctl: pair: lock the VM: process 4711 applies a policy to it, for more than 10 s already'
	# Now it waits, until the other is done.
	"$VHOSTCTL" apply - <<<"$policy" >"$t_dir/second" {held}>&- &
	second=$!
	sleep 1
	kill -0 "$second" || fail "it did not wait"
	exec {held}>&-
	wait "$second"
	expect_eq "changes" "$(jq -c '[.changes[].after]' "$t_dir/second")" '[17,17]'
	[ ! -e "$busy" ] || fail "the lock's file is left"
	# Many at once: each is whole, the last one holds.
	for i in 1 2 3 4 5 6; do
		"$VHOSTCTL" apply - <<<"${policy/17/$((20 + i))}" >/dev/null &
		many[i]=$!
	done
	for i in 1 2 3 4 5 6; do wait "${many[i]}"; done
	[[ $(fixture_says pair values) =~ \"net0\":\[(2[1-6]),(2[1-6])\] ]] || fail "$(values_of pair)"
	expect_eq "tx" "${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}"
}

# ---- many VMs ----

test_two_hundred_VMs() {
	local i n=${POLICY_VMS:-200} policy started
	fleet_up "$n"
	policy='{"schema":1,"vms":[{"match":{"name":"fleet-*"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":30}]},
		{"match":{"name":"fleet-?[05]"},"devices":[{"match":{"id":"net0"},"busyloop_usecs":{"tx":60}}]}]}'
	started=$EPOCHREALTIME
	run apply "$policy" -v
	echo "# $n VMs: $(awk -v a="$started" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }')"
	expect_status 0
	expect_json '.changes | length' $((n * 2))
	expect_json '[.changes[].pid] | unique | length' "$n"
	expect_eq "VMs stopped" "$(stops | wc -l)" "$n"
	# A host that is starved of CPU ends a stop early and takes another; that is rare.
	expect_eq "most VMs in one stop" "$(($(stops | grep -c '^1$') * 100 / n > 90))" 1
	started=$EPOCHREALTIME
	run apply "$policy" -v
	echo "# again: $(awk -v a="$started" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }')"
	expect_json .changes '[]'
	expect_eq "VMs stopped" "$(stops | wc -l)" 0
	# One that comes to its end amid all that is no failure.
	for ((i = 0; i < n; i += 20)); do kill "${fleet[i]}"; done
	run apply "${policy//30/31}"
	expect_status 0
}

fleet_up() {
	local i
	exec {open_end}<> <(:)
	for ((i = 0; i < $1; i++)); do
		"$BUILD/tests/vmm" --name "fleet-$i" --net 1 <&"$open_end" >"$t_dir/fleet.$i" &
		fleet[i]=$!
	done
	at_exit kill "${fleet[@]}"
	for ((i = 0; i < $1; i++)); do wait_for 60 test -s "$t_dir/fleet.$i" || return 1; done
}

# ---- a VM that starts ----

late='{"schema":1,"vms":[{"match":{"name":"late"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":77,"rx_frames":3}]}]}'

# QEMU is there; its NIC comes two seconds later.
late_up() {
	local dir=$t_dir/late
	rm -rf "$dir"
	mkdir "$dir"
	ip tuntap add tlate mode tap vnet_hdr
	at_exit ip link del tlate
	ip link set tlate up
	qemu-system-x86_64 -machine pc -accel tcg -m 64 -nodefaults -display none -S -name guest=late,debug-threads=on \
		-qmp "unix:$dir/qmp,server=on,wait=off" </dev/null >"$dir/log" 2>&1 &
	late_pid=$!
	at_exit late_down
	VM_DIR[late]=$dir
	wait_for 30 test -S "$dir/qmp"
}
late_down() {
	kill "$late_pid"
	wait "$late_pid"
}
late_nic() {
	sleep 2
	qmp late netdev_add '{"type":"tap","id":"l","ifname":"tlate","script":"no","downscript":"no","vhost":true}' >/dev/null
	qmp late device_add '{"driver":"virtio-net-pci","netdev":"l","id":"ld","romfile":""}' >/dev/null
}
late_tuned() { [ "$("$VHOSTCTL" busyloop get late 2>/dev/null | jq -c '[.vms[0].devices[].queues[].busyloop_usecs]')" = '[77,77]' ] && [ "$(frames tlate)" = 3 ]; }
late_reset() {
	late_tuned || return 0
	ctl busyloop set late 0
	ctl coalesce set late/tlate 0
}

test_wait_for_devices() {
	local started=$SECONDS
	run apply "$late" --vm late --wait 2
	expect_status 3
	expect_match err '^vhostctl: late: after 2 s still: no such VM'
	late_up
	run apply "$late" --vm late --wait 1
	expect_status 3
	late_nic &
	nic=$!
	started=$EPOCHREALTIME
	run apply "$late" --vm late --wait 20
	echo "# applied after $(awk -v a="$started" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }')"
	expect_status 0
	wait "$nic"
	late_tuned || fail "$(frames tlate)"
	run apply "$late" --vm late --wait 20
	expect_status 0
	expect_json .changes '[]'
	run apply "${late/\"kind\":\"net\"/\"id\":\"net1\"}" --vm late --wait 1
	expect_status 3
	expect_match err 'after 1 s still: it lacks a device that standard input: \$.vms\[0\].devices\[0\] matches'
	run apply "${late/\"kind\":\"net\"/\"id\":\"net1\"}" --vm late
	expect_status 3
	run apply "$late" --vm vm1 --wait 5
	expect_status 0
	expect_json .notes '["vm1: no entry of the policy matches it"]'
	run apply "$late" --wait 5
	expect_status 2
	# Waiting is mostly sleeping.
	run bash -c 'TIMEFORMAT="busy %U %S"; time "$1" apply - --vm nosuch --wait 4' x "$VHOSTCTL" <<<"${late/late/nosuch}"
	echo "# 4 s of waiting: $(grep busy <<<"$err")"
	awk '/^busy/ { exit !($2 + $3 < 2) }' <<<"$err" || fail "it polls hard"
}

# As libvirtd calls it: its arguments, an environment of its own, the domain's XML on stdin.
libvirt_hook() {
	printf '<domain type="kvm" id="1">\n  <name>%s</name>\n</domain>\n' "$1" |
		env -i PATH="$hook_path" LC_ALL=C VHOSTCTL_HOOK_CONF="$t_dir/hook.conf" \
			"$t_dir/hooks/qemu" "$@"
}

hooks_up() {
	mkdir -p "$t_dir/hooks"
	cp src/hooks/libvirt-qemu "$t_dir/hooks/qemu"
	cp src/hooks/kubevirt-sidecar "$t_dir/hooks/onDefineDomain"
	hook_path=/usr/bin:/bin:$(dirname "$VHOSTCTL")
	echo "$late" >"$t_dir/late.json"
	echo "POLICY=$t_dir/late.json WAIT=20" >"$t_dir/hook.conf"
}

test_libvirt_hook() {
	local started
	hooks_up
	late_up
	started=$SECONDS
	run libvirt_hook late started begin -
	expect_status 0
	expect_eq "what it printed" "$out$err" ''
	[ $((SECONDS - started)) -lt 3 ] || fail "libvirt had to wait for it"
	late_nic
	wait_for 30 late_tuned || fail "it is not tuned"
	late_reset
	for operation in 'prepare begin' 'start begin' 'stopped end' 'release end' 'migrate begin'; do
		# shellcheck disable=SC2086 # two words
		run libvirt_hook late $operation -
		expect_status 0
		expect_eq "what it printed" "$out$err" ''
	done
	sleep 1
	! late_tuned || fail "it was tuned by another operation"
	run libvirt_hook late reconnect begin -
	expect_status 0
	wait_for 30 late_tuned || fail "it is not tuned after reconnect"
	# Not for want of tuning, nor of a tool, nor of a policy that can be read, does a start fail; unless told to.
	echo '{' >"$t_dir/late.json"
	run libvirt_hook late started begin -
	expect_status 0
	echo STRICT=yes >>"$t_dir/hook.conf"
	run libvirt_hook late started begin -
	expect_status 2
	expect_match err 'late.json: line [12], column [0-9]+: '
	echo "$late" >"$t_dir/late.json"
	late_reset
	run libvirt_hook late started begin -
	expect_status 0
	late_tuned || fail "it is not tuned in the foreground"
	echo "POLICY=$t_dir/late.json WAIT=1 STRICT=yes" >"$t_dir/hook.conf"
	run libvirt_hook late2 started begin -
	expect_status 0
	hook_path=/usr/bin:/bin
	echo "POLICY=$t_dir/late.json" >"$t_dir/hook.conf"
	run libvirt_hook late started begin -
	expect_status 0
	rm "$t_dir/hook.conf"
	run libvirt_hook late started begin -
	expect_status 0
}

test_kubevirt_sidecar() {
	local domain=$'<domain type="kvm">\n  <name>late</name>\n  <devices><interface><target dev="tap0"/></interface></devices>\n</domain>\n'
	hooks_up
	late_up
	run env -i PATH="$hook_path" POLICY="$t_dir/late.json" WAIT=20 VHOSTCTL_LOG="$t_dir/sidecar.log" \
		"$t_dir/hooks/onDefineDomain" --vmi '{"metadata":{"name":"late"}}' --domain "$domain"
	expect_status 0
	expect_eq "the domain" "$out" "${domain%$'\n'}"
	late_nic
	wait_for 30 late_tuned || fail "it is not tuned: $(cat "$t_dir/sidecar.log")"
	run env -i PATH="$hook_path" POLICY=/nonexistent "$t_dir/hooks/onDefineDomain" --vmi '{}' --domain "$domain"
	expect_status 0
	expect_eq "the domain" "$out" "${domain%$'\n'}"
}

test_systemd_unit() {
	local unit=src/hooks/vhostctl-policy.service command
	hooks_up
	late_up
	late_nic
	[ ! -e /etc/vhostctl ] || skip "this host has an /etc/vhostctl"
	mkdir -p /etc/vhostctl
	at_exit rm -rf /etc/vhostctl
	echo "$late" >/etc/vhostctl/policy.json
	command=$(sed -n "s|^ExecStart=/usr/local/sbin|$(dirname "$VHOSTCTL")|p" "$unit")
	# shellcheck disable=SC2086 # as systemd splits it; its environment and standard input
	run env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin LANG=C $command </dev/null
	expect_status 0
	late_tuned || fail "it is not tuned"
	if command -v systemd-analyze >/dev/null; then
		run systemd-analyze verify --man=no "$PWD/$unit"
		expect_match err '^$|^[^/]*$'
	fi
}

test_documents_are_valid() {
	[ -s "$t_dir/changes.json" ] && [ -s "$t_dir/policy.json" ] || skip "the tests that print documents did not run"
	run /usr/bin/python3 tests/unit/validate.py man/vhostctl.schema.json changes <"$t_dir/changes.json"
	expect_status 0
	run /usr/bin/python3 tests/unit/validate.py man/vhostctl-policy.schema.json policy <"$t_dir/policy.json"
	expect_status 0
}

run_cases
