#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The monitor on VMs that have taps only: what it says when descriptors are few, and of a tap that is closed.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

ns=monitor$$
need_tap_vms "$ns" "the monitor"
trap 'kill $keeper; wait 2>/dev/null; ip netns del "$ns"; rm -rf "$tmp"' EXIT
in_ns() { ip netns exec "$ns" "$@"; }
for i in 0 1 2 3 4 5 6 7 8 9; do
	in_ns tests/fixture/tap-vm.py --name "m$i" --tap "mon$i" <"$tmp/stdin" >"$tmp/ready$i" &
done
all_ready() { [ "$(cat "$tmp"/ready* | wc -l)" -ge 10 ]; }
until_ all_ready
count() { grep -c "\"event\":\"$1\",.*\"name\":\"m[0-9]\"" "$tmp/out"; }
has() { [ "$(count "$2")" -ge "$1" ]; }

(ulimit -n 24; exec timeout 30 ip netns exec "$ns" "$VHOSTCTL" monitor >"$tmp/out" 2>"$tmp/err")
is "without enough descriptors it fails" $? 1
grep -q 'each VM takes two' "$tmp/err"
ok_if $? "and says what it lacks" "$(cat "$tmp/err")"
is "and tells of no VM that it has ended" "$(count vm_removed)" 0

(ulimit -Sn 24; exec ip netns exec "$ns" "$VHOSTCTL" monitor >"$tmp/out" 2>"$tmp/err") &
monitor=$!
until_ has 10 vm_added
ok_if $? "a soft limit is no limit" "$(cat "$tmp/err")"
# The next scan can look into no process.
prlimit --pid $monitor --nofile=16:
wait $monitor
is "when they get few later it fails" $? 1
is "and tells of no VM that it has ended then" "$(count vm_removed)" 0

in_ns "$VHOSTCTL" monitor >"$tmp/out" 2>"$tmp/err" &
monitor=$!
until_ has 10 vm_added
# One of them reads it.
echo 0 >"$tmp/stdin"
started=$(date +%s%N)
until_ has 1 tap_removed
[ $(($(date +%s%N) - started)) -lt 3000000000 ]
ok_if $? "a tap that the VM has closed is told at once" "$(tail -n 2 "$tmp/out")"
kill $monitor

done_testing
