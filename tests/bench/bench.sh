#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One table of figures to compare from release to release: medians of interleaved runs, each against its floor
# and its peers in the same run; in software emulation only ratios mean anything. Fails when a goal is missed.
#   bench.sh [KERNEL]
# Natively: the pause, wall time of one set, and list on many processes (BENCH_PROCESSES). In the lab, with real
# devices: pause and wall time again, show --all of many VMs and a policy for them (BENCH_VMS), frames of a tap.
# BENCH_ROUNDS and BENCH_GDB_ROUNDS: how many runs natively; BENCH_ONLY=native leaves the lab out, lab the rest.
set -euo pipefail
kernel=${1:-7.3}
export VHOSTCTL=${VHOSTCTL:-$BUILD/vhostctl}
here=$(realpath "$(dirname "$0")")
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# rows_of WHERE COMMAND…: what it prints, as rows of the table
rows_of() {
	local where=$1
	shift
	echo "bench: $where: $(basename "$1") ..." >&2
	"$@" | grep -P '\t' | sed "s|^|$where\t|" >>"$rows"
}

if [ "${BENCH_ONLY:-native}" = native ]; then
	ulimit -n "$(ulimit -Hn)"
	rows_of native "$BUILD/tests/bench_pause" "${BENCH_ROUNDS:-300}" "${BENCH_GDB_ROUNDS:-5}"
	rows_of native "$here/set.sh"
	# shellcheck disable=SC2086 # a list
	rows_of native "$BUILD/tests/bench_list" "$VHOSTCTL" "${BENCH_LIST_ROUNDS:-20}" 100 \
		${BENCH_PROCESSES:-10 100 1000 10000}
fi
if [ "${BENCH_ONLY:-lab}" = lab ]; then
	export BENCH_VMS=${BENCH_VMS:-200}
	LAB_TIMEOUT=${LAB_TIMEOUT:-900} LAB_PASS=BENCH_VMS rows_of "lab $kernel" "$here/../lab/boot.sh" "$kernel" \
		--shell-cmd "$here/set.sh && $BUILD/tests/bench_pause 20 3 && $here/batches.sh && $here/snapshot.sh \$BENCH_VMS && $here/policy.sh \$BENCH_VMS"
fi
echo "this machine: $(uname -r), $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1); load $(cut -d' ' -f1 /proc/loadavg)"
awk -f "$here/table.awk" "$rows"
