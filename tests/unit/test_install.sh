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
is "installed files" "$(cd "$root" && find . -type f -printf '%m %P\n' | sort -k 2)" \
	"755 opt/v/sbin/vhostctl
755 opt/v/share/doc/vhostctl/examples/kubevirt-sidecar
755 opt/v/share/doc/vhostctl/examples/libvirt-qemu
644 opt/v/share/doc/vhostctl/examples/vhostctl-policy.service
644 opt/v/share/man/man5/vhostctl-policy.5
644 opt/v/share/man/man8/vhostctl.8
644 opt/v/share/vhostctl/vhostctl-policy.schema.json
644 opt/v/share/vhostctl/vhostctl.schema.json"
is "the unit runs the installed program" \
	"$(sed -n 's/^ExecStart=//p' "$root/opt/v/share/doc/vhostctl/examples/vhostctl-policy.service")" "/opt/v/sbin/vhostctl -q apply"

"$root/opt/v/sbin/vhostctl" --version >/dev/null
ok "the installed program runs"

touch "$root/opt/v/share/man/man8/other.8"
out=$("$MAKE" -s uninstall DESTDIR="$root" PREFIX=/opt/v 2>&1)
ok "make uninstall" "$out"
is "what is left is not ours" "$(cd "$root" && find . -type f -printf '%P\n')" \
	"opt/v/share/man/man8/other.8"
[ ! -e "$root/opt/v/share/vhostctl" ] && [ ! -e "$root/opt/v/share/doc/vhostctl" ]
ok "our own directories are gone"

out=$("$MAKE" -s uninstall DESTDIR="$root" PREFIX=/opt/v 2>&1)
ok "a second uninstall has nothing to complain of" "$out"

done_testing
