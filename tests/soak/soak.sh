#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The soak test, on the kernel under test: MINUTES of it; SEED repeats one.
# timeout: 7200
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck disable=SC2034 # for lib.sh
case_limit=$((${MINUTES:-10} * 60 + 600))

test_random_commands_do_what_a_model_says() {
	local rc=0
	python3 tests/soak/soak.py "$VHOSTCTL" "$BUILD/tests/vmm" "${MINUTES:-10}" ${SEED:+"$SEED"} >"$LAB_OUT/soak.txt" 2>&1 || rc=$?
	cat "$LAB_OUT/soak.txt"
	return "$rc"
}

run_cases
