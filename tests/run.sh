#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs tests and sums them up; the last line is "N passed, N failed, N skipped".
#   tests/run.sh [--unit PROGRAM…] [--lab "KERNEL…" SCRIPT…]
# Unit programs run here; the case scripts run on each kernel, in one boot (tests/lab/boot.sh). What comes out
# of the lab is kept in $BUILD/lab/KERNEL. Fails when a test failed and when none ran.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
export BUILD=${BUILD:-$top/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
touch "$work/failures"

units=() kernels=() scripts=()
if [ "${1:-}" = --unit ]; then
	shift
	while [ $# -gt 0 ] && [ "$1" != --lab ]; do units+=("$1"); shift; done
fi
if [ "${1:-}" = --lab ]; then
	read -ra kernels <<<"$2"
	shift 2
	scripts=("$@")
fi

names() { for p in "$@"; do basename "$p" .sh; done | paste -sd ' '; }
# Debian's awk reads ahead unless told not to, and would show nothing for minutes.
unread=()
if awk -W version 2>&1 </dev/null | grep -q mawk; then unread=(-W interactive); fi
tally() { awk "${unread[@]}" -v label="$1" -v expect="$2" -v counts="$work/counts-$1" -v failures="$work/failures" -f "$top/tests/tally.awk"; }

run_unit() {
	local p rc
	for p in "${units[@]}"; do
		echo "# begin $(names "$p")"
		rc=0
		CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 300 "$p" 2>&1 </dev/null || rc=$?
		echo # a program that dies may leave half a line
		echo "# end $(names "$p") $rc"
	done
}

run_kernel() {
	local k=$1 rc=0 out=$BUILD/lab/$1
	mkdir -p "$out"
	if [ "$k" != host ]; then
		"$top/tests/lab/fetch.sh" "$k" >/dev/null 2>"$out/stderr" || rc=$?
		if [ "$rc" = 77 ]; then
			echo "[$k] SKIP $(tail -n 1 "$out/stderr")"
			echo "0 0 1" >"$work/counts-$k"
			return
		fi
	fi
	# A boot that fails shows as scripts that did not run; boot.sh says why.
	{ "$top/tests/lab/boot.sh" "$k" --keep "$out" "${scripts[@]}" 2>&1 || true; } |
		tally "$k" "$(names "${scripts[@]}") kernel-log"
	# Numbers that cases found worth a line in $LAB_OUT/notes.
	[ ! -s "$out/notes" ] || sed 's/^/# /' "$out/notes"
}

if [ ${#units[@]} -gt 0 ]; then run_unit | tally unit "$(names "${units[@]}")"; fi
for k in "${kernels[@]}"; do run_kernel "$k"; done

if [ -s "$work/failures" ]; then
	echo
	echo "failed:"
	sed 's/^/  /' "$work/failures"
fi
cat "$work"/counts-* 2>/dev/null | awk '{ p += $1; f += $2; s += $3 }
	END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f || !p }'
