#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kill test of the owner context alone, on this machine's kernel: needs no vhost, only the right to trace.
# Kinds of blocking call as in kill.sh; N kills in all, then each kill point once for each kind and 2000 kills.
set -euo pipefail
N=${N:-2000} BUILD=${BUILD:-build}
kinds=(ppoll poll nanosleep clock_nanosleep futex futex_rel futex_abs read accept epoll_pwait sigtimedwait inline)
of_kinds=()
for k in "${kinds[@]}"; do of_kinds+=(--main "$k"); done
# fd 3 is a pipe of the victim, which answers ENOTTY.
killer=("$BUILD/tests/killer" --victim "$BUILD/tests/victim" --victim-arg --no-vhost --victim-arg --only)
"${killer[@]}" "${of_kinds[@]}" --random $(((N + ${#kinds[@]} - 1) / ${#kinds[@]})) -- "$BUILD/tests/poke" "{pid}" 3 "{value}"
# Many signals, so that some come first to a thread that is being stopped.
"${killer[@]}" --victim-arg --signal-rate --victim-arg 1000 "${of_kinds[@]}" --points $((N < 4000 ? 1 : N / 2000)) -- \
	"$BUILD/killpoints/tests/poke" "{pid}" 3 "{value}"
