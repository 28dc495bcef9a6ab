#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# As a new user: a Debian 12 root with make and nothing else, a clone of this tree's last commit, and README's two
# commands. Takes root, debootstrap, some GB and, for "check", long.
#   tests/fresh.sh DIR [COMMAND…]     in DIR, made if it is not there; default: "make demo" "make check"
# The mirror is the one of this machine's own apt sources.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
dir=${1:?usage: fresh.sh DIR [COMMAND…]}
shift
[ $# -gt 0 ] || set -- "make demo" "make check"
[ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root" >&2; exit 1; }

if [ ! -e "$dir/etc/debian_version" ]; then
	# shellcheck disable=SC2016 # apt's own
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Identifier: Packages' |
		awk '$2 == "bookworm" { print $1; exit }')
	[ -n "$mirror" ] || { echo "fresh.sh: no bookworm in this machine's apt sources" >&2; exit 1; }
	debootstrap --variant=minbase --include=make bookworm "$dir" "$mirror"
	# As the machine gets its packages: sources, and what apt needs to reach them.
	rm -f "$dir/etc/apt/sources.list"
	cp -rL /etc/apt/sources.list* "$dir/etc/apt/"
	grep -lE '^Acquire::' /etc/apt/apt.conf.d/* | xargs -r cp -t "$dir/etc/apt/apt.conf.d"
	cp -L /etc/resolv.conf "$dir/etc/"
fi
dir=$(realpath "$dir")
rm -rf "$dir/root/vhostctl"
git clone -q --no-hardlinks "$top" "$dir/root/vhostctl"

export dir
# shellcheck disable=SC2016 # for the inner shell
# Mounts that end with this script.
exec unshare --mount --propagation private bash -euo pipefail -c '
	mount --bind "$dir" "$dir" # a root directory that is a mount, as others are
	mount -t proc proc "$dir/proc"
	mount -t sysfs -o ro sysfs "$dir/sys"
	mount --rbind /dev "$dir/dev"
	mount -t tmpfs tmpfs "$dir/run"
	mount -t tmpfs tmpfs "$dir/tmp"
	for command; do
		echo "# $command"
		chroot "$dir" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			TERM=dumb LANG=C.UTF-8 bash -c "cd ~/vhostctl && $command"
	done' bash "$@"
