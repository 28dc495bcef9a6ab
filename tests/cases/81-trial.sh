#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
# A trial prints both sides and puts back what was there: at its end, on errors and signals; and by its remedy.
# shellcheck disable=SC2317 # run_cases calls the functions
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"

case_limit=120
# Requests from net0 over a bridge to net1; what arrives there is answered by the next.
# Its main thread is hardly ever idle then; a real VM has others that are.
mkfifo "$t_dir/vm.in"
exec {vm_in}<>"$t_dir/vm.in"
"$BUILD/tests/vmm" --name vm1 --net 2 --tap tap0 --tap tap1 --scsi none --helpers 1 <"$t_dir/vm.in" >"$t_dir/vm.out" &
vm_pid=$!
at_exit kill "$vm_pid"

setup() {
	wait_for 60 test -s "$t_dir/vm.out"
	ip link add br0 type bridge
	at_exit ip link del br0
	for i in tap0 tap1; do ip link set "$i" master br0 up; done
	ip link set br0 up
	echo "rr net0 net1" >&"$vm_in"
	# A bridge's port forwards once it has listened.
	wait_for 60 answered
}
answered() { [ "$(</sys/class/net/tap1/statistics/tx_packets)" -gt 100 ]; }

busyloop() { "$VHOSTCTL" busyloop get "${1:-vm1/net0}" | jq -c '[.vms[].devices[].queues[].busyloop_usecs]'; }
frames() { "$VHOSTCTL" coalesce get vm1/tap0 | jq '.vms[].taps[].rx_frames'; }
is_busyloop() { [ "$(busyloop)" = "$1" ]; }

test_both_sides_are_printed_and_the_value_is_back() {
	need_snapshot	# it tells which of the two taps, and what the rings carry
	ctl trial vm1/net0 busyloop=50 --for 5
	expect_status 0
	expect_valid trial_report
	expect_json '[.put_back, .interrupted, .settings]' '[true,null,["busyloop=50"]]'
	expect_json '[.changes[] | [.target, .before, .after]]' '[["vm1/net0/rx",0,50],["vm1/net0/tx",0,50]]'
	expect_json '.baseline_seconds > 4.9 and .trial_seconds > 4.9' true
	expect_json '.metrics[] | select(.target == "vm1/net0/tx" and .metric == "packets_per_s") |
		[.baseline.mean > 10, .trial.mean > 10, .ratio > 0, .baseline.slices, .trial.slices,
		.baseline.min <= .baseline.mean, .trial.max >= .trial.mean, .trial.stddev >= 0]' '[true,true,true,10,10,true,true,true]'
	echo "$LAB_KERNEL: $(jq -c '.metrics[] | select(.metric == "packets_per_s" or .metric == "cpu_percent") |
		[.target, .metric, .baseline.mean, .trial.mean, .ratio]' <<<"$out" | paste -sd ' ')" >>"$LAB_OUT/notes"
	expect_eq "the value" "$(busyloop)" '[0,0]'
	ctl trial -t vm1/net0 busyloop=50 --for 1
	expect_match out '^net0/tx +packets_per_s +[0-9.]+ .* [0-9.]+$'
	[ -z "$(awk 'length > 80' <<<"$out")" ]
}

# end_by SIGNAL: in the middle of the trial. status, out and err are its.
end_by() {
	env --default-signal=INT "$VHOSTCTL" trial vm1/net0 busyloop=50 --for 60 --baseline 1 >"$t_dir/out" 2>"$t_dir/err" &
	local it=$!
	wait_for 60 is_busyloop '[50,50]'
	sleep 1
	kill -s "$1" "$it"
	status=0
	wait "$it" || status=$?
	out=$(<"$t_dir/out") err=$(<"$t_dir/err")
}

test_signals_put_it_back() {
	for signal in INT TERM HUP; do
		end_by "$signal"
		expect_status 1
		expect_valid trial_report
		expect_json '[.interrupted, .put_back]' "[\"SIG$signal\",true]"
		has_no_snapshot || expect_json '.metrics[] | select(.target == "vm1/net0/tx" and .metric == "packets_per_s") |
			.baseline.mean > 10' true
		expect_match err "ended by SIG$signal; what was set has been put back"
		expect_eq "the value after SIG$signal" "$(busyloop)" '[0,0]'
	done
}

test_a_signal_before_it_is_set_leaves_it_alone() {
	env --default-signal=INT "$VHOSTCTL" trial vm1/net0 busyloop=50 --for 60 >"$t_dir/out" 2>"$t_dir/err" &
	wait_for 30 grep -q 'put back with' "$t_dir/err"
	sleep 1
	kill -INT $!
	status=0
	wait $! || status=$?
	expect_status 1
	grep -q 'nothing had been set' "$t_dir/err"
	expect_eq "the value" "$(busyloop)" '[0,0]'
}

test_after_SIGKILL_the_remedy_works() {
	end_by KILL
	expect_status 137
	expect_eq "the value after SIGKILL" "$(busyloop)" '[50,50]'
	expect_eq lines "$(wc -l <<<"$err")" 1
	PATH=$(dirname "$VHOSTCTL"):$PATH sh -c "$(sed -n 's/^vhostctl: trial: should it be killed, put back with: //p' <<<"$err")"
	expect_eq "the value" "$(busyloop)" '[0,0]'
}

test_each_queue_gets_its_own_value_back() {
	"$VHOSTCTL" -q busyloop set vm1/net0/rx 10
	"$VHOSTCTL" -q busyloop set vm1/net0/tx 20
	ctl trial vm1 busyloop=20 rx-frames=32 --for 1
	expect_status 0
	expect_json '[.changes[] | [.target, .before, .after]]' '[["vm1/net0/rx",10,20],["vm1/net1/rx",0,20],["vm1/net1/tx",0,20],["vm1/tap0",0,32],["vm1/tap1",0,32]]'
	expect_eq "the values" "$(busyloop vm1) $(frames)" '[10,20,0,0] 0'
	ctl trial vm1/net0 busyloop=20 rx-frames=32 --for 60 --baseline 0.5 --dry-run
	if has_no_snapshot; then
		expect_status 5
		expect_match err 'no tap is known that it drives'
	else
		expect_json '[.changes[] | [.target, .applied]]' '[["vm1/net0/rx",false],["vm1/tap0",false]]'
	fi
	"$VHOSTCTL" -q busyloop set vm1/net0 0
}

test_a_remedy_of_several_settings() {
	"$VHOSTCTL" -q busyloop set vm1/net0/rx 10
	"$VHOSTCTL" trial vm1 busyloop=20 rx-frames=32 --for 60 --baseline 0.2 >"$t_dir/out" 2>"$t_dir/err" &
	wait_for 60 frames_are 32
	kill -KILL $!
	PATH=$(dirname "$VHOSTCTL"):$PATH sh -c "$(sed -n 's/^.*put back with: //p' "$t_dir/err")"
	expect_eq "the values" "$(busyloop vm1) $(frames)" '[10,0,0,0] 0'
	"$VHOSTCTL" -q busyloop set vm1/net0 0
}
frames_are() { [ "$(frames)" = "$1" ]; }

workers() { "$VHOSTCTL" worker list vm2/scsi0 | jq -c '[.vms[0].devices[0].workers | length, ([.[].queues | length] | add)]'; }
test_workers() {
	# One without load: its threads can be borrowed at any time.
	coproc IDLE { exec "$BUILD/tests/vmm" --name vm2 --scsi none --scsi-queues 4; }
	at_exit kill "$IDLE_PID"
	read -r -t 60 _ <&"${IDLE[0]}"
	[ "$LAB_KERNEL" != 6.1 ] || {
		ctl trial vm2/scsi0 workers=2 --for 1
		expect_status 5
		return 0
	}
	need_snapshot
	local before after
	before=$(workers)
	ctl trial vm2/scsi0 workers=per-queue --for 2 --baseline 1
	expect_status 0
	expect_valid trial_report
	expect_json '[.changes[] | select(.setting == "worker_id")] | length' 4
	after=$(workers)
	expect_eq "workers and queues" "$after" "$before"
	# as many as there are: nothing to do, nothing to put back. Fewer would end one.
	"$VHOSTCTL" -q worker spread vm2/scsi0 --workers 4
	before=$(workers)
	ctl trial vm2/scsi0 workers=2 --for 1
	expect_status 5
	expect_match err 'would end worker'
	"$VHOSTCTL" trial vm2/scsi0 workers=4 --for 1 | jq -e '.changes == []'
	expect_eq "workers and queues" "$(workers)" "$before"
	"$VHOSTCTL" -q worker spread vm2/scsi0 --workers 2
	before=$("$VHOSTCTL" worker list vm2/scsi0 | jq -c '[.vms[0].devices[0].workers[] | [.id, .tid, .queues]]')
	"$VHOSTCTL" trial vm2/scsi0 workers=per-queue --for 60 --baseline 0.2 >"$t_dir/out" 2>"$t_dir/err" &
	wait_for 60 more_workers || fail "no more workers: $(<"$t_dir/err") $(workers)"
	kill -KILL $!
	PATH=$(dirname "$VHOSTCTL"):$PATH sh -c "$(sed -n 's/^.*put back with: //p' "$t_dir/err")"
	after=$("$VHOSTCTL" worker list vm2/scsi0 | jq -c '[.vms[0].devices[0].workers[] | [.id, .tid, .queues]]')
	expect_eq "workers after the remedy" "$after" "$before"
	"$VHOSTCTL" -q worker spread vm2/scsi0 --workers 1
}
more_workers() { [ "$("$VHOSTCTL" worker list vm2/scsi0 | jq '[.vms[0].devices[0].workers[] | select(.queues != [])] | length')" -ge 5 ]; }

test_keep_keeps() {
	ctl trial vm1/net0 busyloop=7 --for 1 --keep
	expect_status 0
	expect_json '.put_back, .notes' $'false\n["the new values were kept"]'
	expect_eq "the value" "$(busyloop)" '[7,7]'
	"$VHOSTCTL" -q busyloop set vm1/net0 0
}

test_without_the_snapshot() {
	ctl trial --source owner vm1/net0 busyloop=50 --for 2
	expect_status 0
	expect_valid trial_report
	expect_json '.source, .put_back' $'"owner"\ntrue'
	expect_eq "the value" "$(busyloop)" '[0,0]'
}

# A sole tap tells what the queues carry; these are known by a call, which is made anew once the value is set.
test_without_the_snapshot_both_sides_have_queues() {
	coproc SOLE { exec "$BUILD/tests/vmm" --name vm3 --net 1 --tap tap3; }
	at_exit kill "$SOLE_PID"
	read -r -t 60 _ <&"${SOLE[0]}"
	ctl trial --source owner vm3/net0 busyloop=50 --for 2
	expect_status 0
	expect_json '.metrics[] | select(.target == "vm3/net0/tx" and .metric == "packets_per_s") |
		[.baseline.slices, .trial.slices]' '[4,4]'
}

test_bad_settings_change_nothing() {
	for i in 'busyloop' 'busyloop=x' 'rx-frames=65' 'workers=0' 'nice=3' 'busyloop=20ms' 'busyloop=1 busyloop=2'; do
		# shellcheck disable=SC2086 # words
		ctl trial vm1/net0 $i --for 1
		expect_status 2
		expect_eq stdout "$out" ''
	done
	ctl trial vm1/net0 busyloop=50
	expect_status 2
	ctl trial vm1/scsi0 busyloop=50 --for 1
	expect_status 5
	ctl trial vm1/net0 workers=2 --for 1
	expect_status 5
	ctl trial vm1/net0 busyloop=50 workers=2 --for 1
	expect_status 5
	expect_eq "the values" "$(busyloop vm1) $(frames)" '[0,0,0,0] 0'
}

# Last: it ends the VM.
test_the_end_of_the_VM_ends_it() {
	"$VHOSTCTL" trial vm1/net0 busyloop=50 --for 60 --baseline 0.5 >"$t_dir/out" 2>"$t_dir/err" &
	wait_for 60 is_busyloop '[50,50]'
	kill "$vm_pid"
	status=0
	wait $! || status=$?
	expect_status 3
	grep -q '^vhostctl: vm1/net0: ' "$t_dir/err"
}

run_cases
