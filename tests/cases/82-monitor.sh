#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 1100
# What the monitor tells of VMs, devices and taps, under churn too. MONITOR_MINUTES of it: make check-monitor has ten.
# shellcheck disable=SC2317 # run_cases calls the functions
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"

case_limit=$((${MONITOR_MINUTES:-1} * 90 + 120))

setup() {
	for i in blue green; do
		ip netns add $i
		at_exit ip netns del $i
	done
	for i in br0 br1; do
		ip link add $i type bridge
		at_exit ip link del $i
	done
}

# vm NAME OPTION…: $pid; its stdin is VMM[1]
vm() {
	coproc VMM { exec "$BUILD/tests/vmm" --name "$@"; }
	pid=$VMM_PID
	at_exit kill "$pid"
	read -r -t 30 _ <&"${VMM[0]}" || fail "the VMM did not start"
}

# A monitor whose lines come to $t_dir/events
start_monitor() {
	"$VHOSTCTL" monitor >"$t_dir/events" 2>"$t_dir/monitor.err" &
	monitor=$!
	at_exit kill "$monitor"
	sleep 2
}
# How many events FILTER selects.
n_events() { jq -c "select($1)" "$t_dir/events" | wc -l; }
happens() { [ "$(n_events "$1")" -ge 1 ]; }
# told FILTER [SECONDS]: once, soon, and no second time
told() {
	wait_for "${2:-30}" happens "$1" || fail "not told: $1, but: $(tail -n 3 "$t_dir/events")"
	sleep 1
	expect_eq "events $1" "$(n_events "$1")" 1
}
changed() { echo ".event == \"tap_changed\" and .pid == $pid and any(.changes[]; .key == \"$1\" and .before == $2 and .after == $3)"; }

test_events_of_a_VM() {
	local blue ours
	vm old --net 1 --tap tapold
	start_monitor
	told '.event == "vm_added" and .initial and .name == "old" and .devices[0].id == "net0" and .taps[0].ifname == "tapold"'
	vm vm1 --net 1 --tap tap0 --vsock 77 --plain-tap tap1
	told ".event == \"vm_added\" and (.initial | not) and .pid == $pid and .name == \"vm1\" and
		([.devices[].id] == [\"net0\",\"vsock0\"]) and ([.taps[].ifname] | sort) == [\"tap0\",\"tap1\"]"
	ip link set tap0 mtu 1400
	told "$(changed mtu 1500 1400)"
	ip link set tap0 master br0
	told "$(changed master null '"br0"')"
	ip link set tap0 master br1
	told "$(changed master '"br0"' '"br1"')"
	ip link set tap0 nomaster
	told "$(changed master '"br1"' null)"
	ip link set tap0 up
	# A tap that is up says "unknown", or on some kernels "up".
	told ".event == \"tap_changed\" and .pid == $pid and any(.changes[]; .key == \"operstate\" and .before == \"down\")"
	ip link set tap0 alias 'a "b"'
	told "$(changed alias null '"a \"b\""')"
	"$VHOSTCTL" -q coalesce set vm1/tap0 9
	told "$(changed rx_frames 0 9)"
	blue=$(stat -Lc %i /run/netns/blue) ours=$(stat -Lc %i /proc/self/ns/net)
	ip link set tap1 netns blue
	told "$(changed netns "$ours" "$blue")"
	ip -n blue link set tap1 name other
	told "$(changed ifname '"tap1"' '"other"')"
	"$VHOSTCTL" -q coalesce set vm1/other 5
	told "$(changed rx_frames 0 5)"
	ip -n blue link set other netns green
	told "$(changed netns "$blue" "$(stat -Lc %i /run/netns/green)")"
	ip -n green link del other
	told ".event == \"tap_removed\" and .pid == $pid and .taps[0].ifname == \"other\""
	echo "close vsock0" >&"${VMM[1]}"
	told ".event == \"device_removed\" and .pid == $pid and .devices[0].id == \"vsock0\"" 70
	kill "$pid"
	told ".event == \"vm_removed\" and .pid == $pid"
	expect_eq "events of other kinds" "$(n_events '.event == "resync" or .event == "unwatched" or .event == "tap_added"')" 0
	/usr/bin/python3 "$TOP/tests/unit/validate.py" "$TOP/src/schema/vhostctl.schema.json" event <"$t_dir/events"
	kill -INT "$monitor" # which a shell's background job ignores
	kill "$monitor"
	wait "$monitor"
	expect_eq "errors" "$(<"$t_dir/monitor.err")" ''
}

test_what_does_not_last_is_not_told() {
	vm vm2 --net 1 --tap tap2
	start_monitor
	told ".event == \"vm_added\" and .pid == $pid"
	for i in 1 2 3 4 5; do echo "link set tap2 mtu 1300"; echo "link set tap2 mtu 1500"; done | ip -batch -
	sleep 2
	expect_eq "changes" "$(n_events '.event == "tap_changed"')" 0
}

test_a_namespace_ends_while_it_is_watched() {
	ip netns add red
	vm vm3 --net 1 --tap tap3 --plain-tap tap4
	ip link set tap4 netns red
	start_monitor
	told ".event == \"vm_added\" and .pid == $pid and ([.taps[].netns] | unique | length) == 2"
	ip netns del red
	told ".event == \"tap_removed\" and .pid == $pid and .taps[0].ifname == \"tap4\""
}

test_a_burst_is_said_and_made_good() {
	vm vm4 --net 1 --tap tap5
	start_monitor
	told ".event == \"vm_added\" and .pid == $pid"
	kill -STOP "$monitor"
	# more than its socket has room for
	for i in $(seq 3000); do echo "link set br0 mtu $((1400 + i % 2))"; done | ip -batch -
	ip link set tap5 mtu 1234
	for i in $(seq 200); do echo "link set br0 mtu $((1400 + i % 2))"; done | ip -batch -
	kill -CONT "$monitor"
	wait_for 30 happens '.event == "resync"'
	expect_eq "reasons" "$(n_events '.event == "resync" and (.reason | length) > 10')" "$(n_events '.event == "resync"')"
	told "$(changed mtu 1500 1234)"
}

# As libvirt, or a fork of the VM, holds what is the VM's.
test_who_holds_a_file_of_a_VM_is_none() {
	local fd holder
	vm vm8 --net 1 --tap tap8
	start_monitor
	told ".event == \"vm_added\" and .pid == $pid"
	fd=$("$VHOSTCTL" list | jq ".vms[] | select(.pid == $pid) | .devices[0].fd")
	python3 -c '
import ctypes, os, sys, time
fd = ctypes.CDLL(None).syscall(438, os.pidfd_open(int(sys.argv[1])), int(sys.argv[2]), 0)
print(os.readlink(f"/proc/self/fd/{fd}"), flush=True)
time.sleep(100)' "$pid" "$fd" >"$t_dir/held" &
	holder=$!
	at_exit kill "$holder"
	wait_for 10 grep -q vhost-net "$t_dir/held"
	sleep 5
	expect_eq "events of the holder" "$(n_events ".pid == $holder")" 0
	expect_eq "events of the VM" "$(n_events ".pid == $pid")" 1
}

test_a_closed_pipe_ends_it_quietly() {
	vm vm5 --net 1 --tap tap7
	run bash -c '"$0" monitor | head -n 1; echo "${PIPESTATUS[0]}" >&2' "$VHOSTCTL"
	expect_eq "status and errors" "$err" 0
	# and also while there is nothing to tell
	mkfifo "$t_dir/pipe"
	"$VHOSTCTL" monitor >"$t_dir/pipe" 2>"$t_dir/monitor.err" &
	exec 9<"$t_dir/pipe"
	sleep 1
	exec 9<&-
	wait_for 5 gone $!
	wait $!
	expect_eq "errors" "$(<"$t_dir/monitor.err")" ''
	run bash -c '"$0" monitor >/dev/full' "$VHOSTCTL"
	expect_status 1
	expect_match err 'write standard output: No space left'
}
gone() { ! kill -0 "$1" 2>/dev/null; }

test_in_words() {
	vm vm6 --net 1 --tap tap6
	"$VHOSTCTL" monitor -t >"$t_dir/words" &
	at_exit kill $!
	wait_for 20 grep -qE "^[0-9:]{8} vm_added vm6 \(pid $pid\) net0 tap6$" "$t_dir/words"
	ip link set tap6 mtu 1300
	wait_for 20 grep -qE "^[0-9:]{8} tap_changed vm6 \(pid $pid\) tap6: mtu 1500 to 1300$" "$t_dir/words"
}

test_churn() {
	run python3 "$TOP/tests/fixture/vm-churn.py" "$VHOSTCTL" "$BUILD/tests/vmm" "${MONITOR_MINUTES:-1}" blue
	expect_status 0
	echo "$LAB_KERNEL: monitor: $out" | cut -c 1-300 >>"$LAB_OUT/notes"
	expect_json '.status, .wrong' $'0\n[]'
	# Of a core, natively; tests/unit/test_churn.sh has it so.
	slow=$(slowness)
	expect_json ".cpu_percent < 2 * $slow" true
	expect_json '.grown_kb <= 256' true
}

run_cases
