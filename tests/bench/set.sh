#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Wall time of one busy-loop set by vhostctl and by gdb, interleaved, on one process: in the lab with a real
# vhost-net device. Where there is none the owner context alone does it (tests/kill/poke.c), on a file that
# refuses it. Beside them a program that does nothing, and ours doing nothing. Prints rows for table.awk.
set -euo pipefail
rounds=${BENCH_ROUNDS:-20} gdb_rounds=${BENCH_GDB_ROUNDS:-3}
dir=$(mktemp -d)
trap 'kill "$subject"; rm -rf "$dir"' EXIT

if [ -e /dev/vhost-net ]; then
	mkfifo "$dir/vmm"
	exec 3<>"$dir/vmm"
	"$BUILD/tests/vmm" --name bench --net 1 --vcpus 1 --helpers 1 <&3 >"$dir/vmm.out" &
	subject=$!
	until [ -s "$dir/vmm.out" ]; do sleep 0.1; done
	fd=$(jq '.devices[0].fd' "$dir/vmm.out")
	tool='busyloop set' result=0
	by_tool() { "$VHOSTCTL" -q busyloop set "$subject/net0/tx" "$1"; }
else
	mkfifo "$dir/in"
	exec 8<>"$dir/in" 9<>/dev/null
	cat <&8 &
	subject=$! fd=9
	tool='poke' result=-1
	by_tool() { "$BUILD/tests/poke" "$subject" "$fd" "$1" >/dev/null; }
fi

# VHOST_SET_VRING_BUSYLOOP_TIMEOUT of linux/vhost.h, for queue 1, argument on the dead stack
request=0x4008af23
by_gdb() {
	gdb -q -nx -batch -iex 'set debuginfod enabled off' -p "$subject" \
		-ex "set {unsigned long}(\$sp - 1024) = 1 | (${1}ul << 32)" \
		-ex "call (int)ioctl($fd, $request, \$sp - 1024)" </dev/null 2>&1 | grep -q -- "= $result\$"
}

# timed SERIES CMD…: microseconds into a file
timed() {
	local series=$1 start=$EPOCHREALTIME
	shift
	"$@"
	local end=$EPOCHREALTIME
	echo $((${end/./} - ${start/./})) >>"$dir/$series"
}

for ((i = 1; i <= rounds; i++)); do
	timed tool by_tool $((i + 100))
	timed nothing "$VHOSTCTL" --version >/dev/null
	timed true /bin/true
	if [ "$i" -le "$gdb_rounds" ]; then timed gdb by_gdb "$i"; fi
done

percentile() { sort -n "$dir/$1" | awk -v p="$2" '{ v[NR] = $1 } END { print v[int((NR - 1) * p / 100) + 1] }'; }
# row WHAT SERIES OF NAME-OF-OF GOAL
row() {
	local of
	of=$(percentile "$3" 50)
	printf '%s\tus\t%d\t%d\t%d\t%s\t%s\t%s\n' "$1" "$(percentile "$2" 10)" "$(percentile "$2" 50)" \
		"$(percentile "$2" 90)" "$(awk -v a="$(percentile "$2" 50)" -v b="$of" 'BEGIN { printf "%.2f", a / b }')" \
		"$4" "$5"
}
row 'run of true, which does nothing' true true 'true' ''
row 'run of vhostctl --version' nothing true 'true' ''
row "run of $tool" tool nothing 'vhostctl --version' ''
row 'run of gdb, the same ioctl' gdb tool "$tool" '>=100'
row 'run of gdb, the same ioctl' gdb nothing 'vhostctl --version' ''
row 'run of gdb, the same ioctl' gdb true 'true' ''
