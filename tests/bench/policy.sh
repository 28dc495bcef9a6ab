#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# In the lab: one apply of a policy with globs to many VMs, and one that finds nothing to do. Rows for table.awk.
#   policy.sh [VMS]
set -euo pipefail
vms=${1:-200}
dir=$(mktemp -d)
pids=() first=''
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

# run WHAT POLICY: the time of one apply, as a ratio of the first's, and the pause of each VM by its own log
run() {
	local what=$1 start=$EPOCHREALTIME ms
	"$VHOSTCTL" apply - -v <<<"$2" >"$dir/out" 2>"$dir/err"
	ms=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", (b - a) * 1000 }')
	awk -v what="apply to $vms VMs, $what" -v ms="$ms" -v first="${first:=$ms}" \
		-v changes="$(jq '.changes | length' "$dir/out")" '
		/ stopped .* us, in / { stopped++; match($0, /stopped [0-9.]+/); us += substr($0, RSTART + 8, RLENGTH - 8)
			match($0, /in [0-9]+ stop/); n = substr($0, RSTART + 3, RLENGTH - 8) + 0; if (n > most) most = n }
		END {
			printf "%s: %d changes\tms\t\t%.1f\t\t%.2f\tthe first\t\n", what, changes, ms, ms / first
			printf "%s: %d VMs stopped, each %d times at most\tus\t\t%.1f\t\t\t\t\n", what, stopped, most, stopped ? us / stopped : 0
		}' "$dir/err"
}

policy() {
	echo '{"schema":1,"vms":[{"match":{"name":"bench-*"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":'"$1"'}]}]}'
}
run "all differ" "$(policy 30)"
run "nothing differs" "$(policy 30)"
