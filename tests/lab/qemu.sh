#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the QEMU that carries the lab, and the directory of its firmware when that is not where it looks itself.
# Before 8.1, two emulated CPUs race when the kernel patches its own code (one goes on with what the other has just
# overwritten, "Oops: int3"), and a lab dies within minutes to hours; so a machine whose QEMU is older gets the one of
# Debian's backports, in the cache.
set -euo pipefail
# shellcheck source=tests/lab/cache.sh
. "$(dirname "$0")/cache.sh"
# shellcheck source=tests/lab/apt.sh
. "$(dirname "$0")/apt.sh"
needed=8.1
suite=bookworm-backports
packages=(qemu-system-x86 qemu-system-data)
program=usr/bin/qemu-system-x86_64

# is_new_enough PROGRAM
is_new_enough() {
	local v
	v=$("$1" --version 2>/dev/null | sed -nE '1s/.*version ([0-9.]+).*/\1/p')
	[ -n "$v" ] && printf '%s\n' "$needed" "$v" | sort -CV
}

own=$(command -v qemu-system-x86_64) || own=''
if [ -n "$own" ] && is_new_enough "$own"; then
	echo "$own"
	exit 0
fi
with_lock qemu
dir=$LAB_CACHE/qemu
if ! is_new_enough "$dir/$program"; then
	work=$(mktemp -d "$LAB_CACHE/.fetch-qemu-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM HUP
	mkdir "$work/tree" "$work/deb"
	echo "qemu: downloading ${packages[*]} of $suite" >&2
	apt_private_setup "$work/apt" "$suite"
	(cd "$work/deb" && apt_private apt-get download "${packages[@]}" >&2)
	for deb in "$work"/deb/*.deb; do dpkg-deb -x "$deb" "$work/tree"; done
	is_new_enough "$work/tree/$program" || { echo "qemu: what $suite has does not run here, or is older than $needed" >&2; exit 1; }
	rm -rf "$dir"
	mv "$work/tree" "$dir"
fi
printf '%s\n' "$dir/$program" "$dir/usr/share/qemu"
