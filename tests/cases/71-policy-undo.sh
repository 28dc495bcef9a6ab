#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# apply is undone step by step where the kernel refuses, killed, interrupted, run twice at once, and on many VMs.
# POLICY_KILLS makes the test of SIGKILL as long as one likes.
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
	quiet_threads "${fixture_pid[$name]}"
}

test_five_steps_are_made() {
	need_workers
	fixture five --
	five_steps five >"$t_dir/five.json"
	ctl apply "$t_dir/five.json"
	expect_status 0
	expect_valid changes
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
	need_snapshot	# it names the worker's thread
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
	# The cpus of a worker whose thread is not known differ from any.
	if ! has_no_snapshot; then
		run "$VHOSTCTL" diff "$t_dir/five.json"
		expect_status 0
	fi
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

# milliseconds COMMAND…: that it takes
milliseconds() {
	local started=$EPOCHREALTIME
	"$@" >/dev/null
	echo $((($(tr -d . <<<"$EPOCHREALTIME") - $(tr -d . <<<"$started")) / 1000))
}

# Each is to be killed within the time that the whole takes here; of those that come to their end before there are others.
test_SIGKILL_amid_apply() {
	need_workers
	local i ms kills=${POLICY_KILLS:-40} killed=0 failed=0 first
	fixture kill --
	five_steps kill >"$t_dir/five.json"
	# Its thread, whose cpus are to be set, can be told by what it does only while not all of them are busy.
	! has_no_snapshot || sed -i 's/,"cpus":"0"//' "$t_dir/five.json"
	"$VHOSTCTL" save kill >"$t_dir/other.json"
	fixture_says kill "load on 200" >/dev/null
	ms=$(milliseconds "$VHOSTCTL" apply "$t_dir/five.json")
	for ((i = 0; killed < kills && i < 4 * kills; i++)); do
		run timeout -s KILL "$(awk -v ms=$((ms / 10 + RANDOM % ms)) 'BEGIN { print ms / 1000 }')" "$VHOSTCTL" apply \
			"$t_dir/$([ $((i % 2)) = 1 ] && echo five || echo other).json"
		case $status in
		0) ;;
		137) killed=$((killed + 1)) ;;
		*) failed=$((failed + 1)); echo "round $i: $status $err" | tee -a "$LAB_OUT/notes" ;;
		esac
	done
	echo "apply, $ms ms: $killed of $i killed, $failed failed" | tee -a "$LAB_OUT/notes"
	# The tracer of one that was killed can be at its end still.
	[ "$failed" -le $((kills / 10)) ] || fail "too many failed"
	expect_eq "runs that were killed" "$killed" "$kills"
	quiet_threads "${fixture_pid[kill]}"
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
	expect_threads "${fixture_pid[kill]}" 4
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
	has_no_snapshot || expect_eq "VMs stopped" "$(stops | wc -l)" 0
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

run_cases
