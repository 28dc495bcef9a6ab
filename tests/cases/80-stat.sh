#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
# Rates against the fixture and the kernel's own counters; busy polling shows; who is stopped; the ways out.
# shellcheck disable=SC2317 # run_cases calls the functions
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"

case_limit=120
mkfifo "$t_dir/vm.in"
exec {vm_in}<>"$t_dir/vm.in"
"$BUILD/tests/vmm" --name vm1 --net 1 --tap tap0 --vsock 77 <"$t_dir/vm.in" >"$t_dir/vm.out" &
vm_pid=$!
at_exit kill "$vm_pid"

lines() { [ "$(wc -l <"$t_dir/vm.out")" -ge "$1" ]; }
# ask COMMAND…: the VMM's answer is a line, in $answer
ask() {
	local n
	n=$(wc -l <"$t_dir/vm.out")
	echo "$*" >&"$vm_in"
	wait_for 30 lines $((n + 1)) || fail "no answer to: $*"
	answer=$(tail -n 1 "$t_dir/vm.out")
}

setup() {
	wait_for 60 lines 1
	ip link set tap0 up
	ask load on 2000
}

# about WHAT GOT WANT PERCENT SLACK: no further away than that part of it, and SLACK
about() {
	awk -v got="$2" -v want="$3" -v percent="$4" -v slack="$5" 'BEGIN {
		d = got - want; if (d < 0) d = -d
		exit !(got != "null" && d <= want * percent / 100 + slack) }' ||
		fail "$1: $2 is not within $4 % of $3"
}
value() { jq -r "$1" <<<"$out"; }

# record FILE…: what the kernel counts, from now on
record() {
	rm -f "$t_dir/counters" # an earlier test's
	python3 "$TOP/tests/fixture/counters.py" "$t_dir/counters" "$@" &
	at_exit kill "$!"
	wait_for 10 test -s "$t_dir/counters"
}
# By the second in the interval of $out, of the file in that column.
counted() { python3 "$TOP/tests/fixture/counters.py" --rate "$t_dir/counters" "$1" "$(value .time)" "$(value .seconds)"; }

test_rates_are_those_of_the_fixture_and_the_kernel() {
	local tid sys=/sys/class/net/tap0/statistics
	ctl list "$vm_pid"
	tid=$("$VHOSTCTL" show vm1/net0 | jq '.vms[0].devices[0].workers[0].tid')
	[ "$tid" != null ] || tid=$(value '.vms[0].worker_threads[0].tid')
	record "$sys/rx_packets" "$sys/rx_bytes" "$sys/rx_dropped" "/proc/$tid/schedstat"
	ctl stat vm1 10 1
	expect_status 0
	expect_valid rates
	sleep 0.1
	echo "$LAB_KERNEL: $(value '.vms[0].taps[0].rx_packets_per_s') packets/s, the kernel $(counted 0)" >>"$LAB_OUT/notes"
	expect_json '.vms[0].taps[0].rx_packets_per_s > 300' true
	about "packets of the tap" "$(value '.vms[0].taps[0].rx_packets_per_s')" "$(counted 0)" 5 0
	about "bytes of the tap" "$(value '.vms[0].taps[0].rx_bytes_per_s')" "$(counted 1)" 5 0
	about "drops of the tap" "$(value '.vms[0].taps[0].rx_dropped_per_s')" "$(counted 2)" 5 1
	about "packets of the queue" "$(value '.vms[0].devices[] | select(.id == "net0").queues[1].packets_per_s')" "$(counted 0)" 5 0
	about "the VM's packets" "$(value '.vms[0].total.rx_packets_per_s')" "$(counted 0)" 5 0
	about "CPU of the worker, in ns" "$(value ".vms[0].workers[] | select(.tid == $tid) | .cpu_percent * 1e7")" "$(counted 3)" 5 5e6
	# what the fixture has had back since it began is what the tap has counted since then
	ask stats
	about "packets of the fixture" "$(jq '.devices[0].tx_done' <<<"$answer")" "$(<"$sys/rx_packets")" 5 0
	! has_no_snapshot || return 0
	about "entries of the ring" "$(value '.vms[0].devices[] | select(.id == "net0").queues[1].entries_per_s')" "$(counted 0)" 5 0
}

test_a_worker_that_spins_shows_as_such() {
	need_snapshot
	local worker='.vms[0].workers[] | select(.device == "net0")'
	ctl stat vm1/net0 2 1
	expect_json "$worker | .spinning" false
	expect_json '[.vms[0].workers[].device]' '["net0"]'
	"$VHOSTCTL" -q busyloop set vm1/net0 10ms
	ctl stat vm1/net0 5 1
	"$VHOSTCTL" -q busyloop set vm1/net0 0
	expect_json "$worker | [.spinning, .cpu_percent > 50]" '[true,true]'
	expect_json '[.vms[0].devices[].queues[].busyloop_usecs]' '[10000,10000]'
	ctl stat vm1/net0 2 1
	expect_json "$worker | .spinning" false
}

test_queues_of_one_tap_are_told_apart() {
	need_snapshot
	coproc TWO { exec "$BUILD/tests/vmm" --name two --net 1 --queues 2 --tap tapm; }
	at_exit kill "$TWO_PID"
	read -r -t 60 _ <&"${TWO[0]}"
	ip link set tapm up
	echo "load on 500" >&"${TWO[1]}"
	read -r -t 30 _ <&"${TWO[0]}"
	record /sys/class/net/tapm/statistics/rx_packets
	ctl stat two 6 1
	sleep 0.1
	expect_valid rates
	expect_json '[.vms[0].devices[].queues[1] | [.packets_source, .packets_per_s > 50]]' '[["ring",true],["ring",true]]'
	about "both queues" "$(value '[.vms[0].devices[].queues[1].entries_per_s] | add')" "$(counted 0)" 5 0
}

test_nobody_is_stopped_with_the_snapshot_and_once_without() {
	ctl -v stat --source owner vm1 0.3 4
	expect_status 0
	expect_eq documents "$(wc -l <<<"$out")" 4
	expect_eq "the stops told of" "$(grep -c 'stopped [0-9.]* us, in [1-3] stops\?[;:]' <<<"$err")" 1
	expect_eq "the calls told of" "$(grep -c PTRACE_SEIZE <<<"$err")" 1
	out=$(tail -n 1 <<<"$out")
	expect_json '.source, .vms[0].devices[0].queues[0].busyloop_usecs, .vms[0].devices[0].queues[1].entries_per_s' $'"owner"\n0\nnull'
	expect_json '.vms[0].taps[0].rx_packets_per_s > 100' true
	need_snapshot
	run strace -f -qq -e signal=none -e trace=ptrace -o "$t_dir/trace" "$VHOSTCTL" stat vm1 0.3 3
	expect_status 0
	expect_eq "calls of ptrace" "$(grep -vc 'exited with' "$t_dir/trace" || true)" 0
}

test_openmetrics_passes_a_strict_parser() {
	ctl stat vm1 --openmetrics --output "$t_dir/once.prom"
	expect_status 0
	expect_eq stdout "$out" ''
	ctl stat --all 0.5 3 --openmetrics --output "$t_dir/vhost.prom"
	expect_status 0
	/usr/bin/python3 "$TOP/tests/unit/openmetrics.py" "$t_dir/once.prom" >/dev/null
	/usr/bin/python3 "$TOP/tests/unit/openmetrics.py" "$t_dir/vhost.prom" >"$t_dir/series"
	for i in vhostctl_worker_cpu_seconds_total vhostctl_tap_receive_packets_total vhostctl_vm_cpu_seconds_total; do
		grep -q "^$i{.*vm='vm1'" "$t_dir/series" || fail "no $i"
	done
	expect_eq "files left" "$(find "$t_dir" -name '*.prom*' | wc -l)" 2
}

test_a_reader_never_sees_a_part() {
	local n=0 f=$t_dir/vhost.prom lines
	"$VHOSTCTL" stat vm1 --openmetrics -o "$f"
	"$VHOSTCTL" stat vm1 0.05 60 --openmetrics -o "$f" &
	while kill -0 $! 2>/dev/null; do
		mapfile -t lines <"$f"
		[ "${lines[*]: -1}" = '# EOF' ] || fail "it ends with: ${lines[*]: -1}"
		n=$((n + 1))
	done
	wait $!
	[ "$n" -gt 20 ]
	ctl stat vm1 0.1 1 --output "$t_dir/nosuch/x"
	expect_status 3
	expect_match err 'nosuch/x: write the file: No such file'
}

test_the_live_view_leaves_the_terminal_as_it_was() {
	for signal in SIGINT SIGTERM SIGQUIT; do
		run python3 "$TOP/tests/fixture/on-terminal.py" 4 "$signal" "$t_dir/screen" "$VHOSTCTL" stat -t vm1 0.5
		expect_status 0
		expect_json '[.status, .settings, .screen, .cursor, .widest <= 80, .draws > 1]' '[0,true,true,true,true,true]'
	done
	grep -aq 'net0/tx' "$t_dir/screen"
}

test_a_closed_pipe_is_no_error() {
	run bash -c '"$0" stat vm1 0.1 | head -n 1; echo "${PIPESTATUS[0]}" >&2' "$VHOSTCTL"
	expect_eq "status and errors" "$err" 0
	expect_valid rates
}

test_bad_operands() {
	for i in 'stat' 'stat vm1 0' 'stat vm1 x' 'stat vm1 1 0' 'stat vm1 1 -- -1' 'stat vm1 1 1 1' 'stat --all 1 1 1' 'stat vm1 --source x'; do
		# shellcheck disable=SC2086 # words
		ctl $i
		expect_status 2
		expect_eq stdout "$out" ''
	done
	ctl stat nosuch
	expect_status 3
	ctl stat vm1/net7
	expect_status 3
}

# Last: it ends the VM.
test_the_end_of_the_VM_ends_it() {
	"$VHOSTCTL" stat vm1 0.5 >"$t_dir/docs" 2>"$t_dir/why" &
	wait_for 20 test -s "$t_dir/docs"
	kill "$vm_pid"
	status=0
	wait $! || status=$?
	expect_status 3
	grep -q '^vhostctl: vm1: ' "$t_dir/why"
}

run_cases
