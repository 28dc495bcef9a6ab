#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Boots a Debian kernel in software emulation on this machine's own root (read-only, an overlay takes writes)
# and runs case scripts there as root, or one command:
#   tests/lab/boot.sh KERNEL [--keep DIR] SCRIPT…
#   tests/lab/boot.sh KERNEL [--keep DIR] --shell-cmd 'COMMAND'
# KERNEL: 6.1 6.12 6.18 7.3, or host: the same on this machine's kernel (needs root and vhost).
# Inside: TOP, BUILD, VHOSTCTL, LAB_KERNEL, and LAB_OUT, which is DIR: what is written there comes out.
# Environment: VHOSTCTL, BUILD, LAB_MEM (MiB), LAB_TIMEOUT (s; 300 for a command), LAB_PASS (names of variables to hand in).
# Exit status: the command's, or 0 when every script passed and the kernel stayed quiet; 77: no such kernel any more.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
here=$(realpath "$(dirname "$0")")
# shellcheck source=tests/lab/cache.sh
. "$here/cache.sh"

kernel=${1:?usage: boot.sh KERNEL [--keep DIR] (--shell-cmd CMD | SCRIPT…)}
shift
keep='' command=''
while [ $# -gt 0 ]; do
	case $1 in
	--keep) keep=$2; shift 2 ;;
	--shell-cmd) command=$2; shift 2 ;;
	*) break ;;
	esac
done
TOP=$(realpath "$here/../..")
BUILD=$(realpath -m "${BUILD:-$TOP/build}")
VHOSTCTL=$(realpath -m "${VHOSTCTL:-$BUILD/vhostctl}")
export TOP BUILD VHOSTCTL LAB_CACHE LAB_KERNEL=$kernel

if [ -n "$keep" ]; then
	mkdir -p "$keep"
	out=$(realpath "$keep")
	rm -f "$out"/{status,command,scripts,up,console.log,notes}
else
	out=$(mktemp -d)
fi
qemu=''
cleanup() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
	[ -n "$keep" ] || rm -rf "$out"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# A script says how long it may take: "# timeout: SECONDS" on a line of its own.
total=60
if [ -n "$command" ]; then
	printf '%s\n' "$command" >"$out/command"
	total=300
else
	for script in "$@"; do
		limit=$(sed -n 's/^# timeout: *\([0-9]*\)$/\1/p' "$script")
		echo "${limit:=120} $(realpath "$script")"
		total=$((total + limit + 10))
	done >"$out/scripts"
	[ -s "$out/scripts" ] || { echo "boot.sh: nothing to run" >&2; exit 2; }
fi

# The guests that guest_up starts run 6.1 on every kernel: newer ones panic in nested emulation.
dir=$("$here/fetch.sh" 6.1)
LAB_GUEST_KERNEL=$dir/vmlinuz
LAB_GUEST_INITRD=$("$here/initramfs.sh" "$dir" "$TOP/tests/fixture/guest-init" \
	virtio_pci virtio_net virtio_scsi sd_mod vmw_vsock_virtio_transport)
export LAB_GUEST_KERNEL LAB_GUEST_INITRD

if [ "$kernel" = host ]; then
	[ "$(id -u)" = 0 ] || { echo "boot.sh: KERNEL=host needs root" >&2; exit 1; }
	modprobe -q vhost_net || [ -e /dev/vhost-net ] || {
		echo "boot.sh: this host's kernel $(uname -r) has no vhost_net" >&2
		exit 1
	}
	LAB_RELEASE=$(uname -r) LAB_OUT=$out bash "$here/inside.sh"
	exit
fi

found=$("$here/qemu.sh")
mapfile -t emulator <<<"$found" # the program, its firmware's directory
emulator=("${emulator[0]}" ${emulator[1]:+-L "${emulator[1]}"})
dir=$("$here/fetch.sh" "$kernel")
LAB_RELEASE=$(<"$dir/release")
# 6.1 has virtio_pci as a module, the others have it built in.
initramfs=$("$here/initramfs.sh" "$dir" "$here/initramfs-init" virtio_pci virtio_console 9pnet_virtio 9p overlay)
cp "$here/init.sh" "$out/init.sh"
for v in TOP BUILD VHOSTCTL LAB_CACHE LAB_KERNEL LAB_RELEASE LAB_GUEST_KERNEL LAB_GUEST_INITRD ${LAB_PASS:-}; do
	[ -z "${!v+set}" ] || printf 'export %s=%q\n' "$v" "${!v}"
done >"$out/env"

# QEMU takes the end of its stdin for a closed port, so it gets one that never ends.
exec {open_end}<> <(:)
with_lock boot # two cores carry one lab
started=$EPOCHREALTIME
share=security_model=none,multidevs=remap
# tsc=reliable: 6.1 would go by the HPET, each look at which leaves the emulated CPU.
parameters="console=ttyS0 panic=-1 oops=panic mitigations=off log_buf_len=4M tsc=reliable"

# QEMU until its end. Fails when the kernel is not up in three minutes: on cores that it has to share, the emulation
# may lose a timer of a boot, which is nothing of what is tested.
boot() {
	local tick
	timeout --foreground -k 5 "${LAB_TIMEOUT:-$total}" "${emulator[@]}" \
		-machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m "${LAB_MEM:-3072}" \
		-kernel "$dir/vmlinuz" -initrd "$initramfs" -append "$parameters" \
		-nodefaults -nographic -no-reboot -serial file:"$out/console.log" \
		-virtfs local,path=/,mount_tag=labroot,readonly=on,$share \
		-virtfs local,path="$out",mount_tag=labout,$share \
		-device virtio-serial-pci -chardev stdio,id=out -device virtserialport,chardev=out,name=out \
		-device virtio-rng-pci <&"$open_end" &
	qemu=$!
	for ((tick = 0; tick < 180; tick++)); do
		if [ -s "$out/up" ] || ! kill -0 "$qemu" 2>/dev/null; then break; fi
		sleep 1
	done
	[ -s "$out/up" ] || kill "$qemu" 2>/dev/null || true
	wait "$qemu" || true # the status file, not QEMU's exit, says how it went
	qemu=''
	[ -s "$out/up" ]
}
boot || {
	echo "# lab $kernel: the kernel did not come up and is booted once more; it had said:" >&2
	tail -n 5 "$out/console.log" | tr -d '\r' | sed 's/^/# /' >&2
	boot || true
}
took=$(awk -v a="$started" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
echo "# lab $kernel ($LAB_RELEASE): up after $(cat "$out/up" 2>/dev/null || echo ?) s, over after $took s" >&2

if [ ! -s "$out/status" ]; then
	echo "# lab $kernel: the boot did not come to its end; the console's last lines:" >&2
	tail -n 30 "$out/console.log" | tr -d '\r' | sed 's/^/# /' >&2
	exit 1
fi
exit "$(<"$out/status")"
