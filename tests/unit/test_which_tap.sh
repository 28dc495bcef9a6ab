#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which interface is meant and changed: two taps of one name, files that are closed and come to be another tap's.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

ns=which$$
need_netns "$ns" "which tap is meant"
tmp=$(mktemp -d)
end() {
	kill "$vm"
	wait
	rm -rf "$tmp"
	ip netns del "$ns"
	ip tuntap del "wp$$" mode tap 2>/dev/null
}
trap end EXIT

coproc VM { exec /usr/bin/python3 tests/fixture/tap-vm.py --name "which$$"; }
# shellcheck disable=SC2153 # coproc sets it
vm=$VM_PID
# tell WORD…: the VM does it; its answer into $answer
tell() {
	echo "$*" >&"${VM[1]}"
	read -r -t 60 answer <&"${VM[0]}"
}
read -r -t 60 <&"${VM[0]}"

# frames IFNAME [netns NAME]
frames() { "$VHOSTCTL" coalesce get dev "$@" | jq '.taps[0].rx_frames'; }
set_frames() { "$VHOSTCTL" -q coalesce set "$@"; }

name=wt$$
tell open "$name"
far=$answer
ip link set "$name" netns "$ns"
tell open "$name"
near=$answer

set_frames "$vm/fd$near" 9
is "the file that was named leads to its own interface" "$(frames "$name") $(frames "$name" netns "$ns")" "9 0"
set_frames "$vm/fd$far" 5
is "so does the other" "$(frames "$name") $(frames "$name" netns "$ns")" "9 5"
is "get by a file" "$("$VHOSTCTL" coalesce get "$vm/fd$near" | jq -c '[.vms[].taps[] | [.fds, .rx_frames]]')" "[[[$near],9]]"
"$VHOSTCTL" coalesce set "$vm/$name" 3 2>"$tmp/err"
is "the name alone could mean either" "$? $(grep -c "2 taps of this name.*as fd$far" "$tmp/err")" "3 1"

# try WORD…: while a trial of rx-frames has set it on both, the VM does this. $status, $put_back
try() {
	"$VHOSTCTL" trial "$vm" rx-frames=20 --for 2 --baseline 0.1 >"$tmp/out" 2>"$tmp/err" &
	local it=$!
	for _ in $(seq 300); do
		[ "$(frames "$name") $(frames "$name" netns "$ns")" != "20 20" ] || break
		sleep 0.02
	done
	[ $# = 0 ] || "$@"
	wait "$it"
	status=$?
	put_back=$(jq .put_back "$tmp/out")
}

try
is "a trial treats both of one name" "$status $put_back $(jq -c '[.changes[].before]' "$tmp/out")" '0 true [5,9]'
is "and puts both back" "$(frames "$name") $(frames "$name" netns "$ns")" "9 5"
is "its remedy has a command for each" "$(grep -o 'coalesce set [^ ]* [0-9]*' "$tmp/err" | paste -sd ,)" \
	"coalesce set $vm/fd$far 5,coalesce set $vm/fd$near 9"

# The persistent one stays when its file is closed, and that file comes to be another tap's.
replace() {
	tell persist "$near" 1
	ip link set "$name" name "wp$$"
	tell close "$near"
	tell open "wo$$"
	[ "$answer" = "$near" ] || echo "# the file is $answer"
	set_frames dev "wo$$" 33
}
try replace
is "what was closed and stays is put back, not its file's next tap" \
	"$status $put_back $(frames "wp$$") $(frames "wo$$") $(frames "$name" netns "$ns")" "0 true 9 33 5"
ip link del "wp$$"
tell close "$near"

# One queue of two is closed.
tell open "$name" queue
near=$answer
tell open "$name" queue
other=$answer
close_first() { tell close "$near"; }
set_frames "$vm/fd$near" 7
try close_first
is "the other queues lead there still" "$status $put_back $(frames "$name")" "0 true 7"

# A move is followed, as far as files lead.
move() { ip -n "$ns" link set "$name" name "wm$$" netns $$; }
try move
is "one that moves to another namespace" "$status $put_back $(frames "wm$$")" "0 true 5"
ip link set "wm$$" name "$name" netns "$ns"

tell persist "$far" 1
delete() { ip -n "$ns" link del "$name"; }
try delete
is "a persistent one that is gone is told as left" "$status $(grep -c "tap $name is not where it was" "$tmp/err")" "6 1"

# Many that cannot be put back, for want of file descriptors: all are told, and the commands do it.
tell close "$other"
name=wx$$
tell open "$name"
near=$answer
set_frames "$vm/fd$near" 7
for i in {1..16}; do
	tell open "w$i-$$"
	set_frames "$vm/fd$answer" "$i"
done
"$VHOSTCTL" -q trial "$vm" rx-frames=40 --for 2 --baseline 0.1 2>"$tmp/err" &
it=$!
for _ in $(seq 300); do
	[ "$(frames "w16-$$")" != 40 ] || break
	sleep 0.02
done
prlimit --pid $it --nofile=4:4
wait $it
status=$?
remedy=$(sed -n 's/^vhostctl: trial: what is left can be put back with: //p' "$tmp/err")
is "what is left is told as a whole" "$status $(grep -o 'coalesce set' <<<"$remedy" | wc -l) $(wc -l <"$tmp/err")" "6 17 2"
tell close "$near"
PATH=$(cd "$BUILD" && pwd):$PATH sh -c "$remedy" 2>/dev/null
is "the commands put it back, though one tap is gone" "$(frames "w1-$$") $(frames "w16-$$")" "1 16"

done_testing
