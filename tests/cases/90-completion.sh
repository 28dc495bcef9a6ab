#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 420
# The completion in an interactive bash, on VMs with vhost devices: a real QEMU, and 99 small ones.
# What is completed without any is in tests/unit/test_completion.sh.
# shellcheck disable=SC2317 # run_cases calls the tests
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"
# shellcheck source=tests/fixture/qemu.sh
. "$TOP/tests/fixture/qemu.sh"
case_limit=120
first='my "first" vm'

setup() {
	local i
	export PATH=$BUILD:$PATH LC_ALL=C.UTF-8
	qemu_up first --name "$first" --tap tapc --scsi-queues 4
	exec {open_end}<> <(:)
	for ((i = 1; i < 100; i++)); do
		# One has workers to offer.
		set -- --net 1
		[ $i != 1 ] || set -- --net 1 --scsi none --scsi-queues 2 --vsock 77
		"$BUILD/tests/vmm" --name "web-$i" "$@" <&"$open_end" >"$t_dir/vmm-$i" &
		at_exit kill $!
		[ $i != 1 ] || web1=$!
	done
	wait_for 90 all_up
}
all_up() { [ "$(cat "$t_dir"/vmm-* | grep -c '"pid"')" = 99 ]; }

# offered TEXT WORD…: all that bash offers after TEXT are these. Within quotes readline inserts them without any.
offered() {
	local typed=$1 got want
	shift
	want=$(printf '%s\n' "$@" | sort)
	run /usr/bin/python3 "$TOP/tests/fixture/complete.py" <<<"all $typed"
	expect_status 0
	local -a words before
	eval "words=($(jq -r 'select(.typed).line' <<<"$out"))"
	eval "before=($typed)"
	[[ $typed == *' ' ]] || unset "before[-1]"
	got=$(printf '%s\n' "${words[@]:${#before[@]}}" | sort)
	expect_eq "offered after '$typed'" "$got" "$want"
}

# completed TEXT LINE: a tab after TEXT makes it LINE
completed() {
	run /usr/bin/python3 "$TOP/tests/fixture/complete.py" <<<"tab $1"
	expect_status 0
	expect_json 'select(.typed).line' "$(jq -n --arg line "$2" '$line')"
}

test_devices_taps_and_queues_of_a_real_QEMU_with_quotes_in_its_name() {
	local queues=(ctl event req0)	# what every device has
	has_no_snapshot || queues+=(req{1..3})
	offered 'vhostctl show my' "$first" "$first"/{net0,net1,scsi0,vsock0,tapc}
	offered 'vhostctl show my\ \"first\"\ vm/s' "$first"/scsi0 "${queues[@]/#/$first/scsi0/}"
	offered 'vhostctl busyloop set my\ \"first\"\ vm/tapc/' "$first"/tapc/{rx,tx}
	completed 'vhostctl show "my \"first\" vm/s' 'vhostctl show "my \"first\" vm/scsi0'
	completed 'vhostctl show "my \"first\" vm/scsi0/e' 'vhostctl show "my \"first\" vm/scsi0/event" '
	completed "vhostctl busyloop set 'my \"first\" vm/tapc/r" "vhostctl busyloop set 'my \"first\" vm/tapc/rx' "
	offered 'vhostctl coalesce get my' "$first" "$first"/tapc
	completed 'vhostctl list my' 'vhostctl list my\ \"first\"\ vm '
	completed "vhostctl coalesce set 'my" "vhostctl coalesce set 'my \"first\" vm"
}

test_a_line_that_was_completed_runs() {
	run /usr/bin/python3 "$TOP/tests/fixture/complete.py" <<<'tab vhostctl busyloop set my\ \"first\"\ vm/net0/t'
	line=$(jq -r 'select(.typed).line' <<<"$out")
	run bash -c "$line 41"
	expect_status 0
	expect_json '.changes | map([.target, .after])' "[[$(jq -n --arg n "$first/net0/tx" '$n'),41]]"
}

test_VMs_by_name_and_by_pid() {
	offered 'vhostctl list web-5' web-5 web-5{0..9}
	completed 'vhostctl list we' 'vhostctl list web-'
	completed "vhostctl list $web1" "vhostctl list $web1 "
	offered "vhostctl show $web1" "$web1" "$web1"/{net0,scsi0,vsock0}
	offered 'vhostctl list ' "$first" web-{1..99}
}

test_targets_of_a_command_go_as_deep_as_it_takes() {
	need_snapshot	# it tells how many queues a device has
	offered 'vhostctl worker create web-1/s' web-1/scsi0
	offered 'vhostctl worker attach web-1/scsi0/r' web-1/scsi0/req{0,1}
	offered 'vhostctl worker create web-1/scsi0 --attach r' req0 req1
	offered 'vhostctl worker spread web-1/scsi0 --queues req0,r' req0,req0 req0,req1
}

test_policies_rates_and_trials() {
	offered 'vhostctl save web-9' web-9 web-9{0..9}
	offered 'vhostctl apply --vm my' "$first"
	offered 'vhostctl diff /etc/passw' /etc/passwd /etc/passwd-
	offered 'vhostctl stat web-1/v' web-1/vsock0 web-1/vsock0/{rx,tx}
	offered 'vhostctl trial web-1/net0 ' busyloop= rx-frames= workers=
	completed 'vhostctl trial web-1/net0 bu' 'vhostctl trial web-1/net0 busyloop='
}

test_workers_by_id() {
	if [ "$LAB_KERNEL" = 6.1 ]; then
		offered 'vhostctl worker attach web-1/scsi0/req0 ' 0
		return
	fi
	need_snapshot	# it tells which workers there are
	ctl worker create web-1/scsi0 --count 2
	expect_status 0
	ctl worker attach web-1/scsi0/req1 2
	expect_status 0
	offered 'vhostctl worker attach web-1/scsi0/req0 ' 0 1 2
	offered 'vhostctl worker pin web-1/scsi0 ' 0 1 2
	completed 'vhostctl worker free web-1/scsi0 ' 'vhostctl worker free web-1/scsi0 1 '
	ctl worker attach web-1/scsi0/req1 0
	ctl worker free web-1/scsi0 --idle
	expect_status 0
}

test_taps_by_themselves() {
	ip netns add compl
	at_exit ip netns del compl
	completed 'vhostctl coalesce get dev ta' 'vhostctl coalesce get dev tapc '
	completed 'vhostctl coalesce get dev tapc ' 'vhostctl coalesce get dev tapc netns '
	completed 'vhostctl coalesce get dev tapc netns c' 'vhostctl coalesce get dev tapc netns compl '
}

test_nobody_is_stopped_or_borrowed_from() {
	for text in '' "$first/scsi0/" web-1/scsi0; do
		run strace -f -o "$t_dir/strace" -e signal=none -e trace=ptrace,pidfd_getfd,process_vm_writev,process_vm_readv,kill,ioctl \
			"$VHOSTCTL" --dump-targets "$text"
		expect_status 0
		[ -n "$out" ] || fail "nothing is offered for '$text'"
		expect_eq "system calls that touch a VM" "$(grep -vcE '^[0-9]+ +(\+\+\+|ioctl\([012], TC)' "$t_dir/strace" || true)" 0
	done
}

# 100 ms with 100 VMs, on a machine that is not emulated.
test_it_is_quick_with_100_VMs() {
	expect_eq "VMs" "$("$VHOSTCTL" list | jq '.vms | length')" 100
	local i limit text times
	limit=$(awk -v f="$(slowness)" 'BEGIN { print 100 * f }')
	for text in 'show web-' 'busyloop set web-57/' 'worker attach web-1/scsi0/' 'busyloop set web-57 '; do
		times=$(for i in {1..9}; do echo "tab vhostctl $text"; done | /usr/bin/python3 "$TOP/tests/fixture/complete.py" |
			jq -s 'map(.ms | numbers) | sort' -c)
		echo "# '$text': median $(jq '.[4]' <<<"$times") ms, limit $limit ms" >&2
		jq -e --argjson limit "$limit" '.[4] < $limit' <<<"$times" >/dev/null || fail "'$text' takes $times ms, not under $limit"
	done
}

run_cases
