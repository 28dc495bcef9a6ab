#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What --openmetrics prints is OpenMetrics, says a parser that can say no; so is it with hostile names.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The distribution's Python: its module is a package that tests/deps.sh installs.
parse() { /usr/bin/python3 "${0%/*}/openmetrics.py" "$@" 2>&1; }

for which in once repeated hostile; do
	"$BUILD/unit/test_rates" --openmetrics $which >"$tmp/$which"
	[ -s "$tmp/$which" ] && parse "$tmp/$which" >"$tmp/$which.out"
	ok_if $? "the parser takes it: $which" "$(tail -n 3 "$tmp/$which.out")"
done
! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$tmp/hostile"
ok_if $? "no name's control characters reach a terminal" "$(cat -v "$tmp/hostile" | head -n 20)"
grep -qF "vhostctl_worker_cpu_seconds_total{device='net0',pid='188',tid='191',vm='vm1',worker='0'} 3" "$tmp/once.out"
ok_if $? "seconds of CPU time" "$(grep worker_cpu "$tmp/once.out")"
grep -qF "vhostctl_tap_receive_packets_total{netns='4026531840',pid='188',tap='tap0',vm='vm1'} 3047" "$tmp/once.out"
ok_if $? "packets of a tap" "$(grep tap_rec "$tmp/once.out")"
! grep -q vhostctl_queue_entries_total "$tmp/once.out" &&
	grep -qF "vhostctl_queue_entries_total{device='net0',pid='188',queue='1',vm='vm1'} 2000" "$tmp/repeated.out"
ok_if $? "entries of a ring since the first document" "$(grep entries "$tmp/repeated.out")"
grep -q 'vhostctl_queue_busyloop_seconds{.*} 5.12e-05' "$tmp/once.out"
ok_if $? "the busy-loop timeout in seconds" "$(grep busyloop "$tmp/once.out")"

# refused NAME SED-COMMAND
refused() {
	sed "$2" "$tmp/once" >"$tmp/bad"
	! parse "$tmp/bad" >"$tmp/bad.out"
	ok_if $? "refused: $1" "$(tail -n 1 "$tmp/bad.out")"
}
refused "no end" '/^# EOF/d'
refused "a counter without _total" 's/_packets_total{/_packets{/'
refused "a wrong unit" 's/^# UNIT \(.*\) seconds/# UNIT \1 bytes/'
refused "a series twice" '/^vhostctl_tap_receive_bytes_total/p'
refused "a quote that does not end" 's/",pid=/,pid=/'

# Of the program itself, where people write 0,5.
comma=de_DE.UTF-8
if ! localedef -i de_DE -f UTF-8 "$tmp/$comma" >/dev/null 2>&1 && [ ! -d "$tmp/$comma" ]; then
	true
	ok "numbers in a locale with a decimal comma # SKIP localedef makes no such locale here"
elif [ "$(id -u)" != 0 ] || [ ! -w /dev/net/tun ] || ! ip netns add "comma$$" 2>/dev/null; then
	true
	ok "numbers in a locale with a decimal comma # SKIP needs root, /dev/net/tun and ip netns"
else
	trap 'ip netns del "comma$$"; rm -rf "$tmp"' EXIT
	coproc VM { ip netns exec "comma$$" tests/fixture/tap-vm.py --name comma --tap comma0; }
	read -r -u "${VM[0]}" _
	in_comma() { LOCPATH=$tmp LC_ALL=$comma ip netns exec "comma$$" timeout 20 "$VHOSTCTL" stat "$@" 2>&1; }
	in_comma comma --openmetrics >"$tmp/comma"
	grep -q '^vhostctl.* [0-9]*\.[0-9]' "$tmp/comma" && parse "$tmp/comma" >"$tmp/comma.out"
	ok_if $? "OpenMetrics in a locale with a decimal comma" "$(cat "$tmp/comma" "$tmp/comma.out")"
	in_comma comma 0.5 1 | jq -e '.. | select(type == "number" and . != floor)' >/dev/null
	ok "JSON and an interval there"
	in_comma comma 0.5 1 -t >"$tmp/comma.table"
	! grep -q '[0-9],[0-9]' "$tmp/comma.table"
	ok_if $? "a table there" "$(<"$tmp/comma.table")"
fi

done_testing
