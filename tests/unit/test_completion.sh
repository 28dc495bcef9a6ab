#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The completion in a real interactive bash with "set -u": all commands and options and no others, names that
# need quotes, and how long it takes with 100 VMs. tests/cases/90-completion.sh goes on with vhost devices.
# The VMs are those of a process and network namespace of our own, where nobody else's has the same name.
own=(unshare --pid --net --mount-proc --fork --kill-child)
if [ -z "${ALONE-}" ] && "${own[@]}" true 2>/dev/null; then
	ALONE=1 exec "${own[@]}" "$0"
fi
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C.UTF-8 PATH=$PWD/$BUILD:$PATH
[[ $BUILD != /* ]] || PATH=$BUILD:$PATH

# complete [--plain]: the requests of tests/fixture/complete.py from standard input; its lines into $tmp/out
complete() {
	/usr/bin/python3 tests/fixture/complete.py "$@" >"$tmp/out" 2>"$tmp/err"
	ok_if $? "bash has nothing to complain of${1:+ ($*)}" "$(cat "$tmp/err")" "$(tail -n 1 "$tmp/out")"
}

# What was inserted after TEXT, one word a line, sorted: inserted TEXT
inserted() {
	local -a words
	eval "words=($(jq -r --arg typed "$1" 'select(.typed == $typed).line' "$tmp/out"))"
	local -a typed
	eval "typed=($1)"
	[[ $1 == *' ' ]] || unset "typed[-1]"
	printf '%s\n' "${words[@]:${#typed[@]}}" | sort
}

table=$("$VHOSTCTL" --dump-options)
mapfile -t commands < <(awk -F '\t' '$1 != "-" && $2 == "-" { print $1 }' <<<"$table")
mapfile -t groups < <(printf '%s\n' "${commands[@]}" | sed -n 's/ .*//p' | sort -u)
{
	echo "all vhostctl "
	echo "all vhostctl -"
	printf 'all vhostctl %s \n' "${groups[@]}"
	printf 'all vhostctl help %s \n' "${groups[@]}"
	echo "all vhostctl help "
	printf 'all vhostctl %s -\n' "${commands[@]}" "${groups[@]}"
} >"$tmp/requests"

for how in '' --plain; do
	complete $how <"$tmp/requests"
	top=$(printf '%s\n' "${commands[@]%% *}" | sort -u)
	is "commands are completed, and no others" "$(inserted "vhostctl ")" "$top"
	is "help completes them, too" "$(inserted "vhostctl help ")" "$top"
	for g in "${groups[@]}"; do
		subs=$(printf '%s\n' "${commands[@]}" | sed -n "s/^$g //p" | sort)
		is "commands of $g are completed, and no others" "$(inserted "vhostctl $g ")" "$subs"
		is "help completes those of $g, too" "$(inserted "vhostctl help $g ")" "$subs"
	done
	for c in "" "${groups[@]}" "${commands[@]}"; do
		is "options of '$c' are completed, and no others" "$(inserted "vhostctl ${c:+$c }-")" \
			"$(awk -F '\t' -v c="$c" '($1 == "-" || $1 == c) && $2 != "-" { print $2 }' <<<"$table" | sort)"
	done
done

# VMs without vhost devices, which is all that a kernel without vhost can have: processes with a tap and an
# option that only QEMU has.
if [ -z "${ALONE-}" ] || [ ! -w /dev/net/tun ]; then
	true
	ok "completion of names # SKIP needs root, namespaces and /dev/net/tun"
	done_testing
fi
mkfifo "$tmp/hold" "$tmp/said"
exec 8<>"$tmp/said" 9<>"$tmp/hold"
vms=()
trap 'kill "${vms[@]}"; rm -rf "$tmp"' EXIT
# vms_up NAME…: their pids are added to vms[]
vms_up() {
	local n line up=0
	for n; do
		"$BUILD/tests/vmm" --name "guest=${n//,/,,}" --plain-tap "vc${#vms[@]}" -- -nodefaults <&9 >&8 &
		vms+=($!)
	done
	for n; do
		read -r -t 60 line <&8 && [[ $line == '{"pid"'* ]] && up=$((up + 1))
	done
	is "VMs that are up" "$up" $#
}
# shellcheck disable=SC2016 # names
names=('my vm' "it's" 'a"b' 'c:d=e' 'd$x`y' 'b\s' 'für' 'h!x' '*' '~' '#x' 'x;y' 'p|q&r' '(z)' '{1,2}' 'guest' '"q"'
	$'evil\n\e[2J' twin twin)
plain=17 # so many of them are offered by name
vms_up "${names[@]}"

# Each name from each kind of quote, by its first character and with the tap after it: what stands there then
# is run by bash, and must be of that VM.
wanted=()
want() { wanted+=("$1"); echo "tab $2" >&7; }
exec 7>"$tmp/requests"
for ((i = 0; i < plain; i++)); do
	n=${names[i]} pid=${vms[i]}
	want "$pid" "vhostctl list $(printf %q "${n:0:1}")"
	want "$pid" "vhostctl list '${n:0:1}"
	[[ $n == '"'* ]] || want "$pid" "vhostctl list \"${n:0:1}"
	want "$pid" "vhostctl coalesce get $(printf %q "$n")/"
	want "$pid" "vhostctl coalesce get '${n//\'/\'\\\'\'}/"
done
want "${vms[3]}" 'vhostctl list c:'
want "${vms[3]}" 'vhostctl list c:d='
want "${vms[0]}" 'vhostctl list m"y '
want "${vms[0]}" 'vhostctl coalesce get "my vm"/'
want "${vms[17]}" "vhostctl list ${vms[17]}"
want "${vms[18]}" "vhostctl coalesce get ${vms[18]}/"
exec 7>&-
complete <"$tmp/requests"
is "all were answered" "$(grep -c '"typed"' "$tmp/out")" "${#wanted[@]}"
i=0
while IFS= read -r answer; do
	line=$(jq -r .line <<<"$answer")
	# A word that can go on has no closing quote yet.
	for end in "" "'" '"'; do
		bash -n <<<"$line$end" 2>/dev/null && break
	done
	got=$(bash -c "$line$end" 2>&1)
	is "completed and run: $(jq -r .typed <<<"$answer") -> $line" "$(jq .vms[0].pid <<<"$got" 2>&1)" "${wanted[i]}"
	i=$((i + 1))
done < <(grep '"typed"' "$tmp/out")

# Names that a terminal does not show as they are, and those of two VMs, are offered by pid.
complete <<<"all vhostctl list "
is "each VM is offered once" "$(inserted "vhostctl list " | grep -vxF -f <("$VHOSTCTL" list | jq -r '.vms[] | .name // .pid'))" \
	"$(printf '%s\n' "${vms[@]:plain}" | sort)"

# The time that bash needs from the key to the new line, with 100 VMs. Others may use this machine, too: so of 15
# tries the fastest third has to be fast, and where the start of a bash takes more than 2 ms all may take longer.
mapfile -t more < <(seq -f 'vm-%g' "$((100 - ${#vms[@]}))")
vms_up "${more[@]}"
for text in 'show ' 'show vm-' 'busyloop set vm-57/' 'worker attach 1' 'busyloop set vm-57 '; do
	complete < <(yes "tab vhostctl $text" | head -n 15)
	times=$(jq -s 'map(.ms | numbers) | sort' -c "$tmp/out")
	start=$EPOCHREALTIME
	for _ in {1..20}; do bash -c :; done
	limit=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { f = (b - a) * 1000 / 20 / 2; print 100 * (f > 1 ? f : 1) }')
	jq -e --argjson limit "$limit" '.[4] < $limit' <<<"$times" >"$tmp/err"
	ok_if $? "'$text' takes $(jq '"\(.[4]) ms, median \(.[7])"' -r <<<"$times"), limit $limit" "$times"
done
done_testing
