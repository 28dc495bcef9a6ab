#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make demo: vhostctl on a real VM. A host with VMs on vhost of its own is only pointed at them; anywhere else
# the lab boots (KERNEL, default 7.3) and a Linux guest under KVM gets tuned there while it is pinged.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
export BUILD=${BUILD:-$top/build}
step() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
show() { printf '\033[1m$ vhostctl %s\033[0m\n' "$*"; "$VHOSTCTL" "$@"; }

in_the_lab() {
	# shellcheck source=tests/lib.sh
	. "$TOP/tests/lib.sh"
	# shellcheck source=tests/fixture/qemu.sh
	. "$TOP/tests/fixture/qemu.sh"
	step "Linux $(uname -r); starting a guest with two queue pairs, poll-us=33, vhost-scsi and vhost-vsock"
	guest_up demo
	pings_start demo -i 0.1

	step "what runs here"
	show list --table
	step "the first queue pair in full"
	show show demo/net0 --pretty
	step "busy polling of the first queue pair, from 33 to 50 µs, while the guest works"
	show busyloop get demo --table
	show busyloop set demo/net0 50 --pretty
	show busyloop get demo --table
	local after
	after=$("$VHOSTCTL" busyloop get demo | jq -c '[.vms[].devices[] | select(.kind == "net").queues[].busyloop_usecs]')
	sleep 2

	echo
	pings_stop demo
	[ "$after" = '[50,50,33,33]' ] || { echo "busy-loop timeouts afterwards: $after, not [50,50,33,33]" >&2; return 1; }
}

if [ "${1:-}" = --inside ]; then
	in_the_lab
	exit
fi

kernel=${1:-7.3}
export VHOSTCTL=$BUILD/vhostctl
if [ -e /dev/vhost-net ] && "$VHOSTCTL" list --compact | jq -e '.vms | length > 0' >/dev/null; then
	step "this host has VMs on vhost; nothing is changed"
	show list --table
	name=$("$VHOSTCTL" list | jq -r '.vms[0] | .name // .pid')
	printf '\nTo go on:\n  %s show %s --table\n  %s busyloop get %s\n  %s busyloop set %s/net0 50 --dry-run\n' \
		"$VHOSTCTL" "$name" "$VHOSTCTL" "$name" "$VHOSTCTL" "$name"
	exit
fi
step "booting the lab with kernel $kernel"
exec "$top/tests/lab/boot.sh" "$kernel" --shell-cmd 'exec bash tests/demo.sh --inside'
