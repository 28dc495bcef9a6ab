#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Code, --help and man page tell of the same commands, options, keys and exit statuses.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"
man=man/vhostctl.8

out=$(mandoc -T lint -W warning "$man" 2>&1)
ok "the man page has no mandoc warnings" "$out"

# "COMMAND<TAB>OPTION", "-" for options of every command: from the code, ...
code=$("$VHOSTCTL" --dump-options | awk -F '\t' '$2 != "-" { print $1 "\t" $2 }' | sort)

# ... from the man page: .It Cm lines name commands, .It Fl lines their options, ...
manual=$(awk '
	/^\.Sh / { command = $2 == "OPTIONS" ? "-" : "" }
	/^\.It Cm / { command = ""; for (i = 3; i <= NF && $i ~ /^[a-z-]+$/; i++)
		command = command (i > 3 ? " " : "") $i }
	/^\.It Fl / && command { for (i = 2; i < NF; i++) if ($i == "Fl") print command "\t-" $(i + 1) }
	' "$man" | sort)

# ... and from the help texts.
options() { sed -n "/^$1/,/^\$/p" | grep -oE '^  (-[a-zA-Z],|   ) --[a-z-]+' | grep -oE -- '--?[a-zA-Z][a-z-]*'; }
mapfile -t commands < <("$VHOSTCTL" --dump-options | awk -F '\t' '$1 != "-" && $2 == "-" { print $1 }')
help=$({
	"$VHOSTCTL" --help | options "Options, before" | sed 's/^/-\t/'
	for c in "${commands[@]}"; do
		# shellcheck disable=SC2086 # a command and its sub-command are two words
		"$VHOSTCTL" help $c | options "Options:" | sed "s/^/$c\t/"
	done
} | sort)

[ -n "$code" ]
ok "the program lists options"
is "options in the man page are those in the code" "$manual" "$code"
is "options in --help are those in the code" "$help" "$code"

is "commands in the man page are those in the code" \
	"$(awk '/^\.It Cm / { c = ""; for (i = 3; i <= NF && $i ~ /^[a-z-]+$/; i++)
		c = c (i > 3 ? " " : "") $i; print c }' "$man" | sort)" \
	"$(printf '%s\n' "${commands[@]}" | sort)"

# Operands too: ".It Cm show Op Ar TARGET ..." is "[TARGET...]".
is "operands in the man page are those in the code" \
	"$(sed -n 's/^\.It Cm //p' "$man" |
		sed -E 's/ Ar /\t/; s/ Op\t([A-Z]+)( ?\.\.\.)?/\t[\1\2]/; s/ Op Ar ([A-Z]+)( ?\.\.\.)?/ [\1\2]/g; s/ Ar / /g; s/ \.\.\./.../g
			/\t/!s/$/\t-/' | sort)" \
	"$("$VHOSTCTL" --dump-options | awk -F '\t' '$1 != "-" && $2 == "-" { print $1 "\t" $3 }' | sort)"

for c in "${commands[@]}"; do
	# shellcheck disable=SC2086
	[ "$("$VHOSTCTL" help $c)" = "$("$VHOSTCTL" $c --help)" ]
	ok "'help $c' is '$c --help'"
done

missing=$(/usr/bin/python3 - src/schema/vhostctl.schema.json "$man" <<'PYTHON'
import json, re, sys
schema = json.load(open(sys.argv[1]))
words = set(re.findall(r"[a-z_]+", open(sys.argv[2]).read()))
print(*sorted({key for d in schema["$defs"].values() for key in d.get("properties", {})} - words))
PYTHON
)
is "every key of the schema is in the man page" "$missing" ""

# Each refusal of the program is explained in the man page, and it explains no others: "a ... b" are pieces of one.
differences=$(/usr/bin/python3 - "$man" src/*.c <<'PYTHON'
import re, sys

page = open(sys.argv[1]).read()
trouble = page[page.index(".Sh TROUBLE"):]
trouble = trouble[:trouble.index("\n.Sh ")]
phrases = {p: p.split(" ... ") for p in re.findall(r"\bDo (.*?) Dc", trouble)}
literal = re.compile(r'"(?:[^"\\]|\\.)*"')


def arguments(text):
    """Of a call, from behind its parenthesis on; split at commas that are no deeper."""
    depth, start, at, found = 0, 0, 0, []
    while depth >= 0:
        string = literal.match(text, at)
        if string:
            at = string.end()
            continue
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
        if depth < 0 or (text[at] == "," and not depth):
            found.append(text[start:at])
            start = at + 1
        at += 1
    return found


def messages(text):
    for call in re.finditer(r"\berror_set\(", text):
        args = arguments(text[call.end():])
        if len(args) > 4 and re.search("STATUS_(FAILED|DENIED|UNSUPPORTED)", args[1]):
            yield args[4]
    for row in re.finditer(r"\{\s*STATUS_(?:FAILED|DENIED|UNSUPPORTED),", text):
        yield arguments(text[row.end():])[0]


everything, refusals = [], []
for name in sys.argv[2:]:
    if name.endswith("/check_vm.c") or name.endswith("/check_host.c"):
        continue # what "check" tells is no refusal
    text = open(name).read()
    everything += ["".join(s[1:-1] for s in literal.findall(run))
                   for run in re.findall(rf"{literal.pattern}(?:\s*{literal.pattern})*", text)]
    for message in messages(text):
        words = "".join(s[1:-1] for s in literal.findall(message))
        if len(re.sub(r"%\S+", "", words).split()) > 2:
            refusals.append((name, words))
explained = lambda words: any(all(piece in words for piece in pieces) for pieces in phrases.values())
for name, words in refusals:
    if not explained(words):
        print(f"not in the man page, {name}: {words}")
for phrase, pieces in phrases.items():
    if not any(all(piece in words for piece in pieces) for words in everything):
        print(f"not in the program: {phrase}")
if len(phrases) < 60 or len(refusals) < 60:
    print("not understood:", len(phrases), len(refusals))
PYTHON
)
is "the man page explains each refusal of the program" "$differences" ""

# The policies of the manual are such: 2 would be a mistake in one, whatever VMs there are here.
policies=0
while IFS= read -r policy; do
	out=$("$VHOSTCTL" diff <(jq -r . <<<"$policy") 2>&1)
	[ $? != 2 ]
	ok "a policy of vhostctl-policy(5) is one" "$out"
	policies=$((policies + 1))
done < <(tests/fixture/examples.py policies man/vhostctl-policy.5)
[ "$policies" -gt 2 ]
ok "vhostctl-policy(5) has policies" "$policies"

is "exit statuses in the man page are those of the code" \
	"$(sed -n '/^\.Sh EXIT/,/^\.Sh EXAMPLES/s/^\.It \([0-9]\)$/\1/p' "$man" | sort)" \
	"$(sed -n 's/^\tSTATUS_[A-Z_]* = \([0-9]\),.*/\1/p' src/error.h | sort)"

done_testing
