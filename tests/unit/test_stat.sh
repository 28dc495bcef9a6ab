#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stat that runs for long: what it keeps open, and where it writes to.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

ns=stat$$
need_netns "$ns" "stat that runs for long"
tmp=$(mktemp -d)
mkfifo "$tmp/stdin"
sleep 1000 >"$tmp/stdin" &
keeper=$!
trap 'kill $keeper $stat 2>/dev/null; wait 2>/dev/null; ip netns del "$ns"; rm -rf "$tmp"' EXIT
ip netns exec "$ns" tests/fixture/tap-vm.py --name stat-test --tap stat0 <"$tmp/stdin" >"$tmp/ready" &
# until TEST...: within 20 seconds
until_() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}
until_ test -s "$tmp/ready"

"$VHOSTCTL" stat --all 0.2 -o "$tmp/out" 2>"$tmp/err" &
stat=$!
shown() { jq -e 'any(.vms[].taps[]; .ifname == "stat0" and .rx_packets_per_s != null)' "$tmp/out" >/dev/null 2>&1; }
sockets() { find /proc/$stat/fd -lname 'socket:*' | wc -l; }
has_no_socket() { [ "$(sockets)" = 0 ]; }
until_ shown
ok_if $? "a tap in another network namespace" "$(cat "$tmp/out" "$tmp/err")"
echo "# $(sockets) sockets"
# Others' VMs may be there, in other namespaces than this one.
if ! "$VHOSTCTL" list | jq -e '[.vms[] | select(.taps != [])] | length == 1' >/dev/null; then
	true
	ok "no socket keeps the namespace of a VM that has ended # SKIP there are other VMs"
else
	kill $keeper
	until_ has_no_socket
	ok_if $? "no socket keeps the namespace of a VM that has ended" "$(ls -l /proc/$stat/fd)"
fi
kill $stat
wait $stat
is "a signal ends it" $? 0

mkfifo "$tmp/unread"
timeout -s KILL 20 "$VHOSTCTL" stat --all 0.2 -o "$tmp/unread" 2>"$tmp/err"
is "a pipe that nobody reads is an error" "$? $(cat "$tmp/err")" \
	"1 vhostctl: $tmp/unread: write the file: No such device or address; nobody reads it"

done_testing
