#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The program as a whole: exit statuses, where errors go, and what a bad stdout does.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# fails STATUS STDERR ARGUMENT…: nothing on stdout, one line on stderr
fails() {
	local status=$1 expected=$2 got
	shift 2
	"$VHOSTCTL" "$@" >"$tmp/out" 2>"$tmp/err"
	got=$?
	[ "$got" = "$status" ] && [ "$(cat "$tmp/err")" = "vhostctl: $expected" ] &&
		[ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ]
	ok_if $? "exit $status: vhostctl $(printf '%q ' "$@")" "status $got" "$(cat "$tmp/out" "$tmp/err")"
}

fails 2 "no command given; try 'vhostctl --help'"
fails 2 "hepl: no such command; did you mean 'help'?" hepl
fails 2 "frobnicate: no such command; try 'vhostctl --help'" frobnicate
fails 2 "unknown option --frob; try 'vhostctl --help'" --frob
fails 2 "help: unknown option --frob; try 'vhostctl help --help'" help --frob
fails 2 "help: unknown option -Z; try 'vhostctl help --help'" help -Z
fails 2 "--help: no such command; did you mean 'help'?" -- --help
fails 2 "help: one operand too many: 'c'; try 'vhostctl help --help'" help a b c
fails 2 '\x1b[2Jx\n: no such command; try '"'vhostctl --help'" $'\e[2Jx\n'
fails 2 '\xff: no such command; try '"'vhostctl --help'" $'\xff'

# What is wrong with an operand or an option is said of the target, or of the option where there is none.
time="is no time; give microseconds: 50, 50us, 1ms, or 0 or off"
interval="is no time from 10 ms to 4,294 s; give seconds: 1, 0.5, 500ms"
id="is no worker id; give one as 'vhostctl worker list' shows it"
frames="set rx-frames: '65' is no number from 0 to 64; of more the kernel silently makes 64"
fails 2 "x: 'soon' $time" busyloop set x soon
fails 2 "x: 'workers=2' is there already" trial x workers=1 workers=2 --for 1
fails 2 "x/req0: 'one' $id" worker attach x/req0 one
fails 2 "x: 'one' $id" worker free x one
fails 2 "x: worker free: give ids of workers, or --idle" worker free x
fails 2 "x: --count takes a number from 1 to 1024, not '0'" worker create x --count 0
fails 2 "x: $frames" coalesce set x 65
fails 2 "tap0: $frames" coalesce set dev tap0 netns x 65
fails 2 "x: one operand too many: 'y'" coalesce get x y
fails 2 "x: 'y' $interval" stat x y
fails 2 "stat: '0' $interval" stat --all 0
fails 2 "stat: name a TARGET, or --all for every VM of this host" stat
fails 2 "--interval: '0' $interval" monitor --interval 0
fails 2 "--source: it is snapshot or owner, not 'x'" show --all --source x
fails 2 "list: it has no commands of its own; try 'vhostctl help list'" help list x
fails 3 "$$/net0: process $$ holds no vhost device and no tap" show $$/net0

long=aaaaaaaaaaaaaaaa
fails 3 "$long: find the tap: there is no such interface: a name has at most 15 characters" coalesce get dev $long

# A locale decides what can be shown as it is. C.UTF-8 is always there.
LC_ALL=C.UTF-8 fails 2 "ä: no such command; try 'vhostctl --help'" ä
LC_ALL=C fails 2 "\\xc3\\xa4: no such command; try 'vhostctl --help'" ä
LC_ALL=C.UTF-8 fails 2 "\\xe2\\x80\\xae: no such command; try 'vhostctl --help'" $'\xe2\x80\xae'

is "--version" "$("$VHOSTCTL" --version)" "vhostctl $(sed -n 's/^VERSION *:= *//p' Makefile)"

# A document that did not arrive is a failure, with its reason.
for where in /dev/full closed pipe; do
	case $where in
	closed) "$VHOSTCTL" help >&- 2>"$tmp/err"; got=$? ;;
	pipe)
		# the reader is gone before the writer starts
		{ sleep 0.2; "$VHOSTCTL" help 2>"$tmp/err"; echo $? >"$tmp/status"; } | :
		got=$(cat "$tmp/status")
		;;
	*) "$VHOSTCTL" help >"$where" 2>"$tmp/err"; got=$? ;;
	esac
	[ "$got" = 1 ] && grep -q '^vhostctl: write standard output: ' "$tmp/err"
	ok_if $? "exit 1 when stdout is $where" "status $got" "$(cat "$tmp/err")"
done

# Documents: whatever VMs this host has, in each format.
validate() { /usr/bin/python3 "${0%/*}/validate.py" src/schema/vhostctl.schema.json state 2>&1; }
for option in --compact --pretty ""; do
	# shellcheck disable=SC2086 # none is no word
	out=$("$VHOSTCTL" list $option 2>&1 | validate)
	ok "list $option is valid" "$out"
done
is "list prints one line into a pipe" "$("$VHOSTCTL" list | wc -l)" 1
[ "$(script -qec "'$VHOSTCTL' list" /dev/null | wc -l)" -gt 3 ]
ok "list indents on a terminal"
is "list -q prints nothing" "$("$VHOSTCTL" list -q 2>&1)" ""

# A process that does its worst: its name, its thread's name and its tap's name are hostile.
if [ "$(id -u)" = 0 ] && [ -w /dev/net/tun ]; then
	name=$'evil\e]0;owned\a\e[2J\n"\\\xff\xe2\x80\xae'
	mkfifo "$tmp/hold"
	/usr/bin/python3 -c '
import fcntl, struct, sys
tap = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", b"t\x1b[2J\xff\x9b", 0x1002))
open("/proc/self/comm", "wb").write(b"c\x1b[2J\n\xff")
print(flush=True)
sys.stdin.read()' -name "$name" <"$tmp/hold" >"$tmp/ready" &
	evil=$!
	exec 9>"$tmp/hold"
	for _ in $(seq 100); do [ -s "$tmp/ready" ] && break; sleep 0.1; done
	out=$("$VHOSTCTL" list "$evil" 2>&1 | validate)
	ok "a hostile VM is a valid document" "$out"
	for locale in C C.UTF-8; do
		LC_ALL=$locale "$VHOSTCTL" list -t "$evil" >"$tmp/out"
		! LC_ALL=C grep -q '[^[:print:]]' <(LC_ALL=C tr -d '\n' <"$tmp/out" |
			LC_ALL=C sed 's/\xe2\x94[\x80-\xbf]//g')
		ok_if $? "a hostile VM's table has no control characters in $locale" "$(cat -v "$tmp/out")"
		grep -q 't\\x1b\[2J\\xff\\x9b' "$tmp/out"
		ok_if $? "its tap is there, escaped" "$(cat -v "$tmp/out")"
	done
	exec 9>&-
	wait "$evil"
else
	true
	ok "hostile VM # SKIP needs root and /dev/net/tun"
fi

# A signal that asks to end waits for the whole of a change, and then has its effect.
if [ "$(id -u)" = 0 ] && ip tuntap add cli0 mode tap 2>/dev/null; then
	strace -qq -o /dev/null -e trace=sendto -e inject=sendto:delay_enter=3s:when=1 "$VHOSTCTL" coalesce set dev cli0 9 \
		>"$tmp/out" 2>"$tmp/err" &
	tracer=$!
	for _ in {1..50}; do pid=$(pgrep -P "$tracer" vhostctl) && break; sleep 0.02; done
	sleep 0.3
	kill -TERM "$pid"
	wait "$tracer"
	is "exit by SIGTERM" "$?" 143
	is "what it had begun is whole" "$(jq -c '[.changes[].after]' "$tmp/out")$(<"$tmp/err")" '[9]'
	is "and true" "$(ethtool -c cli0 | sed -n 's/^rx-frames:[[:blank:]]*//p')" 9
	ip link del cli0
else
	true
	ok "a signal amid a change # SKIP needs root and /dev/net/tun"
fi

# A policy from a command that takes its time.
out=$("$VHOSTCTL" diff <(sleep 0.3; echo '{"schema":1,"vms":[]}') 2>&1)
is "exit 0: a policy from a pipe that is empty yet" "$?" 0
[[ $out == *'"changes":[]'* ]]
ok "it is read to its end" "$out"

# Nothing may land in a file that happens to get the number of a closed descriptor.
"$VHOSTCTL" nonsense <&- >&- 2>&-
is "exit 2 with all descriptors closed" "$?" 2

done_testing
