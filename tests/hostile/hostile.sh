#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hostile VMs, on the kernel under test: beside a good VM, each mode of tests/hostile/hostile, and every command on
# it and on the whole host. No crash, no hang, an exit status of the contract, a whole document or nothing, text
# that a terminal can trust; and the good VM is shown as it is, and not touched.
# HOSTILE_ROUNDS: how often each command is tried on VMs that change all the time.
# timeout: 3600
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/fixture/qemu.sh
. tests/fixture/qemu.sh
# shellcheck source=tests/fixture/io.sh
. tests/fixture/io.sh
# shellcheck disable=SC2034 # for lib.sh
case_limit=400
rounds=${HOSTILE_ROUNDS:-2}
deadline=40 # s: of one command, in software emulation

setup() {
	ip tuntap add tap0 mode tap vnet_hdr
	at_exit ip link del tap0
	ip link set tap0 up
	vmm_up good 1 --tap tap0 --vcpus 1 --helpers 1
	good=$VMM_PID
	ctl list
	row=$(good_row)
	busyloops=$(timeouts)
}

timeouts() { "$VHOSTCTL" busyloop get "$good" | jq -c '[.vms[].devices[].queues[].busyloop_usecs]'; }

# What does not change of the good VM while nobody touches it.
good_row() { jq -cS --argjson pid "$good" '.vms[] | select(.pid == $pid) | del(.. | .cpu_ns?)' <<<"$out"; }

# What a terminal, or a reader of lines, may be given. ESC, C1 controls, and all that is no UTF-8, are not.
clean_text() { ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$1" && ! LC_ALL=C grep -qP '\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$1" && iconv -f UTF-8 -t UTF-8 "$1" >/dev/null; }

# attack ARG…: one command; only what it must not do counts.
attack() {
	local started=$SECONDS
	run timeout -k 5 "$deadline" "$VHOSTCTL" "$@"
	echo "$*: $status in $((SECONDS - started)) s: $(head -c 200 "$t_dir/err")"
	[ "$status" -le 6 ] || fail "a crash or a hang"
	case " $* " in
	*" -t "* | *" --dot "*) clean_text "$t_dir/out" || fail "text that drives a terminal: $(cat -v "$t_dir/out")" ;;
	*) [ ! -s "$t_dir/out" ] || jq -e . >"$t_dir/jq" <"$t_dir/out" || fail "no whole document" ;;
	esac
	clean_text "$t_dir/err" || fail "an error that drives a terminal: $(cat -v "$t_dir/err")"
	[ "$status" = 0 ] || [ "$(wc -l <"$t_dir/err")" = 1 ] || fail "not one line of error"
}

settled() { ! grep -qsE '^(TracerPid:\s*[1-9]|State:\s*[tT])' /proc/"$1"/task/*/status; }

# hostile MODE: starts it; $pid is whom to attack.
hostile() {
	coproc HOSTILE { exec "$BUILD/tests/hostile" "$1" 2>"$t_dir/hostile.err"; }
	# shellcheck disable=SC2153 # of coproc
	hostile_pid=$HOSTILE_PID
	at_exit eval "kill -KILL $hostile_pid; true"
	local word
	read -r -t 120 word pid <&"${HOSTILE[0]}" || fail "it does not start: $(cat "$t_dir/hostile.err")"
	expect_eq "its first word" "$word" ready
}

check_good() {
	wait_for 20 settled "$good" || fail "a thread of the good VM is stopped or traced"
	ctl list
	expect_status 0
	expect_eq "the good VM" "$(good_row)" "$row"
	expect_eq "its timeouts" "$(timeouts)" "$busyloops"
}

# against MODE [ROUNDS]: every command on it.
against() {
	local i
	hostile "$1"
	for ((i = 0; i < ${2:-1}; i++)); do
		attack list
		LC_ALL=C.UTF-8 attack -t list
		attack list "$pid"
		attack show "$pid" --source owner
		attack show "$pid" --source snapshot
		LC_ALL=C attack -t show "$pid"
		attack show --all --dot
		attack busyloop get "$pid"
		attack busyloop set "$pid/net0" $((i % 2 + 20))
		attack coalesce get "$pid"
		attack coalesce set "$pid" 3
		attack worker list "$pid"
		attack check "$pid"
	done
	check_good
	[ ! -e "/proc/$pid" ] || [ "${3:-}" = stopped ] || wait_for 20 settled "$pid" || fail "one of its threads is stopped or traced"
	kill -KILL "$hostile_pid" || fail "it ended by itself: $(cat "$t_dir/hostile.err")"
	check_good
}

test_names() { against names; }
test_cmdline() { against cmdline; }
test_rewrite() { against rewrite "$rounds"; }
test_fds() { against fds; }
test_vhosts() { against vhosts; }
test_threads() { against threads; }
test_churn() { against churn "$rounds"; }
test_swap() { against swap "$rounds"; }
test_taps() { against taps "$rounds"; }
test_exit() { against exit "$rounds"; }
test_reuse() { against reuse "$rounds"; }
test_exec() { against exec "$rounds"; }
test_fork() { against fork "$rounds"; }
test_vfork() { against vfork; }
test_leaderless() { against leaderless; }
test_signals() { against signals "$rounds"; }
test_stops() { against stops "$rounds" stopped; }
test_traced() { against traced 1 stopped; }
test_seccomp() { against seccomp "$rounds"; }
test_unmap() { against unmap; }
test_flip() { against flip "$rounds"; }
test_uffd() { against uffd; }
test_namespaces() { against namespaces; }
need_fuse() { modprobe -q fuse || [ -e /dev/fuse ] || skip "this lab has no fuse"; }
test_fuse() {
	need_fuse
	against fuse
}
test_locked() {
	need_fuse
	against locked
	# Any name may be its own.
	hostile locked
	attack show no-such-name
	expect_status 3
	expect_match err "command line of process $pid could not be read"
	echo '{"schema":1,"vms":[{"match":{"name":"good"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":5}]}]}' >"$t_dir/policy"
	attack apply "$t_dir/policy"
	expect_status 1
	attack apply --vm good --dry-run "$t_dir/policy"
	expect_status 0
	kill -KILL "$hostile_pid"
	check_good
}
test_stuck() {
	need_fuse
	against stuck
}

# A VM that takes the good one's name, or its pid for a name, stands in the way of the name only.
test_same_name() {
	hostile rewrite
	attack busyloop get good
	attack busyloop get "$good"
	expect_status 0
	check_good
}

run_cases
