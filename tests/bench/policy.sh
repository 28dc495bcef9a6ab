#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# In the lab: one apply of a policy with globs to many VMs, and one that finds nothing to do.
#   policy.sh [VMS]
set -euo pipefail
vms=${1:-200}
dir=$(mktemp -d)
pids=()
end() {
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}"
	rm -rf "$dir"
}
trap end EXIT

exec {open_end}<> <(:)
for ((i = 0; i < vms; i++)); do
	"$BUILD/tests/vmm" --name "bench-$i" --net 1 <&"$open_end" >"$dir/$i" &
	pids+=($!)
done
for ((i = 0; i < vms; i++)); do until [ -s "$dir/$i" ]; do sleep 0.1; done; done

run() {
	local what=$1 start=$EPOCHREALTIME
	"$VHOSTCTL" apply - -v <<<"$2" >"$dir/out" 2>"$dir/err"
	awk -v what="$what" -v a="$start" -v b="$EPOCHREALTIME" -v vms="$vms" -v changes="$(jq '.changes | length' "$dir/out")" '
		/ stopped .* us, in / { stopped++; match($0, /stopped [0-9.]+/); us += substr($0, RSTART + 8, RLENGTH - 8)
			match($0, /in [0-9]+ stop/); n = substr($0, RSTART + 3, RLENGTH - 8) + 0; if (n > most) most = n }
		END { printf "%-22s %4d VMs in %6.2f s: %4d changes, %4d VMs stopped, most stops of one %d, %.0f us each\n",
			what, vms, b - a, changes, stopped, most, stopped ? us / stopped : 0 }' "$dir/err"
}

policy() {
	echo '{"schema":1,"vms":[{"match":{"name":"bench-*"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":'"$1"'}]}]}'
}
run "apply, all differ" "$(policy 30)"
run "apply, nothing differs" "$(policy 30)"
