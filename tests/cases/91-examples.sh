#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 420
# Every example of the man pages and of README is run, on a VM as they have it, and prints what they show, in shape.
# shellcheck disable=SC2317 # run_cases calls the tests
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"
if [ "$LAB_KERNEL" = 6.1 ]; then
	echo "1..0 # SKIP the documents show a kernel with worker calls, Linux 6.5 or later"
	exit 0
fi
# shellcheck source=tests/fixture/qemu.sh
. "$TOP/tests/fixture/qemu.sh"
case_limit=240

# What the examples take for granted: directories, and a policy.
setup() {
	export PATH=$BUILD:$PATH LC_ALL=C.UTF-8
	mkdir -p "$t_dir/work" /etc/vhostctl/policy.d /var/lib/node_exporter
	at_exit rm -rf /etc/vhostctl /var/lib/node_exporter
	cat >/etc/vhostctl/policy.json <<-'JSON'
		{"schema": 1, "vms": [{"match": {"name": "vm1"}, "devices": [
		  {"match": {"kind": "net"}, "busyloop_usecs": 30}]}]}
	JSON
	cd "$t_dir/work"
}

# A new VM each time: examples change it.
vm_for_examples() {
	guest_up vm1 --tap tap0 --smp 2 --scsi-queues 4
}

# Whether it goes on until it is told to end.
is_endless() { [[ $1 =~ vhostctl\ (monitor|stat\ [^|]*(\ |^)[0-9]+($|\ -|\ \|)) && ! $1 =~ \ [0-9]+\ [0-9]+ ]]; }

# example COMMAND OUTPUT: as on a terminal, whose width the documents have
example() {
	local command=$1 expected=$2 end=(timeout 90)
	! is_endless "$command" || end=(timeout -s INT -k 10 15)
	run "${end[@]}" script -qec "stty cols 96 rows 50; $command" /dev/null </dev/null 9<&-
	if [[ $expected == 'vhostctl: '* ]]; then
		[ "$status" != 0 ] || fail "the example of an error succeeds"
	elif ! is_endless "$command" || [[ $status != @(124|137) ]]; then
		expect_status 0
	fi
	[ -n "$expected" ] || return 0
	"$TOP/tests/fixture/examples.py" compare "$t_dir/expected" <"$t_dir/out" >"$t_dir/differs" 2>&1 ||
		fail "$(cat "$t_dir/differs")"
}

# examples_of FILE AT-LEAST
examples_of() {
	local line command n=0
	# Not standard input, which script(1) takes for what is typed.
	while IFS= read -r line <&9; do
		command=$(jq -r .command <<<"$line")
		jq -r '.output // ""' <<<"$line" >"$t_dir/expected"
		echo "example: $command"
		example "$command" "$(<"$t_dir/expected")"
		n=$((n + 1))
	done 9< <("$TOP/tests/fixture/examples.py" list "$TOP/$1")
	[ "$n" -ge "$2" ] || fail "$1 has only $n examples"
}

test_examples_of_the_manual() {
	need_snapshot	# they show the threads that it tells of
	vm_for_examples
	examples_of man/vhostctl.8 8
}

test_examples_of_README() {
	need_snapshot	# they show the threads that it tells of
	vm_for_examples
	examples_of README 3
}

test_examples_of_the_policy_manual() {
	vm_for_examples
	examples_of man/vhostctl-policy.5 1
}

run_cases
