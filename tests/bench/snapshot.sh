#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the lab (or on a host with vhost): list, and show --all by snapshot and in the owners' context, on
# many VMs; and a walk of the whole host's files by snapshot and by readlink. Prints rows for table.awk.
#   snapshot.sh [VMS] [FDS] [ROUNDS]
set -euo pipefail
vms=${1:-200} fds=${2:-50000} rounds=${3:-3}
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
mkfifo "$dir/hold"
exec 9<>"$dir/hold"
ulimit -n 65536
for ((i = 0; i < vms; i++)); do
	"$BUILD/tests/vmm" --name "bench$i" --net 2 --vsock $((1000 + i)) <&9 >>"$dir/started" &
done
until [ "$(wc -l <"$dir/started")" = "$vms" ]; do sleep 0.2; done

# timed SERIES COMMAND…: its milliseconds, and its peak memory in KiB, into files
timed() {
	local series=$1 ms kib
	shift
	read -r ms kib < <("$BUILD/tests/bench_list" --time "$@")
	echo "$ms" >>"$dir/ms-$series"
	echo "$kib" >>"$dir/peak-$series"
}
percentile() { sort -n "$1" | awk -v p="$2" '{ v[NR] = $1 } END { print v[int((NR - 1) * p / 100) + 1] }'; }

"$VHOSTCTL" show --all --source snapshot >/dev/null # fills its cache of types
for ((r = 0; r < rounds; r++)); do
	timed list "$VHOSTCTL" list
	timed snapshot "$VHOSTCTL" show --all --source snapshot
	timed owner "$VHOSTCTL" show --all --source owner
	timed one "$VHOSTCTL" show bench0 --source snapshot
	rm -r /run/vhostctl
	timed fresh "$VHOSTCTL" show bench0 --source snapshot
done

# row WHAT SERIES OF NAME-OF-OF [GOAL-OF-MIB]
row() {
	printf '%s\tms\t%.1f\t%.1f\t%.1f\t%s\t%s\t\n' "$1" "$(percentile "$dir/ms-$2" 10)" "$(percentile "$dir/ms-$2" 50)" \
		"$(percentile "$dir/ms-$2" 90)" "$(awk -v a="$(percentile "$dir/ms-$2" 50)" \
			-v b="$(percentile "$dir/ms-$3" 50)" 'BEGIN { printf "%.2f", a / b }')" "$4"
	awk -v what="$1" '{ if ($1 > most) most = $1 }
		END { most /= 1024; printf "%s, peak memory\tMiB\t\t%.1f\t\t%.1f\tone MiB\t%s\n", what, most, most, goal }' \
		goal="${5:-}" "$dir/peak-$2"
}
row "list, $vms VMs" list list 'itself' '<=16'
row "show --all, $vms VMs, snapshot" snapshot list 'list'
row "show --all, $vms VMs, owner" owner snapshot 'snapshot'
row "show one VM of $vms, snapshot" one snapshot 'show --all'
row "show one VM of $vms, types not cached" fresh one 'types cached'
"$BUILD/tests/bench_walk" 10 "$fds"
