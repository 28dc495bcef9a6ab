#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kill test, on the kernel under test: N kills at random instants on victims, each kill point of the
# KILLPOINTS build on victims, and kills on a real QEMU whose guest is pinged and whose monitor is asked.
#   N (2000)     random kills on victims; QEMU gets 3 for each 20 of them
#   POINTS       runs at each kill point and kind of victim (N / 2000, at least 1)
#   KINDS        kinds of blocking call, each with a victim in which every thread waits in it
# timeout: 10800
set -uo pipefail
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"
# shellcheck source=tests/fixture/qemu.sh
. "$TOP/tests/fixture/qemu.sh"

N=${N:-2000}
POINTS=${POINTS:-$((N < 4000 ? 1 : N / 2000))}
read -ra kinds <<<"${KINDS:-ppoll poll nanosleep clock_nanosleep futex futex_rel futex_abs read accept epoll_pwait sigtimedwait inline futex_quiet}"
killpoints=$BUILD/killpoints/vhostctl
of_kinds=()
for k in "${kinds[@]}"; do of_kinds+=(--main "$k"); done

# A quarter on one victim with threads of all kinds, the rest on victims of one kind each.
on_victims() {
	local rc=0 each=$((N * 3 / 4 / ${#kinds[@]}))
	local get="$VHOSTCTL busyloop get {pid}/net0/tx"
	local set=(busyloop set "{pid}/net0/tx" "{value}")
	local killer=("$BUILD/tests/killer" --victim "$BUILD/tests/victim" --get "$get")
	"${killer[@]}" --main ppoll --random $((N - each * ${#kinds[@]})) -- "$VHOSTCTL" "${set[@]}" || rc=1
	[ "$each" = 0 ] ||
		"${killer[@]}" --victim-arg --only "${of_kinds[@]}" --random "$each" -- "$VHOSTCTL" "${set[@]}" || rc=1
	# Many signals, so that some come first to a thread that is being stopped.
	"${killer[@]}" --victim-arg --only --victim-arg --signal-rate --victim-arg 300 "${of_kinds[@]}" --points "$POINTS" -- "$killpoints" "${set[@]}" || rc=1
	return $rc
}

on_qemu() {
	local kills=$((N * 3 / 20))
	if ! guest_up killed >&2; then
		echo "not ok 1 - a QEMU to be disturbed comes up"
		return 1
	fi
	"$BUILD/tests/killer" --pid "${VM_PID[killed]}" --ping "${VM_IP[killed]}" --qmp "${VM_DIR[killed]}/qmp" \
		--random $((kills > 0 ? kills : 1)) --get "$VHOSTCTL busyloop get {pid}/net0/tx" \
		-- "$VHOSTCTL" busyloop set "{pid}/net0/tx" "{value}"
}

# Several TAP streams into one.
{
	rc=0
	on_victims || rc=1
	on_qemu || rc=1
	exit $rc
} | awk '/^1\.\./ { next } /^(not )?ok / { n++; sub(/ok [0-9]+/, "ok " n) } { print; fflush() } END { print "1.." n + 0 }'
