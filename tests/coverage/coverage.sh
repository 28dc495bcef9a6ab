#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Lines of src/ that the tests run: a build of its own, the unit tests, then the cases in the lab, whose counts
# go on from theirs. What is below 90 % must have its reason in tests/coverage/reasons.
#   coverage.sh KERNEL CASE…     BUILD and MAKE as make sets them
set -euo pipefail
kernel=$1
shift
here=$(realpath "$(dirname "$0")")
top=$(realpath "$here/../..")
export BUILD=$BUILD/coverage
cd "$top"
mkdir -p "$BUILD"
gcc -c -o "$BUILD/exit.o" "$here/exit.c"
rm -f "$BUILD"/*.gcda
"${MAKE:-make}" -s --no-print-directory -j"$(nproc)" CC=gcc CFLAGS='-O0 -g --coverage -fprofile-update=atomic' \
	LDFLAGS="--coverage -Wl,--wrap=_exit $BUILD/exit.o" all unit-programs fixtures "$BUILD/tests/poke" >/dev/null
units=("$BUILD"/unit/test_* "$BUILD"/unit/fuzz_* tests/unit/test_*.sh)
programs=()
for u in "${units[@]}"; do case $u in *.d | *.gc*) ;; *) [ ! -x "$u" ] || programs+=("$u") ;; esac; done
rc=0
tests/run.sh --unit "${programs[@]}" | tail -n 20 || rc=1
if [ "$kernel" != none ]; then
	tests/run.sh --lab "$kernel" "$@" "$here/collect.sh" | tail -n 20 || rc=1
	cp "$BUILD/lab/$kernel/counts"/*.gcda "$BUILD/"
fi

# FILE PERCENT LINES
gcov -n -o "$BUILD" "$BUILD"/*.gcda 2>/dev/null | awk '
	/^File / { file = $2; gsub(/\047/, "", file) }
	/^Lines executed:/ && file ~ /^src\/[^\/]*\.c$/ { split($2, part, /[:%]/); print substr(file, 5), part[2], $4; file = "" }' |
	sort >"$BUILD/lines"
awk -v reasons="$here/reasons" '
	BEGIN {
		while ((getline line < reasons) > 0)
			if (line !~ /^#/) { name = line; sub(/:.*/, "", name); why[name] = substr(line, length(name) + 3) }
	}
	{ all += $3; run += $3 * $2 / 100 }
	$2 >= 90 { good++; next }
	{
		printf "%6.1f %% of %4d lines  %-22s %s\n", $2, $3, $1, ($1 in why) ? why[$1] : "NO REASON GIVEN"
		if (!($1 in why)) bad = 1
	}
	END {
		if (!all) { print "no counts"; exit 1 }
		printf "%6.1f %% of %4d lines in all; 90 %% or more in %d of %d files\n", 100 * run / all, all, good, NR
		exit bad
	}' "$BUILD/lines" || rc=1
exit $rc
