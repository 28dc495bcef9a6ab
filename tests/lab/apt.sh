# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced: packages of other Debian suites than this machine's, by an apt configuration of our own. Nothing of the
# machine's is changed; the mirror's address is taken from its sources at run time.

# "URI SUITE" of every binary source this machine uses, from both formats of sources files.
machine_sources() {
	local f
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -f "$f" ] && sed -nE 's/^[[:space:]]*deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+)[[:space:]]+([^[:space:]]+).*/\2 \3/p' "$f"
	done
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -f "$f" ] && awk 'BEGIN { RS = ""; FS = "\n" } {
			uris = suites = types = ""; on = 1; field = ""
			for (i = 1; i <= NF; i++) {
				line = $i
				if (line ~ /^#/) continue
				if (line ~ /^[ \t]/) { v = line } else {
					field = tolower(substr(line, 1, index(line, ":") - 1))
					v = substr(line, index(line, ":") + 1)
				}
				if (field == "uris") uris = uris " " v
				if (field == "suites") suites = suites " " v
				if (field == "types") types = types " " v
				if (field == "enabled" && tolower(v) ~ /no|false|off|0/) on = 0
			}
			if (!on || types !~ /deb( |$)/) next
			n = split(uris, u, " "); m = split(suites, s, " ")
			for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) print u[i], s[j]
		}' "$f"
	done
	return 0
}

# The mirror that carries this machine's own Debian release carries the others too.
uri_for() {
	local code
	# shellcheck source=/dev/null
	code=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
	case $1 in
	*-security) machine_sources | awk '$2 ~ /-security$/ { print $1; exit }' ;;
	*) machine_sources | awk -v c="$code" '$1 ~ /^(https?|mirror|file|ftp|tor)/ && ($2 == c || $2 == "stable") { print $1; exit }' ;;
	esac
}

apt_private() {
	local tool=$1
	shift
	"$tool" -qq -o Dir::Etc::sourcelist="$apt_dir/sources.list" -o Dir::Etc::sourceparts="$apt_dir/none" \
		-o Dir::Etc::preferences="$apt_dir/none/none" -o Dir::Etc::preferencesparts="$apt_dir/none" \
		-o Dir::State::lists="$apt_dir/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$apt_dir/cache" \
		-o APT::Architecture=amd64 -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 "$@"
}

# apt_private_setup DIR SUITE…: from then on apt_private works with DIR and these suites. Says what failed.
apt_private_setup() {
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg s uri
	apt_dir=$1
	shift
	mkdir -p "$apt_dir/none" "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	for s in "$@"; do
		uri=$(uri_for "$s")
		if [ -n "$uri" ]; then
			echo "deb [signed-by=$keyring] $uri $s main"
		elif [[ $s != *-security ]]; then
			echo "no Debian mirror in this machine's apt sources" >&2
			return 1
		fi
	done >"$apt_dir/sources.list"
	apt_private apt-get -o APT::Update::Error-Mode=any update >&2
}
