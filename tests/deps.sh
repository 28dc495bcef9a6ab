#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the Debian packages that are missing, and nothing else.
#   tests/deps.sh [demo|check]    demo: build and lab only; check (default): every test and lint too
# When all is there it does nothing, and needs neither root nor network.
set -euo pipefail

BUILD_PKGS=(gcc libc6-dev make pkg-config libjansson-dev libsmartcols-dev libmnl-dev libnl-3-dev
	libnl-route-3-dev clang bpftool libbpf-dev)
# The lab runs this machine's own programs inside, so what the cases call belongs here too.
LAB_PKGS=(debian-archive-keyring qemu-system-x86 ipxe ipxe-qemu busybox-static kmod cpio xz-utils zstd
	iproute2 ethtool iputils-ping jq socat procps util-linux python3)
CHECK_PKGS=(libclang-rt-14-dev clang-tidy clang-tools cppcheck libcmocka-dev python3-jsonschema
	python3-prometheus-client gdb strace lsof graphviz shellcheck mandoc bsdextrautils util-linux-extra bash-completion rpm rpmlint git debootstrap)

case ${1:-check} in
demo) want=("${BUILD_PKGS[@]}" "${LAB_PKGS[@]}") ;;
check) want=("${BUILD_PKGS[@]}" "${LAB_PKGS[@]}" "${CHECK_PKGS[@]}") ;;
*) echo "usage: $0 [demo|check]" >&2; exit 2 ;;
esac

command -v dpkg-query >/dev/null || {
	echo "deps: not a Debian system; install the equivalents of: ${want[*]}" >&2
	exit 1
}

have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${want[@]}" 2>/dev/null |
	sed -n 's/^installed //p') || true # dpkg-query fails when one is unknown; that is the question
missing=()
for p in "${want[@]}"; do
	grep -qxF -- "$p" <<<"$have" || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "deps: needs root to install: ${missing[*]}" >&2
		exit 1
	}
	as_root=(sudo)
fi
echo "deps: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# What it says is of interest when it fails.
apt_get() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
		-o Acquire::Retries=3 "$@" </dev/null >"$log" 2>&1 && return
	tail -n 40 "$log" >&2
	return 1
}
# Lists may be absent or too old to fetch from, so they are renewed once something is missing.
apt_get update
apt_get install -y --no-install-recommends "${missing[@]}"
