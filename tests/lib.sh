# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by case scripts. A script defines test_* functions, at most one setup, and ends with run_cases:
# each test runs in the script's order in a subshell that ends at the first failing command.
#
#   run CMD…              runs it; sets $status, $out and $err
#   ctl ARG…              run "$VHOSTCTL" ARG…
#   expect_status N       expect_match out|err REGEX       expect_eq WHAT GOT WANT
#   expect_json FILTER VALUE    what jq -c FILTER says of $out (VALUE in compact JSON)
#   fail WORDS…           skip REASON…      at_exit CMD…    wait_for SECONDS CMD…
#   slowness              of this machine, a factor for limits of time
#   need_snapshot         skips in a build that has none; where it is built in it must work
#   no_snapshot CMD…      CMD without the right to a kernel snapshot
#   need_workers          skips where the kernel has no worker calls (no_worker_calls)
#   expect_valid KIND     $out is documents of that KIND, as the schema has it
#   keep KIND             keeps $out in $t_dir/KIND.json, to be held to the schema later: a start of Python costs seconds
#
# case_limit is how many seconds one test may take. T_ONLY=REGEX runs only the tests whose name matches.
# $t_dir is a directory for the script's files. setup runs in the script's own shell: what it sets stays.

case_limit=60
t_dir=$(mktemp -d)
t_at_exit=()
t_at_exit_pid=

# at_exit CMD…: runs it, last come first, when this shell or subshell ends.
at_exit() {
	if [ "$t_at_exit_pid" != "$BASHPID" ]; then
		t_at_exit=()
		t_at_exit_pid=$BASHPID
		trap t_leave EXIT
	fi
	t_at_exit+=("$(printf '%q ' "$@")")
}

t_leave() {
	local rc=$? i
	# A child killed between its fork and its exec still has the trap, but not the right to clean up.
	[ "$BASHPID" = "$t_at_exit_pid" ] || exit $rc
	trap - ERR
	set +e
	for ((i = ${#t_at_exit[@]} - 1; i >= 0; i--)); do eval "${t_at_exit[i]}"; done
	exit $rc
}
at_exit rm -rf "$t_dir"

run() {
	t_command=$*
	status=0
	"$@" >"$t_dir/out" 2>"$t_dir/err" || status=$?
	out=$(<"$t_dir/out")
	err=$(<"$t_dir/err")
}

ctl() { run "$VHOSTCTL" "$@"; }

fail() {
	trap - ERR
	echo "$*"
	if [ -n "${t_command:-}" ]; then
		printf 'last command: %s\nits status: %s\nits stdout: %s\nits stderr: %s\n' \
			"$t_command" "$status" "${out:0:4000}" "${err:0:4000}"
	fi
	exit 1
}

skip() {
	trap - ERR
	echo "$*" >"$t_dir/skip"
	exit 77
}

has_no_snapshot() { "$VHOSTCTL" check | grep -q 'built without it'; }
need_snapshot() { ! has_no_snapshot || skip "this program was built without the snapshot"; }
no_snapshot() { setpriv --bounding-set=-bpf,-perfmon,-sys_admin "$@"; }
no_worker_calls() { [ "$LAB_KERNEL" = 6.1 ]; }
need_workers() { ! no_worker_calls || skip "Linux 6.1 has no worker calls"; }

expect_eq() { [ "$2" = "$3" ] || fail "$1: expected $3, got $2"; }
expect_status() { [ "$status" = "$1" ] || fail "expected exit status $1, got $status"; }
expect_match() { grep -qE -- "$2" <<<"${!1}" || fail "expected $1 to match: $2"; }

expect_json() {
	local got
	got=$(jq -c "$1" <<<"$out" 2>&1) || fail "jq $1: $got"
	[ "$got" = "$2" ] || fail "$1: expected $2, got $got"
}

expect_valid() {
	/usr/bin/python3 "$TOP/tests/unit/validate.py" "$TOP/src/schema/vhostctl.schema.json" "$1" <<<"$out" || fail "not valid"
}
keep() { echo "$out" >>"$t_dir/$1.json"; }

wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# How many times slower this machine is now than one that starts bash in 2 ms; at least 1. What would be an
# absolute limit natively is multiplied by it under emulation.
slowness() {
	local start=$EPOCHREALTIME
	for _ in {1..20}; do bash -c :; done
	awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { f = (b - a) * 1000 / 20 / 2; print (f > 1 ? f : 1) }'
}

# One test, in a process group of its own so that a limit can end it with its children.
t_run_one() {
	local name=$1 pid timer ended
	rm -f "$t_dir/skip"
	: >"$t_dir/log"
	set -m
	(
		set +m
		set -eEuo pipefail
		trap 'echo "line $LINENO: failed: $BASH_COMMAND"' ERR
		"$name"
	) >>"$t_dir/log" 2>&1 </dev/null &
	pid=$!
	sleep "$case_limit" &
	timer=$!
	set +m
	wait -n -p ended "$pid" "$timer"
	t_rc=$?
	if [ "$ended" = "$timer" ]; then
		echo "ended after $case_limit s" >>"$t_dir/log"
		kill -TERM -- "-$pid"
		timeout 10 tail --pid="$pid" -f /dev/null || kill -KILL -- "-$pid"
		t_rc=124
	else
		kill -- "-$timer"
	fi
	{
		wait "$pid" "$timer"
		kill -KILL -- "-$pid" # what the test left behind
	} 2>/dev/null || true
}

run_cases() {
	local names name title n=0 failed=0
	names=$(grep -oE '^test_[A-Za-z0-9_]+' "$0" | grep -E -- "${T_ONLY:-.}") || {
		echo "1..0 # SKIP no test matches T_ONLY"
		exit 0
	}
	if declare -F setup >/dev/null; then
		set -eE
		trap 'echo "setup, line $LINENO: failed: $BASH_COMMAND" >&2' ERR
		setup >&2
		trap - ERR
		set +eE
	fi
	echo "1..$(wc -l <<<"$names")"
	for name in $names; do
		title=${name#test_}
		title=${title//_/ }
		n=$((n + 1))
		t_run_one "$name" 2>/dev/null
		if [ "$t_rc" = 0 ]; then
			echo "ok $n - $title"
		elif [ "$t_rc" = 77 ] && [ -s "$t_dir/skip" ]; then
			echo "ok $n - $title # SKIP $(<"$t_dir/skip")"
		else
			failed=1
			echo "not ok $n - $title"
			sed 's/^/# /' "$t_dir/log"
		fi
	done
	exit $failed
}
