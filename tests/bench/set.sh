#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# In the lab: wall time of one busy-loop set by vhostctl and by gdb, interleaved, on one process
# with a real vhost-net device; and the pause of both, on the same kernel. Prints rows for table.awk.
set -euo pipefail
rounds=${BENCH_ROUNDS:-20} gdb_rounds=${BENCH_GDB_ROUNDS:-3}

mkfifo /tmp/vmm
"$BUILD/tests/vmm" --name bench --net 1 --vcpus 1 --helpers 1 </tmp/vmm >/tmp/vmm.out &
vmm=$!
exec 3>/tmp/vmm
until [ -s /tmp/vmm.out ]; do sleep 0.1; done
fd=$(jq '.devices[0].fd' /tmp/vmm.out)

# VHOST_SET_VRING_BUSYLOOP_TIMEOUT of linux/vhost.h, for queue 1, argument on the dead stack
request=0x4008af23
by_gdb() {
	gdb -q -nx -batch -iex 'set debuginfod enabled off' -p "$vmm" \
		-ex "set {unsigned long}(\$sp - 1024) = 1 | (${1}ul << 32)" \
		-ex "call (int)ioctl($fd, $request, \$sp - 1024)" </dev/null 2>&1 | grep -q '= 0$'
}
by_vhostctl() { "$VHOSTCTL" -q busyloop set "$vmm/net0/tx" "$1"; }

# timed SERIES CMD…: microseconds into a file
timed() {
	local series=$1 start=$EPOCHREALTIME
	shift
	"$@"
	local end=$EPOCHREALTIME
	echo $((${end/./} - ${start/./})) >>"/tmp/$series"
}

for ((i = 1; i <= rounds; i++)); do
	timed vhostctl by_vhostctl $((i + 100))
	timed nothing "$VHOSTCTL" --version >/dev/null
	if [ "$i" -le "$gdb_rounds" ]; then timed gdb by_gdb "$i"; fi
done

percentile() { sort -n "/tmp/$1" | awk -v p="$2" '{ v[NR] = $1 } END { print v[int((NR - 1) * p / 100) + 1] }'; }
# row WHAT SERIES OF NAME-OF-OF
row() {
	local of
	of=$(percentile "$3" 50)
	printf '%s\tus\t%d\t%d\t%d\t%s\t%s\t\n' "$1" "$(percentile "$2" 10)" "$(percentile "$2" 50)" \
		"$(percentile "$2" 90)" "$(awk -v a="$(percentile "$2" 50)" -v b="$of" 'BEGIN { printf "%.2f", a / b }')" \
		"$4"
}
row 'run of vhostctl --version' nothing nothing 'vhostctl --version'
row 'run of busyloop set' vhostctl nothing 'vhostctl --version'
row 'run of gdb, the same ioctl' gdb vhostctl 'busyloop set'
exec 3>&-
wait "$vmm" || true
"$BUILD/tests/bench_pause" "$rounds" "$gdb_rounds"
