#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# In the lab: what rx-frames does to the frames that vhost-net gives a tap, with the tap's send buffer
# limited (QEMU: sndbuf=) and unlimited, where vhost hands over batches of its own.
#   batches.sh [FRAMES [ROUNDS]]
# A batch: frames that the host's stack receives with no frame from vhost in between. The rate is
# measured in the same runs without tracing; in software emulation only ratios mean anything. Prints rows
# for table.awk.
set -euo pipefail
frames=${1:-20000} rounds=${2:-5}
dir=$(mktemp -d)
tracing=/sys/kernel/tracing
end() {
	[ -z "${vmm:-}" ] || kill "$vmm"
	echo 0 >$tracing/events/enable
	echo >$tracing/kprobe_events
	ip link del bench0
	rm -rf "$dir"
}
trap end EXIT
ip tuntap add bench0 mode tap vnet_hdr
ip link set bench0 up

mkfifo "$dir/in"
exec {in}<>"$dir/in"
"$BUILD/tests/vmm" --name bench --net 1 --tap bench0 <"$dir/in" >"$dir/out" &
vmm=$!
until [ -s "$dir/out" ]; do sleep 0.1; done
tap_fd=$(jq '.devices[0].tap_fd' "$dir/out")

# TUNSETSNDBUF on the VMM's file, as QEMU does it when told to.
sndbuf() {
	python3 -c "import ctypes, fcntl, os, struct
fd = ctypes.CDLL(None).syscall(438, os.pidfd_open($vmm), $tap_fd, 0)
fcntl.ioctl(fd, 0x400454d4, struct.pack('i', $1))"
}

# send COUNT: microseconds it took until vhost had taken all
send() {
	local lines start=$EPOCHREALTIME end
	lines=$(wc -l <"$dir/out")
	echo "send net0 $1 64" >&"$in"
	until [ "$(wc -l <"$dir/out")" -gt "$lines" ]; do :; done
	end=$EPOCHREALTIME
	[ "$(tail -n 1 "$dir/out")" = "{\"sent\":$1}" ] || { tail -n 1 "$dir/out" >&2; return 1; }
	echo $((${end/./} - ${start/./}))
}

echo "p:frame_in tun_get_user" >$tracing/kprobe_events
# batches COUNT: how many there were of how many frames
batches() {
	local e
	echo >$tracing/trace
	for e in kprobes/frame_in net/netif_receive_skb; do echo 1 >$tracing/events/$e/enable; done
	send "$1" >/dev/null
	for e in kprobes/frame_in net/netif_receive_skb; do echo 0 >$tracing/events/$e/enable; done
	awk '/frame_in:/ { if (run) n++; run = 0; frames++ } /netif_receive_skb: dev=bench0/ { run++; got++ }
		END { if (run) n++; printf "%d %d %d\n", frames, got, n }' $tracing/trace
}

# trial RX-FRAMES: frames a second and batches, each a line of a file
trial() {
	local got single bursts
	"$VHOSTCTL" -q coalesce set bench/bench0 "$1"
	read -r single got bursts < <(batches 1000)
	[ "$single" = 0 ] && bursts=0
	echo "$got $bursts" >"$dir/batches-$1"
	awk -v f="$frames" -v u="$(send "$frames")" 'BEGIN { printf "%d\n", f * 1e6 / u }' >>"$dir/rates-$1"
}

percentile() { sort -n "$1" | awk -v p="$2" '{ v[NR] = $1 } END { print v[int((NR - 1) * p / 100) + 1] }'; }
for limit in 1048576 2147483647; do
	name=$([ $limit = 2147483647 ] && echo unlimited || echo limited)
	sndbuf $limit
	rm -f "$dir"/rates-*
	for ((i = 0; i < rounds; i++)); do
		for n in 0 64; do trial $n; done
	done
	none=$(percentile "$dir/rates-0" 50)
	for n in 0 64; do
		what="rx-frames $n, sndbuf $name"
		rate=$(percentile "$dir/rates-$n" 50)
		printf 'rate, %s\tframes/s\t%d\t%d\t%d\t%s\trx-frames 0\t\n' "$what" "$(percentile "$dir/rates-$n" 10)" \
			"$rate" "$(percentile "$dir/rates-$n" 90)" "$(awk -v a="$rate" -v b="$none" 'BEGIN { printf "%.2f", a / b }')"
		awk -v what="$what" '{
			if ($2) printf "batch, %s\tframes\t\t%.1f\t\t\t\t\n", what, $1 / $2
			else printf "batch, %s (vhost hands over its own)\tframes\t\t\t\t\t\t\n", what
		}' "$dir/batches-$n"
	done
done
