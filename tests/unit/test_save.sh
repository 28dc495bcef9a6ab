#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "save": each VM once; and what could not be looked at is told where the document has no place for it.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

ns=save$$
need_netns "$ns" "save of a VM without vhost devices"
tmp=$(mktemp -d)
trap 'ip netns del "$ns"; rm -rf "$tmp"' EXIT
coproc VM { ip netns exec "$ns" tests/fixture/tap-vm.py --name save-test --tap save0; }
read -r -u "${VM[0]}" _
pid=$(pgrep -f 'tap-vm.py --name save-test' | tail -n 1)
is "a VM that is named twice" "$("$VHOSTCTL" save save-test "$pid" save-test | jq -c '[.vms[].match]')" \
	'[{"name":"save-test"}]'
stdin=${VM[1]}
exec {stdin}>&-

# Those of others cannot be read without the right to. The build may lie where only root gets.
chmod 755 "$tmp"
cp "$VHOSTCTL" "$tmp/"
user() { setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$tmp/vhostctl" "$@"; }
user save --all >"$tmp/out" 2>"$tmp/err"
is "exit 0 of a user" "$?" 0
grep -qxE 'vhostctl: save: [0-9]+ process(es)? could not be read; it takes root with CAP_SYS_PTRACE' "$tmp/err"
ok_if $? "it says that there may be more" "$(cat "$tmp/err")"
is "nothing with -q" "$(user save --all -q 2>&1)" ""

# A graph and counters have no place for errors.
for args in "show --all --dot" "stat --all --openmetrics"; do
	# shellcheck disable=SC2086 # words
	user $args >"$tmp/out" 2>"$tmp/err"
	is "exit 0: $args" "$?" 0
	grep -qxE 'vhostctl: look into processes: [0-9]+ process(es)? could not be read; .*' "$tmp/err"
	ok_if $? "$args tells on stderr" "$(cat "$tmp/err")"
	# shellcheck disable=SC2086
	is "$args -q does not" "$(user $args -q 2>&1)" ""
done

done_testing
