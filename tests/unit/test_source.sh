#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "source" tells who was asked, and a snapshot that was asked for by name is one, or the command fails.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

ns=source$$
need_netns "$ns" "the source of a VM without vhost devices"
trap 'ip netns del "$ns"' EXIT
coproc VM { ip netns exec "$ns" tests/fixture/tap-vm.py --name source-test --tap source0; }
read -r -u "${VM[0]}" _
is "show: nobody was asked" "$("$VHOSTCTL" show source-test --source owner | jq -c .source)" null
is "stat: nobody was asked" "$("$VHOSTCTL" stat source-test 0.1 1 --source owner | jq -c .source)" null
# -v is heard in a trial as elsewhere.
for option in "" --dry-run; do
	# shellcheck disable=SC2086 # none is no word
	err=$("$VHOSTCTL" trial source-test rx-frames=8 --for 0.1 -v $option 2>&1 >/dev/null)
	[[ $err == *"vhostctl: source-test (pid "*"): no thread was stopped"* ]]
	ok_if $? "trial $option -v tells what was done to the VM" "$err"
done
err=$("$VHOSTCTL" coalesce set dev source0 netns "$ns" 3 -v 2>&1 >/dev/null)
[[ $err == "vhostctl: source0: interface "*" (source0) of network namespace "*", by ethtool netlink" ]]
ok_if $? "coalesce set dev -v tells how the tap was asked" "$err"
# Without a VM too.
stdin=${VM[1]}
exec {stdin}>&-
"$VHOSTCTL" show --all --source snapshot >/dev/null 2>&1
status=$?
works=$("$VHOSTCTL" check | jq '[.checks[] | select(.name == "snapshot") | .ok] | any')
[ "$works" = "$([ $status = 0 ] && echo true || echo false)" ]
ok_if $? "a snapshot that was asked for is one, or the command fails" "snapshot works: $works, status $status"

done_testing
