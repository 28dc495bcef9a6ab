#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the lab's initramfs for a kernel directory of the cache, unless it is there, and prints its path:
# busybox, initramfs-init, and the modules it takes to reach the machine's root.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
here=$(realpath "$(dirname "$0")")
dir=${1:?usage: initramfs.sh KERNELDIR}
release=$(<"$dir/release")
key=$(cat "$0" "$here/initramfs-init" /bin/busybox | sha256sum | cut -c 1-12)
image=$dir/initramfs-$key.cpio
if [ ! -s "$image" ]; then
	tmp=$(mktemp -d "$dir/.initramfs-XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	mkdir -p "$tmp"/root/{bin,dev,proc,sys,modules}
	cp /bin/busybox "$tmp/root/bin/"
	install -m 755 "$here/initramfs-init" "$tmp/root/init"
	# Each with what it needs, in order. 6.1 has virtio_pci as a module; "builtin" lines are skipped.
	for m in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
		modprobe -S "$release" -d "$dir" --show-depends "$m" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | awk '!seen[$0]++' | while read -r ko; do
		cp "$ko" "$tmp/root/modules/"
		basename "$ko" >>"$tmp/root/modules/order"
	done
	(cd "$tmp/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$tmp/image"
	mv "$tmp/image" "$image"
fi
echo "$image"
