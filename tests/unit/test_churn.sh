#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the monitor costs at this machine's own speed, which an emulated one cannot tell, and that it tells each
# change once: MONITOR_MINUTES of churn, 10 for the whole test. Taps only; tests/cases/82-monitor.sh has vhost.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

ns=churn$$
need_netns "$ns" "the monitor under churn"
trap 'ip netns del "$ns"' EXIT
out=$(/usr/bin/python3 tests/fixture/vm-churn.py "$VHOSTCTL" tests/fixture/tap-vm.py "${MONITOR_MINUTES:-0.4}" "$ns" 2>&1)
is "each lasting change is told once" "$(jq -c .wrong <<<"$out")" '[]'
[ "$(jq '.cpu_percent < 2' <<<"$out")" = true ]
ok "it takes less than 2 % of a core" "$out"
# AddressSanitizer keeps what was freed for a while.
grep -q __asan_init "$VHOSTCTL" || [ "$(jq '.grown_kb <= 256' <<<"$out")" = true ]
ok "its memory does not grow" "$out"
echo "# $out"

done_testing
