#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sample documents fit the schema, and the validator is one that can say no.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

# The distribution's Python: its module is a package that tests/deps.sh installs.
validate() { /usr/bin/python3 "${0%/*}/validate.py" man/vhostctl.schema.json "$@" 2>&1; }

mapfile -t lines < <("$BUILD/unit/test_json" --print)
state=${lines[0]-}

# The kinds of what "test_json --print" prints, in its order.
read -ra kinds <<<"state state state state state state state state state state changes changes changes changes checks"
out=$("$BUILD/unit/test_json" --print | validate "${kinds[@]}")
ok "all sample documents are valid" "$out"

out=$("$BUILD/unit/test_rates" --print | validate rates)
ok "sample rates are valid" "$out"
out=$("$BUILD/unit/test_monitor" --print | validate event)
ok "sample events are valid" "$out"
out=$("$BUILD/unit/test_trial" --print | validate trial_report)
ok "sample trials are valid" "$out"

# refused NAME KIND DOCUMENT
refused() {
	local out
	out=$(validate "$2" <<<"$3")
	[ $? = 1 ] && [[ $out == document\ 1:* || $out == *Error:* ]]
	ok "refused: $1" "$out"
}

refused "a key that the schema does not name" state "${state/\{/\{\"x\":1,}"
refused "a missing key" state "${state/\"vms\"/\"vmz\"}"
refused "a wrong type" state "${state/\"schema\":1/\"schema\":\"1\"}"
refused "a key twice" state "${state/\{/\{\"schema\":1,}"
refused "another kind of document" changes "$state"
refused "an incomplete VM" state '{"schema":1,"kernel":null,"source":null,"errors":[],"vms":[{}]}'
refused "no JSON" state 'x'
refused "a byte above ASCII" state $'\xc3\xa9'

done_testing
