# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests that are scripts: counts and prints TAP. BUILD names the build directory.
set -u
BUILD=${BUILD:-build}
# shellcheck disable=SC2034 # for the scripts that source this
VHOSTCTL=$BUILD/vhostctl
TAP_COUNT=0
TAP_FAILED=0

# ok NAME [MESSAGE…]: by the status of the command before; the message is shown on failure. With $(…) in
# one of them, that would be the command before: ok_if $? NAME MESSAGE…
ok() {
	# shellcheck disable=SC2319 # a condition's status too
	ok_if "$?" "$@"
}

ok_if() {
	local status=$1 name=$2
	shift 2
	TAP_COUNT=$((TAP_COUNT + 1))
	if [ "$status" = 0 ]; then
		echo "ok $TAP_COUNT - $name"
	else
		echo "not ok $TAP_COUNT - $name"
		[ $# = 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
		TAP_FAILED=1
	fi
}

# is NAME ACTUAL EXPECTED
is() {
	[ "$2" = "$3" ]
	ok "$1" "got:      $2" "expected: $3"
}

# need_netns NETNS NAME: makes it, to be deleted by the caller; or that is the end, and the one test NAME is skipped
need_netns() {
	[ "$(id -u)" != 0 ] || [ ! -w /dev/net/tun ] || ! ip netns add "$1" 2>/dev/null || return 0
	true
	ok "$2 # SKIP needs root, /dev/net/tun and ip netns"
	done_testing
}

# need_tap_vms NETNS NAME: need_netns, and $tmp/stdin: a tap-vm.py that reads it ends with the process $keeper
need_tap_vms() {
	need_netns "$1" "$2"
	tmp=$(mktemp -d)
	mkfifo "$tmp/stdin"
	sleep 1000 >"$tmp/stdin" &
	# shellcheck disable=SC2034 # the same
	keeper=$!
}

# until_ TEST...: within 20 seconds
until_() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

done_testing() {
	echo "1..$TAP_COUNT"
	exit "$TAP_FAILED"
}
