#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs on the kernel under test (in the lab, or on a host): $LAB_OUT/command as it is, else each script of
# $LAB_OUT/scripts as "# begin NAME", its TAP, "# end NAME STATUS SECONDS"; then one case on the kernel's own log.
set -uo pipefail
# shellcheck source=tests/lab/modules.sh
. "$TOP/tests/lab/modules.sh"
cd "$TOP" || exit 1

seen=$(dmesg | wc -l)
lab_modules || exit 1
if [ -s "$LAB_OUT/command" ]; then
	bash "$LAB_OUT/command"
	exit
fi

status=0
while read -r limit script; do
	name=$(basename "$script" .sh)
	echo "# begin $name"
	begun=$SECONDS
	timeout -k 10 "$limit" bash "$script" 2>"$LAB_OUT/$name.stderr"
	rc=$?
	[ $rc != 124 ] || echo "# stopped after its $limit s"
	if [ $rc != 0 ]; then
		status=1
		tail -n 40 "$LAB_OUT/$name.stderr" | sed 's/^/# stderr: /'
	fi
	echo "# end $name $rc $((SECONDS - begun))"
done <"$LAB_OUT/scripts"

echo "# begin kernel-log"
echo 1..1
dmesg | tail -n +$((seen + 1)) >"$LAB_OUT/dmesg"
# A user program's fault reads "general protection fault ip:", the kernel's own has a comma or a colon there.
if grep -nE 'WARNING: |BUG: |Oops:|general protection fault[,:]|Call Trace|blocked for more than|rcu.*(stall|detected)' "$LAB_OUT/dmesg" >"$LAB_OUT/warnings"; then
	echo "not ok 1 - the kernel logged no warning"
	head -n 40 "$LAB_OUT/warnings" | sed 's/^/# /'
	status=1
else
	echo "ok 1 - the kernel logged no warning"
fi
echo "# end kernel-log 0"
exit $status
