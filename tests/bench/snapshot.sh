#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the lab (or on a host with vhost): show --all by snapshot and in the owners' context, and a whole-host walk.
#   snapshot.sh [VMS] [FDS]
set -euo pipefail
vms=${1:-50} fds=${2:-50000}
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
mkfifo "$dir/hold"
exec 9<>"$dir/hold"
for ((i = 0; i < vms; i++)); do
	"$BUILD/tests/vmm" --name "bench$i" --net 2 --vsock $((1000 + i)) <&9 >>"$dir/started" &
done
until [ "$(wc -l <"$dir/started")" = "$vms" ]; do sleep 0.2; done

# timed WORDS COMMAND…: the median of 5 runs
timed() {
	local what=$1 i
	shift
	for i in {1..5}; do
		local start=$EPOCHREALTIME
		"$@" >/dev/null
		awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print (b - a) * 1000 }'
	done | sort -n | awk -v what="$what" 'NR == 3 { printf "%-36s median %8.1f ms\n", what, $1 }'
}
echo "$vms VMs of 3 devices, kernel $(uname -r)"
timed "show --all, snapshot" "$VHOSTCTL" show --all --source snapshot
timed "show --all, owner" "$VHOSTCTL" show --all --source owner
timed "show one VM, snapshot" "$VHOSTCTL" show bench0 --source snapshot
timed "list" "$VHOSTCTL" list
rm -rf /run/vhostctl
timed "show one VM, cache gone once" "$VHOSTCTL" show bench0 --source snapshot
"$BUILD/tests/bench_walk" 10 "$fds"
