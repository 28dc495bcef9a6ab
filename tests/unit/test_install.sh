#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What "make install" puts down works, and "make uninstall" takes it away again.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
MAKE=${MAKE:-make}

root=$tmp/root
out=$("$MAKE" -s install DESTDIR="$root" PREFIX=/opt/v 2>&1)
ok "make install" "$out"
pages=$(cd man && for page in *.[1-8]; do echo "644 opt/v/share/man/man${page##*.}/$page"; done)
examples=$(for e in src/hooks/* src/schema/*; do
	[ ! -f "$e" ] || echo "$([ -x "$e" ] && echo 755 || echo 644) opt/v/share/doc/vhostctl/examples/${e##*/}"
done)
is "installed files" "$(cd "$root" && find . -type f -printf '%m %P\n' | sort -k 2)" \
	"$(sort -k 2 <<<"755 opt/v/sbin/vhostctl
$pages
644 opt/v/share/bash-completion/completions/vhostctl
644 opt/v/share/doc/vhostctl/README
$examples")"

for unit in "$root"/opt/v/share/doc/vhostctl/examples/*.service; do
	[ ! -e "$unit" ] || is "${unit##*/} runs the installed program" \
		"$(sed -nE 's/^ExecStart=([^ ]*).*/\1/p' "$unit" | sort -u)" /opt/v/sbin/vhostctl
done

"$root/opt/v/sbin/vhostctl" --version >/dev/null
ok "the installed program runs"

touch "$root/opt/v/share/man/man8/other.8"
out=$("$MAKE" -s uninstall DESTDIR="$root" PREFIX=/opt/v 2>&1)
ok "make uninstall" "$out"
is "what is left is not ours" "$(cd "$root" && find . -mindepth 1 -printf '%P\n' | sort)" \
	"opt
opt/v
opt/v/share
opt/v/share/man
opt/v/share/man/man8
opt/v/share/man/man8/other.8"

out=$("$MAKE" -s uninstall DESTDIR="$root" PREFIX=/opt/v 2>&1)
ok "a second uninstall has nothing to complain of" "$out"

for prefix in /usr/local /usr; do
	"$MAKE" -s install DESTDIR="$tmp/empty" PREFIX="$prefix" >/dev/null &&
		"$MAKE" -s uninstall DESTDIR="$tmp/empty" PREFIX="$prefix" >/dev/null
	ok "install and uninstall with PREFIX=$prefix"
	is "nothing is left" "$(find "$tmp/empty" -mindepth 1)" ""
done

# Without DESTDIR only directories of our own name go.
out=$("$MAKE" -s install PREFIX="$tmp/own" 2>&1 && mkdir "$tmp/own/share/man/man7" &&
	"$MAKE" -s uninstall PREFIX="$tmp/own" 2>&1)
ok "install and uninstall on the system itself" "$out"
is "its directories stay" "$(cd "$tmp/own" && find . -mindepth 1 | sort | tr '\n' ' ')" \
	"$({ (cd man && printf '%s\n' *.[1-8] any.7 | sed 's,.*\.,./share/man/man,')
		printf './%s\n' sbin share share/bash-completion share/bash-completion/completions share/doc share/man
	} | sort -u | tr '\n' ' ')"

done_testing
