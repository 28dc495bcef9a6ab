#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs fuzzers of $BUILD/unit: seeds from corpus/, what they learn and find stays in $BUILD. A finding becomes a
# file of corpus/ once it is fixed: unit tests replay those.
#   run.sh SECONDS [NAME…]
set -uo pipefail
seconds=$1
shift
here=$(realpath "$(dirname "$0")")
names=("$@")
if [ $# = 0 ]; then
	for f in "$here"/fuzz_*.c; do
		f=$(basename "$f" .c)
		# One that this build has not (SNAPSHOT=no) is not there.
		[ ! -x "$BUILD/unit/$f" ] || names+=("${f#fuzz_}")
	done
fi

# fuzz_one NAME: a line of TAP, and the finding if there is one
fuzz_one() {
	local name=$1 log=$BUILD/$1.log learnt=$BUILD/learnt/$1 found=$BUILD/found/$1-
	mkdir -p "$learnt" "$BUILD/found"
	if "$BUILD/unit/fuzz_$name" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=1024 -max_len=4096 \
		-print_final_stats=1 -artifact_prefix="$found" "$learnt" "$here/corpus/$name" >"$log" 2>&1; then
		echo "ok - $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs," \
			"$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1 | tr -d :)," \
			"$(grep -oE 'corp: [0-9]+' "$log" | tail -n 1 | tr -d corp:\ ) inputs kept"
	else
		echo "not ok - $name: see $log"
		grep -E 'ERROR|SUMMARY|does not hold|fuzz_seccomp:|Test unit written' "$log" | sed 's/^/# /'
	fi
}
export -f fuzz_one
export BUILD seconds here
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one {}' | tee "$BUILD/results"
awk '/^ok/ { p++ } /^not ok/ { f++ } END { printf "%d passed, %d failed, 0 skipped\n", p, f; exit f || !p }' "$BUILD/results"
