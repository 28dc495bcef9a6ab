#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The owner context of several runs at once, each of which is to succeed, and of threads that are not to be
# borrowed; tests/kill/poke.c is it without a vhost device.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"
dir=$(mktemp -d)
subject=''
trap 'kill $subject; rm -rf "$dir"' EXIT
mkfifo "$dir/in"
exec 8<>"$dir/in" 9<>/dev/null

# subject CODE: a process that does this and waits to read; its main thread is the only one
subject() {
	[ -z "$subject" ] || kill "$subject"
	/usr/bin/python3 -c "import ctypes, os
$1
os.write(1, b'ready\n')
os.read(0, 1)" <&8 >"$dir/ready" &
	subject=$!
	until [ -s "$dir/ready" ]; do sleep 0.1; done
	: >"$dir/ready"
}
poke() { "$BUILD/tests/poke" "$subject" 9 5 >/dev/null; }

pokes() {
	local i
	for i in {1..40}; do poke 2>>"$dir/errors" || echo "$i" >>"$dir/failed"; done
}
subject pass
pokes &
one=$!
pokes &
two=$!
wait "$one" "$two"
[ ! -e "$dir/failed" ]
ok_if $? "each of two runs at a time reaches the VM" "$(sort "$dir/errors" | uniq -c)"

# A tracer that stays is told of.
strace -qq -o /dev/null -p "$subject" &
tracer=$!
until grep -q "^TracerPid:	$tracer$" "/proc/$subject/status"; do sleep 0.1; done
said=$(poke 2>&1)
kill "$tracer"
wait "$tracer"
[[ $said == *"process $tracer (a debugger or tracer) is attached to it"* ]]
ok "a tracer that stays is named" "$said"

for name in "CPU 0/KVM" "CPU 1/TCG" "fc_vcpu 0" vcpu3 crosvm_vcpu7; do
	subject "ctypes.CDLL(None).prctl(15, b'$name')"
	said=$(poke 2>&1)
	[[ $said == *"none of its threads is idle"* ]]
	ok "a thread called $name is not borrowed" "$said"
done

done_testing
