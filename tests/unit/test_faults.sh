#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Failing system calls (tests/faults) of what needs no vhost: the owner context on a victim that checks itself,
# a tap of a network namespace of its own, list and check. FAULTS_SHARE=n: one fault in n; the lab does the rest.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"
share=${FAULTS_SHARE:-10}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
faults() { "$BUILD/tests/faults" -S "$share" "$@" >"$tmp/faults" 2>&1; }
# said: what ok() shows, and on success the sum
said() { cut -c1-400 "$tmp/faults"; }
sum() { sed "s/^/# $1: /" <(tail -n 1 "$tmp/faults"); }

faults -- "$VHOSTCTL" list
ok_if $? "list" "$(said)"
sum list
faults -- "$VHOSTCTL" check
ok_if $? "check" "$(said)"
sum check

mkfifo "$tmp/in"
exec 3<>"$tmp/in"
for kind in ppoll futex; do
	"$BUILD/tests/victim" --main "$kind" --only --no-vhost <&3 >"$tmp/victim" 2>&1 &
	victim=$!
	until [ -s "$tmp/victim" ]; do sleep 0.05; done
	# fd 3 is a pipe of the victim, which answers ENOTTY.
	faults -p $victim -- "$BUILD/tests/poke" $victim 3 7
	ok_if $? "a call in a victim, of which all threads wait in $kind" "$(said)"
	sum "$kind"
	echo quit >&3
	wait "$victim" && tail -n 1 "$tmp/victim" | grep -q '^OK '
	ok_if $? "the victim is whole" "$(cut -c1-300 "$tmp/victim")"
done

# Each request of ptrace fails once, in a VM where no signal comes between: whatever the tracer had in mind, the
# thread goes on where it was, and not where it had been half a second before.
n=1 ended=''
while [ -z "$ended" ] && [ $n -lt 40 ]; do
	"$BUILD/tests/victim" --main futex --only --no-vhost --signal-rate 1 <&3 >"$tmp/victim" 2>&1 &
	victim=$!
	until [ -s "$tmp/victim" ]; do sleep 0.05; done
	# A run that comes to its end without one has fewer requests; one that finds no idle thread is tried again.
	for _ in {1..5}; do
		strace -f -o "$tmp/strace" -e trace=ptrace -e inject=ptrace:error=ESRCH:when=$n \
			"$BUILD/tests/poke" $victim 3 7 >/dev/null 2>&1 && ended=yes
		! grep -q INJECTED "$tmp/strace" || { ended=''; break; }
		[ -z "$ended" ] || break
	done
	sleep 0.2
	echo quit >&3
	if ! wait "$victim" || ! tail -n 1 "$tmp/victim" | grep -q '^OK '; then
		ok_if 1 "ptrace request $n fails: the victim is whole" "$(cut -c1-300 "$tmp/victim")"
	fi
	n=$((n + 1))
done
ok_if $((n < 15)) "each of $((n - 2)) requests of ptrace failed, and the victim was whole" "$(cut -c1-200 "$tmp/strace")"

# The rest runs in a network namespace of its own.
if [ "$(id -u)" = 0 ] && [ -e /dev/net/tun ] && unshare -n ip tuntap add faults0 mode tap 2>"$tmp/why"; then
	export VHOSTCTL
	frames="$VHOSTCTL coalesce get dev faults0 | jq -c '[.taps[].rx_frames]'"
	unshare -n bash -c '
		ip tuntap add faults0 mode tap && exec "$@"' _ \
		"$BUILD/tests/faults" -S "$share" -r "$VHOSTCTL -q coalesce set dev faults0 0" -s "$frames" -- \
		"$VHOSTCTL" coalesce set dev faults0 64 >"$tmp/faults" 2>&1
	ok_if $? "coalesce set" "$(said)"
	sum "coalesce set"
else
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "ok $TAP_COUNT - coalesce set # SKIP no tap to be had here: $(head -n 1 "$tmp/why" 2>/dev/null)"
fi
done_testing
