#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a machine can say about the sources. Every part runs; a missing tool is a failure.
#   tests/lint.sh [PART…]     parts as named below; BUILD and MAKE as make sets them
set -u
BUILD=${BUILD:-build}
MAKE=${MAKE:-make}
JOBS=$(nproc)
PARTS=(gcc clang scan tidy cppcheck shell ok man spec layers files)

need() {
	command -v "$1" >/dev/null && return
	echo "$1 is missing; tests/deps.sh check installs what the tests need (package $2)"
	return 1
}

# A build of everything in a directory of its own, in which a warning is an error.
build_all() {
	"$MAKE" -s --no-print-directory -j"$JOBS" BUILD="$BUILD-lint-$1" CC="$1" \
		CFLAGS="-O2 -g -Werror" all unit-programs fixtures
}

part_gcc() { need gcc gcc && build_all gcc; }
part_clang() { need clang clang && build_all clang; }

# Only the program: tests end on their first failed assertion, which the analyzer cannot know.
part_scan() {
	need scan-build clang-tools || return
	rm -rf "$BUILD-lint-scan" # it says nothing of a file that is compiled already
	scan-build --status-bugs -o "$BUILD-lint-scan" --use-cc=clang \
		"$MAKE" -s --no-print-directory -j"$JOBS" BUILD="$BUILD-lint-scan" all
}

part_tidy() {
	need clang-tidy clang-tidy || return
	local flags
	"$MAKE" -s --no-print-directory all || return # the snapshot's header is made by it
	read -ra flags < <("$MAKE" -s --no-print-directory print-flags)
	find src -name '*.c' -not -name '*.bpf.c' | sort | tr '\n' '\0' |
		xargs -0 -P "$JOBS" -I{} clang-tidy --quiet --config-file=src/.clang-tidy {} -- "${flags[@]}" 2>&1 |
		grep -vE '^$|warnings? generated\.$'
	[ "${PIPESTATUS[3]}" = 0 ]
}

part_cppcheck() {
	need cppcheck cppcheck || return
	# memleak: it does not know the cleanup attribute. ASAN's tests look for leaks.
	cppcheck -q -j "$JOBS" --error-exitcode=1 --inline-suppr --std=c11 --library=gnu \
		--enable=warning,performance,portability -D_GNU_SOURCE -D__x86_64__ '-DSEC(name)=' \
		--suppress=missingIncludeSystem --suppress=memleak -Isrc src
}

part_shell() {
	need shellcheck shellcheck || return
	grep -rlE '^#!/bin/(ba)?sh|^# shellcheck shell=' tests src/hooks .ci completions 2>/dev/null |
		sort | xargs shellcheck -x
}

# In "ok NAME $(…)" the status that counts would be the substitution's.
part_ok() { forbid 'use ok_if $?' '^[[:blank:]]*ok .*\$\(' tests/unit/*.sh; }

part_man() {
	need mandoc mandoc && mandoc -T lint -W warning man/*.[1-8]
}

part_spec() {
	need rpmlint rpmlint || return
	local out
	out=$(rpmlint --strict vhostctl.spec 2>&1) && grep -q ' 0 errors, 0 warnings,' <<<"$out" && return
	echo "$out"
	return 1
}

# forbid WHAT PATTERN FILE…: no file has the pattern
forbid() {
	local what=$1 pattern=$2
	shift 2
	grep -nHE -- "$pattern" "$@" || return 0
	echo "^ $what"
	return 1
}

# The source files of which the name does not match.
but() { find src -name '*.[ch]' -not -path '*/uapi/*' | grep -vE "^src/($1)\$" | sort; }

part_layers() {
	local rc=0
	# shellcheck disable=SC2046 # names without blanks
	{
		forbid "only json*.c and the policy's text use jansson" '^#include <jansson' \
			$(but 'json(_.*)?\.[ch]|policy_print\.c') || rc=1
		forbid "only table*.c uses libsmartcols" '^#include (<libsmartcols|"table_parts)' \
			$(but 'table(_.*)?\.[ch]') || rc=1
		forbid "only ethnl.c and netwatch* use libmnl, only link.c libnl" '^#include <(libmnl|netlink)/' \
			$(but 'ethnl\.c|netwatch.*\.c|link\.c') || rc=1
		forbid "only main and commands know commands" '^#include "(command|output)\.h"' \
			$(but 'main\.c|cmd_.*\.[ch]|command\.[ch]|output\.[ch]') || rc=1
		forbid "only commands use the ways out" '^#include "(json|json_rates|json_trial|json_event|table|rates_table|dot|openmetrics)\.h"' \
			$(but 'output\.c|json.*\.c|.*table\.c|table_.*\.[ch]|dot\.c|openmetrics\.c|cmd_.*\.c') || rc=1
		forbid "the owner context knows nothing of vhost" \
			'^#include ("vhost|"device|"vm\.h|<linux/vhost)' \
			$(find src -name 'owner*.[ch]' -not -name 'owner_allow.c' -o -name 'seccomp.[ch]') || rc=1
		# util.c: out of memory. owner.c: the kill points of test builds.
		forbid "only main and commands print" \
			'(^|[^a-z_])(v?printf|puts|putchar|perror|psignal) ?\(|[( ](stdout|stderr)[,;)]' \
			$(but 'main\.c|cmd_.*\.c') || rc=1
		forbid "only main ends the program" '(^|[^a-z_])(exit|abort|err|errx) ?\(' \
			$(but 'main\.c') || rc=1
		forbid "the model and the tools below it use nothing above" \
			'^#include "(vm|vhost|owner|device|scan|target|json|table|options|command)' \
			$(find src -name 'state.[ch]' -o -name 'error.[ch]' -o -name 'util.[ch]' \
				-o -name 'escape.[ch]') || rc=1
	}
	return $rc
}

part_files() {
	local rc=0 files
	mapfile -t files < <(find src man tests completions .ci .rpmlintrc Makefile README vhostctl.spec -type f \
		-not -path '*/uapi/*' -not -path 'tests/fuzz/corpus/*' 2>/dev/null | sort)
	for f in "${files[@]}"; do
		# The licence of a file without comments stands in COPYING.
		[ "$f" = README ] || head -n 5 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0-or-later' ||
			{ echo "$f: no SPDX line"; rc=1; }
		[ -z "$(tail -c 1 "$f")" ] || { echo "$f: no newline at its end"; rc=1; }
	done
	forbid "blanks at the end of the line" '[[:blank:]]+$' "${files[@]}" || rc=1
	for f in src/*.[ch]; do
		expand "$f" | awk -v f="$f" 'length > 110 { print f ":" NR ": wider than 110 columns"; bad = 1 }
			END { exit bad }' || rc=1
	done
	return $rc
}

[ $# = 0 ] || PARTS=("$@")
failed=()
for part in "${PARTS[@]}"; do
	start=$SECONDS
	# A warning that does not fail the tool fails the part.
	if out=$("part_$part" 2>&1) && ! grep -qE 'warning:|error:' <<<"$out"; then
		echo "ok $part ($((SECONDS - start)) s)"
	else
		echo "not ok $part ($((SECONDS - start)) s)"
		echo "$out"
		failed+=("$part")
	fi
done
[ ${#failed[@]} = 0 ] || { echo "lint: ${failed[*]} failed"; exit 1; }
