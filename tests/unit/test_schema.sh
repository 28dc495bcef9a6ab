#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sample documents fit the schema, and the validator is one that can say no.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"

# The distribution's Python: its module is a package that tests/deps.sh installs.
validate() { /usr/bin/python3 "${0%/*}/validate.py" src/schema/vhostctl.schema.json "$@" 2>&1; }

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

# Of two definitions of one name only the second would count.
twice=$(/usr/bin/python3 - src/schema/*.json <<'PYTHON'
import collections, json, sys
def keys(pairs):
    print(*(key for key, n in collections.Counter(key for key, _ in pairs).items() if n > 1), end="")
for name in sys.argv[1:]:
    json.load(open(name), object_pairs_hook=keys)
PYTHON
)
is "no key is twice in a schema" "$twice" ""

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

# The policy's schema says of documents what the program says of them.
policy() { printf '%s\n' "$1" | /usr/bin/python3 "${0%/*}/validate.py" src/schema/vhostctl-policy.schema.json policy 2>&1; }
both() {
	local name=$1 want=$2 document=$3 out schema program
	out=$(policy "$document")
	schema=$?
	out+=$'\n'$(BUILD=$BUILD "$VHOSTCTL" diff - <<<"$document" 2>&1)
	program=$?
	[ "$schema" = "$((want != 0))" ] && [ "$program" = "$want" ]
	ok "policy: $name" "the schema says $schema, the program $program" "$out"
}
entry() { echo '{"schema":1,"vms":[{"match":{"name":"nosuch"},"devices":[{"match":{'"$1"'}'"${2:+,$2}"'}]}]}'; }
# shellcheck disable=SC2016 # a key, not a variable
both "every key" 0 '{"schema":1,"$schema":"x","comment":"x","vms":[{"match":{"name":"a*","uuid":"01234567-89ab-cdef-0123-456789abcdef"},"comment":"","devices":[{"match":{"kind":"net","id":"net0","tap":"t?"},"busyloop_usecs":{"rx":1,"tx":2},"rx_frames":64,"cpus":"0-1,3","optional":true,"force":true,"comment":"x"}]}]}'
both "a number for both queues" 0 "$(entry '' '"busyloop_usecs":9')"
both "workers per queue" 0 "$(entry '"kind":"scsi"' '"workers":"per-queue"')"
both "a number of workers" 0 "$(entry '"kind":"scsi"' '"workers":1024')"
both "a list of workers" 0 "$(entry '"kind":"scsi"' '"workers":[{"queues":"ctl,req0,4-5","cpus":"1"},{"queues":"3"}]')"
both "an unknown key" 2 "$(entry '' '"busyloop":9')"
both "another kind" 2 "$(entry '"kind":"vnet"')"
both "a frame too many" 2 "$(entry '' '"rx_frames":65')"
both "no workers at all" 2 "$(entry '' '"workers":0')"
both "a word for workers" 2 "$(entry '' '"workers":"all"')"
both "workers without queues" 2 "$(entry '' '"workers":[{}]')"
both "no queues" 2 "$(entry '' '"workers":[{"queues":"x"}]')"
both "a busy-loop of no queue" 2 "$(entry '' '"busyloop_usecs":{}')"
both "no cpus" 2 "$(entry '' '"cpus":"x"')"
both "an empty name" 2 "$(entry '"id":""')"
both "a uuid of another form" 2 '{"schema":1,"vms":[{"match":{"uuid":"0123456789ab-cdef-0123-456789abcdef-"},"devices":[]}]}'
both "another schema" 2 '{"schema":2,"vms":[]}'
both "no match" 2 '{"schema":1,"vms":[{"devices":[]}]}'
refused "a byte above ASCII" state $'\xc3\xa9'

done_testing
