#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stat that runs for long: what it keeps open, and where it writes to.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

ns=stat$$
need_tap_vms "$ns" "stat that runs for long"
trap 'kill $keeper $stat 2>/dev/null; wait 2>/dev/null; ip netns del "$ns"; rm -rf "$tmp"' EXIT
ip netns exec "$ns" tests/fixture/tap-vm.py --name stat-test --tap stat0 <"$tmp/stdin" >"$tmp/ready" &
until_ test -s "$tmp/ready"

"$VHOSTCTL" stat --all 0.2 -o "$tmp/out" 2>"$tmp/err" &
stat=$!
shown() { jq -e 'any(.vms[].taps[]; .ifname == "stat0" and .rx_packets_per_s != null)' "$tmp/out" >/dev/null 2>&1; }
sockets() { find /proc/$stat/fd -lname 'socket:*' | wc -l; }
# But the one to the child that reads for it.
has_no_socket() { [ "$(sockets)" -le 1 ]; }
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

# A reader that does not read: a signal ends it all the same, and not before.
said=$(/usr/bin/python3 - "$VHOSTCTL" <<'P'
import fcntl, signal, subprocess, sys, termios, time
p = subprocess.Popen([sys.argv[1], "stat", "--all", "0.05"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
fcntl.fcntl(p.stdout, fcntl.F_SETPIPE_SZ, 4096)
def unread():
    return int.from_bytes(fcntl.ioctl(p.stdout, termios.FIONREAD, bytes(4)), sys.byteorder)
before = -1
while unread() != before or not before:
    before = unread()
    time.sleep(2)
print("waits" if p.poll() is None else "ended", end=" ")
p.send_signal(signal.SIGTERM)
try:
    print(p.wait(10), p.stderr.read().decode(), end="")
except subprocess.TimeoutExpired:
    p.kill()
    print("goes on")
P
)
is "a signal ends what waits for its reader" "$said" "waits 0 "

done_testing
