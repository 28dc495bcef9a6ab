#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tarball is the same from each copy of the sources, and rpmbuild makes packages of it that hold what they should.
# shellcheck source=tests/unit/tap.sh
. "${0%/*}/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
MAKE=${MAKE:-make}
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
tarball=vhostctl-$version.tar.xz

is "the spec file has the Makefile's version" "$(sed -n 's/^Version: *//p' vhostctl.spec)" "$version"

# dist DIR [COMMAND…]: its tarball, made by way of the command
dist() {
	out=$("${@:2}" "$MAKE" -s --no-print-directory -C "$1" BUILD=build dist 2>&1)
	ok "make dist in ${1#"$tmp/"}" "$out"
}

mkdir "$tmp/unpacked"
if [ -e .git ]; then
	git -c safe.directory="*" clone -q . "$tmp/one" && (umask 077 && git -c safe.directory="*" clone -q . "$tmp/another/place")
	ok "two clones"
	find "$tmp/another" -type f -not -path '*/.git/*' -exec touch -d 2001-01-01 {} +
	echo stray >"$tmp/another/place/stray"
	dist "$tmp/one"
	dist "$tmp/another/place" env TZ=Asia/Tokyo LC_ALL=C.UTF-8 bash -c 'umask 077; exec "$@"' bash
	cmp "$tmp/one/build/$tarball" "$tmp/another/place/build/$tarball"
	ok "two clones make the same tarball"
else
	# Sources from a tarball: what is built here is no part of it.
	mkdir -p "$tmp/one/build"
	"$MAKE" -s --no-print-directory BUILD="$tmp/one/build" dist >"$tmp/out" 2>&1
	ok_if $? "make dist" "$(cat "$tmp/out")"
fi
tar -C "$tmp/unpacked" -xf "$tmp/one/build/$tarball"
dist "$tmp/unpacked/vhostctl-$version"
cmp "$tmp/one/build/$tarball" "$tmp/unpacked/vhostctl-$version/build/$tarball"
ok "the unpacked tarball makes the same tarball"
is "it has one directory" "$(tar -tf "$tmp/one/build/$tarball" | cut -d/ -f1 | sort -u)" "vhostctl-$version"

if [ -n "${RPM_BUILD_ROOT:-}" ] || ! command -v rpmbuild >/dev/null; then
	true
	ok "packages # SKIP no rpmbuild, or inside of one"
	done_testing
fi
# Systems differ in whether they compress man pages and in whether the licence's directory has the version.
listed() {
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$binary" 2>"$tmp/err" |
		sed -E "s,(/man/.*)\.gz\$,\1,; s,(/licenses/vhostctl)-$version,\1," | sort -k 2
}
# The unit tests are what runs this: --nocheck.
out=$("$MAKE" -s --no-print-directory -C "$tmp/unpacked/vhostctl-$version" BUILD=build RPMBUILD_FLAGS=--nocheck rpm 2>&1)
ok_if $? "rpmbuild makes packages of the tarball" "$(tail -n 20 <<<"$out")"
rpms=$tmp/unpacked/vhostctl-$version/build/rpm
is "a source and a binary package" "$(cd "$rpms" && find . -name '*.rpm' | sed -E 's/-[0-9][^-]*-[^-]*(\.[a-z0-9_]+\.rpm)$/\1/' | sort)" \
	"./RPMS/x86_64/vhostctl.x86_64.rpm
./SRPMS/vhostctl.src.rpm"
binary=$(find "$rpms/RPMS" -name '*.rpm')
is "the source package" "$(rpm -qlp "$rpms"/SRPMS/*.rpm 2>"$tmp/err" | sort)" "$tarball
vhostctl.spec"
examples=$(for e in src/hooks/* src/schema/*; do
	[ ! -f "$e" ] || echo "-rw$([ -x "$e" ] && echo xr-xr-x || echo -r--r--) /usr/share/doc/vhostctl/examples/${e##*/}"
done)
is "the binary package has program, manual, completion, licence, README, examples and no more" \
	"$(listed | grep -v ^d)" \
	"$(sort -k 2 <<<"-rwxr-xr-x /usr/sbin/vhostctl
-rw-r--r-- /usr/share/man/man8/vhostctl.8
-rw-r--r-- /usr/share/man/man5/vhostctl-policy.5
-rw-r--r-- /usr/share/bash-completion/completions/vhostctl
-rw-r--r-- /usr/share/licenses/vhostctl/COPYING
-rw-r--r-- /usr/share/doc/vhostctl/README
$examples")"
is "its directories are ours alone" "$(listed | sed -n 's/^d[^ ]* //p')" "/usr/share/doc/vhostctl
/usr/share/doc/vhostctl/examples
/usr/share/licenses/vhostctl"
is "its licence" "$(rpm -qp --qf '%{LICENSE}' "$binary" 2>"$tmp/err")" "GPL-2.0-or-later"
mkdir "$tmp/root"
(cd "$tmp/root" && rpm2cpio "$binary" | cpio -id --quiet) && "$tmp/root/usr/sbin/vhostctl" check >"$tmp/check"
ok "the packaged program runs"
jq -e '.checks[] | select(.name == "snapshot").reason | test("built without") | not' "$tmp/check" >"$tmp/err" 2>&1
ok_if $? "it has the kernel snapshot built in" "$(jq -c '.checks[] | select(.name == "snapshot")' "$tmp/check")"

done_testing
