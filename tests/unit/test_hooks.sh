#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hooks with mistakes in what they are given: a VM starts all the same, unless they were told otherwise.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "$*" >>%s\nexit 5\n' "$tmp/applied" >"$tmp/bin/vhostctl"
printf '#!/bin/sh\necho "$*" >>%s\n' "$tmp/logged" >"$tmp/bin/logger"
chmod +x "$tmp"/bin/*
echo '{"schema":1,"vms":[]}' >"$tmp/policy"

# hook CONF [OPERATION]: its status and what it said; what it does in the background is over then
hook() {
	rm -f "$tmp/applied" "$tmp/logged"
	printf '%s\n' "$1" >"$tmp/conf"
	echo '<domain/>' | PATH=$tmp/bin:$PATH VHOSTCTL_HOOK_CONF=$tmp/conf timeout 20 sh src/hooks/libvirt-qemu vm1 \
		"${2:-started}" begin - 2>&1
	echo "status $?"
	sleep 0.3
}

is "in the background" "$(hook "POLICY=$tmp/policy WAIT=3")" "status 0"
is "it applies the policy" "$(cat "$tmp/applied")" "-q apply $tmp/policy --vm vm1 --wait 3"
is "strictly" "$(hook "POLICY=$tmp/policy STRICT=yes")" "status 5"
is "other operations have nothing to do" "$(hook "POLICY=$tmp/policy STRICT=yes" stopped)" "status 0"
[ ! -e "$tmp/applied" ]
ok "and do nothing"

for mistake in "WAIT='10" 'if true' 'WAIT = 10' 'exit 1' '. /nonexistent/file'; do
	is "a VM starts in spite of $mistake" "$(hook "$mistake" | tail -n 1)" "status 0"
	is "of any operation" "$(hook "$mistake" prepare)" "status 0"
done
is "a mistake keeps what is right from its effect" "$(hook "STRICT=yes POLICY=$tmp/policy WAIT='10")" "status 0"
grep -qF -- "-- $tmp/conf could not be read, so it is not heeded: " "$tmp/logged"
ok_if $? "and is told" "$(cat "$tmp/logged")"

done_testing
