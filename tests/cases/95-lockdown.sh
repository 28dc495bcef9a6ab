#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel locked down to confidentiality: no snapshot, and it is said why. Last, since it lasts until reboot.
# shellcheck disable=SC2317 # run_cases calls the tests
. "$TOP/tests/lib.sh"
if has_no_snapshot; then
	echo "1..0 # SKIP this program was built without the snapshot"
	exit 0
fi

test_lockdown_ends_in_the_owner_context() {
	[ -e /sys/kernel/security/lockdown ] || skip "this kernel has no lockdown"
	[ "$LAB_KERNEL" != host ] || skip "it would last until the host's reboot"
	coproc VMM { exec "$BUILD/tests/vmm" --name vm1 --net 1 --tap sa; }
	read -r -t 30 _ <&"${VMM[0]}" || fail "the VMM did not start"
	ctl show vm1
	expect_json .source '"snapshot"'
	echo confidentiality >/sys/kernel/security/lockdown
	ctl show vm1 --source snapshot
	expect_status 4
	expect_match err 'locked down \(confidentiality\)'
	ctl show vm1
	expect_status 0
	expect_json .source '"owner"'
	ctl check
	expect_json '.checks[] | select(.name == "snapshot") | [.ok, (.reason | test("locked down"))]' '[false,true]'
}

run_cases
