#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which interface is meant and changed: two taps of one name, files that are closed and come to be another tap's.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

ns=which$$
if [ "$(id -u)" != 0 ] || [ ! -w /dev/net/tun ] || ! ip netns add "$ns" 2>/dev/null; then
	true
	ok "which tap is meant # SKIP needs root, /dev/net/tun and ip netns"
	done_testing
fi
tmp=$(mktemp -d)
end() {
	exec {VM[1]}>&-
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

done_testing
