#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Figures to compare from release to release; ratios within one run, never a test.
#   bench.sh [KERNEL]     the pause natively; then pause and wall time in the lab,
#                         the batches of a tap by rx-frames, and a policy for 200 VMs
set -euo pipefail
kernel=${1:-7.3}
here=$(realpath "$(dirname "$0")")
echo "== this machine, $(uname -r), natively"
"$BUILD/tests/bench_pause" "${BENCH_ROUNDS:-300}" "${BENCH_GDB_ROUNDS:-5}"
echo
echo "== Linux $kernel in software emulation, real vhost-net (only ratios mean anything)"
"$here/../lab/boot.sh" "$kernel" --shell-cmd "$here/set.sh && echo && $here/batches.sh"
echo
echo "== the same kernel, one policy for many VMs"
"$here/../lab/boot.sh" "$kernel" --shell-cmd "$here/policy.sh"
