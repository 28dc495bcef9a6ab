#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Brings one Debian kernel into the cache and prints its directory:
#   tests/lab/fetch.sh [--refresh] 6.1|6.12|6.18|7.3
# The directory holds release, vmlinuz and lib/modules/RELEASE. What is cached is not asked for again,
# unless --refresh looks for a newer patch level. Exit 77: the mirror no longer has a kernel that may be gone.
set -euo pipefail
# shellcheck source=tests/lab/cache.sh
. "$(dirname "$0")/cache.sh"
# shellcheck source=tests/lab/apt.sh
. "$(dirname "$0")/apt.sh"

refresh=
if [ "${1:-}" = --refresh ]; then refresh=1; shift; fi
kernel=${1:?usage: fetch.sh [--refresh] KERNEL}
may_be_gone=
case $kernel in
6.1) suites=(bookworm bookworm-security) ;;
6.12) suites=(bookworm-backports) ;;
6.18) suites=(trixie-backports); may_be_gone=1 ;; # mirrors keep the newest and its predecessors for a while
7.3) suites=(trixie-backports) ;;
*) echo "fetch: no kernel $kernel here: 6.1 6.12 6.18 7.3" >&2; exit 2 ;;
esac

say() { echo "fetch $kernel: $*" >&2; }
die() { say "$*"; exit 1; }

# The packages of the newest patch level: a kernel with its modules, or since 7.x in three parts.
# The regular expression leaves out -unsigned, cloud, rt and debug flavours.
find_packages() {
	local names v re="${kernel//./\\.}(\\.[0-9][0-9.]*)?(-[0-9]+|\\+deb[0-9.]+)-amd64"
	names=$(apt_private apt-cache pkgnames linux- |
		grep -Ex "linux-(image|binary|modules)-$re") || true # none: the caller says so
	v=$(sed -E 's/^linux-[a-z]+-//' <<<"$names" | sort -V | tail -n 1)
	[ -n "$v" ] || return 0
	if grep -qxF "linux-binary-$v" <<<"$names"; then
		echo "linux-binary-$v linux-modules-$v linux-base-$v"
	else
		echo "linux-image-$v"
	fi
}

# Only what a machine of virtio devices, taps, targets and KVM can use: a third of the package.
trees=(lib block crypto virt net arch/x86/kvm arch/x86/crypto
	fs/9p fs/netfs fs/fscache fs/overlayfs fs/configfs fs/fuse fs/nls
	drivers/vhost drivers/vdpa drivers/virtio drivers/target drivers/scsi drivers/crypto/ccp
	drivers/block/virtio_blk drivers/block/loop drivers/char/virtio_console drivers/char/hw_random
	drivers/net/tun drivers/net/tap drivers/net/mac drivers/net/ipvlan drivers/net/veth
	drivers/net/dummy drivers/net/bonding drivers/net/virtio_net drivers/net/net_failover
	drivers/net/vxlan drivers/net/vrf drivers/net/ifb drivers/net/mdio drivers/net/phy)
wanted="/(boot/vmlinuz-[^/]*|modules/[^/]+/(vmlinuz|modules\\.(order|builtin.*)|kernel/($(IFS='|'; echo "${trees[*]}"))[./_a-z].*))\$"

unpack() {
	local deb=$1 to=$2
	dpkg-deb --fsys-tarfile "$deb" >"$work/tar"
	tar -tf "$work/tar" | grep -E "$wanted" | grep -v '/$' >"$work/names" || die "nothing to unpack in ${deb##*/}"
	tar -C "$to" -xf "$work/tar" --no-same-owner -T "$work/names"
	rm "$work/tar"
}

with_lock "$kernel"
if [ -z "$refresh" ] && [ -s "$LAB_CACHE/$kernel/release" ]; then
	readlink -f "$LAB_CACHE/$kernel"
	exit 0
fi

rm -rf "$LAB_CACHE/.fetch-$kernel-"* # of one that was killed: we hold the lock
work=$(mktemp -d "$LAB_CACHE/.fetch-$kernel-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
mkdir -p "$work/tree" "$work/deb"
apt_private_setup "$work/apt" "${suites[@]}" || die "the mirror's package lists could not be fetched"
read -ra packages <<<"$(find_packages)"
if [ ${#packages[@]} -eq 0 ]; then
	say "the mirror has no kernel $kernel in ${suites[*]}"
	[ -z "$may_be_gone" ] || exit 77
	exit 1
fi
release=${packages[0]#linux-*-}
if [ "$(cat "$LAB_CACHE/$kernel/release" 2>/dev/null)" = "$release" ]; then
	readlink -f "$LAB_CACHE/$kernel"
	exit 0
fi

say "downloading ${packages[*]}"
(cd "$work/deb" && apt_private apt-get download "${packages[@]}" >&2) || die "download failed"
for deb in "$work"/deb/*.deb; do
	unpack "$deb" "$work/tree"
done
cd "$work/tree"
if [ -d usr/lib ]; then mv usr/lib .; fi # from 6.18 on
find . -mindepth 2 -name 'vmlinuz*' -exec mv {} vmlinuz \; # under boot, since 7.x under lib/modules
[ -d "lib/modules/$release/kernel/drivers/vhost" ] || die "the package has no vhost modules of $release"
# Unpacked once here, not at each boot under emulation.
find lib -name '*.ko.xz' -print0 | xargs -0 -r -P 2 xz -d
/sbin/depmod -b . "$release"
echo "$release" >release
cd /

# Renames last: whoever is interrupted before leaves nothing that looks complete.
rm -rf "${LAB_CACHE:?}/kernel-$release"
mv "$work/tree" "$LAB_CACHE/kernel-$release"
ln -sfn "kernel-$release" "$work/link"
mv -T "$work/link" "$LAB_CACHE/$kernel"
say "$release, $(du -sh "$LAB_CACHE/kernel-$release" | cut -f1)"
readlink -f "$LAB_CACHE/$kernel"
