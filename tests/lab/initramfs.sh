#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds an initramfs for a kernel directory of the cache, unless it is there, and prints its path:
#   initramfs.sh KERNELDIR INIT MODULE…      busybox, INIT as /init, the modules with what they need
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
dir=${1:?usage: initramfs.sh KERNELDIR INIT MODULE…}
init=$2
shift 2
release=$(<"$dir/release")
key=$({ cat "$0" "$init" /bin/busybox; echo "$@"; } | sha256sum | cut -c 1-12)
image=$dir/$(basename "$init")-$key.cpio
if [ ! -s "$image" ]; then
	tmp=$(mktemp -d "$dir/.initramfs-XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	mkdir -p "$tmp"/root/{bin,dev,proc,sys,modules}
	cp /bin/busybox "$tmp/root/bin/"
	install -m 755 "$init" "$tmp/root/init"
	for m in "$@"; do # "builtin" lines are left out
		modprobe -S "$release" -d "$dir" --show-depends "$m" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | awk '!seen[$0]++' | while read -r ko; do
		cp "$ko" "$tmp/root/modules/"
		basename "$ko" >>"$tmp/root/modules/order"
	done
	(cd "$tmp/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$tmp/image"
	mv "$tmp/image" "$image"
fi
echo "$image"
