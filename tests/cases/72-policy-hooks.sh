#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# apply --wait while a VM starts, and hooks as their callers run them.
# timeout: 900
# shellcheck disable=SC2317 # run_cases calls the functions
# shellcheck source=tests/lib.sh
. tests/lib.sh
# shellcheck source=tests/fixture/qemu.sh
. tests/fixture/qemu.sh
# shellcheck source=tests/fixture/io.sh
. tests/fixture/io.sh
# shellcheck source=tests/fixture/policy.sh
. tests/fixture/policy.sh
case_limit=${POLICY_LIMIT:-240}

late='{"schema":1,"vms":[{"match":{"name":"late"},"devices":[{"match":{"kind":"net"},"busyloop_usecs":77,"rx_frames":3}]}]}'

# QEMU is there; its NIC comes two seconds later.
late_up() {
	local dir=$t_dir/late
	rm -rf "$dir"
	mkdir "$dir"
	ip tuntap add tlate mode tap vnet_hdr
	at_exit ip link del tlate
	ip link set tlate up
	qemu-system-x86_64 -machine pc -accel tcg -m 64 -nodefaults -display none -S -name guest=late,debug-threads=on \
		-qmp "unix:$dir/qmp,server=on,wait=off" </dev/null >"$dir/log" 2>&1 &
	late_pid=$!
	at_exit late_down
	VM_DIR[late]=$dir
	wait_for 30 test -S "$dir/qmp"
}
late_down() {
	kill "$late_pid"
	wait "$late_pid"
}
late_nic() {
	sleep 2
	qmp late netdev_add '{"type":"tap","id":"l","ifname":"tlate","script":"no","downscript":"no","vhost":true}' >/dev/null
	qmp late device_add '{"driver":"virtio-net-pci","netdev":"l","id":"ld","romfile":""}' >/dev/null
}
late_tuned() { [ "$("$VHOSTCTL" busyloop get late 2>/dev/null | jq -c '[.vms[0].devices[].queues[].busyloop_usecs]')" = '[77,77]' ] && [ "$(frames tlate)" = 3 ]; }
late_reset() {
	late_tuned || return 0
	ctl busyloop set late 0
	ctl coalesce set late/tlate 0
}

test_wait_for_devices() {
	local started=$SECONDS
	run apply "$late" --vm late --wait 2
	expect_status 3
	expect_match err '^vhostctl: late: after 2 s still: no such VM'
	late_up
	run apply "$late" --vm late --wait 1
	expect_status 3
	late_nic &
	nic=$!
	started=$EPOCHREALTIME
	run apply "$late" --vm late --wait 20
	echo "# applied after $(awk -v a="$started" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }')"
	expect_status 0
	wait "$nic"
	late_tuned || fail "$(frames tlate)"
	run apply "$late" --vm late --wait 20
	expect_status 0
	expect_json .changes '[]'
	run apply "${late/\"kind\":\"net\"/\"id\":\"net1\"}" --vm late --wait 1
	expect_status 3
	expect_match err 'after 1 s still: it lacks a device that standard input: \$.vms\[0\].devices\[0\] matches'
	run apply "${late/\"kind\":\"net\"/\"id\":\"net1\"}" --vm late
	expect_status 3
	run apply "$late" --vm vm1 --wait 5
	expect_status 0
	expect_json .notes '["vm1: no entry of the policy matches it"]'
	run apply "$late" --wait 5
	expect_status 2
	# Waiting is mostly sleeping.
	run bash -c 'TIMEFORMAT="busy %U %S"; time "$1" apply - --vm nosuch --wait 4' x "$VHOSTCTL" <<<"${late/late/nosuch}"
	echo "# 4 s of waiting: $(grep busy <<<"$err")"
	awk '/^busy/ { exit !($2 + $3 < 2) }' <<<"$err" || fail "it polls hard"
}

# As libvirtd calls it: its arguments, an environment of its own, the domain's XML on stdin.
libvirt_hook() {
	printf '<domain type="kvm" id="1">\n  <name>%s</name>\n</domain>\n' "$1" |
		env -i PATH="$hook_path" LC_ALL=C VHOSTCTL_HOOK_CONF="$t_dir/hook.conf" \
			"$t_dir/hooks/qemu" "$@"
}

hooks_up() {
	mkdir -p "$t_dir/hooks"
	cp src/hooks/libvirt-qemu "$t_dir/hooks/qemu"
	cp src/hooks/kubevirt-sidecar "$t_dir/hooks/onDefineDomain"
	hook_path=/usr/bin:/bin:$(dirname "$VHOSTCTL")
	echo "$late" >"$t_dir/late.json"
	echo "POLICY=$t_dir/late.json WAIT=20" >"$t_dir/hook.conf"
}

test_libvirt_hook() {
	local started
	hooks_up
	late_up
	started=$SECONDS
	run libvirt_hook late started begin -
	expect_status 0
	expect_eq "what it printed" "$out$err" ''
	[ $((SECONDS - started)) -lt 3 ] || fail "libvirt had to wait for it"
	late_nic
	wait_for 30 late_tuned || fail "it is not tuned"
	late_reset
	for operation in 'prepare begin' 'start begin' 'stopped end' 'release end' 'migrate begin'; do
		# shellcheck disable=SC2086 # two words
		run libvirt_hook late $operation -
		expect_status 0
		expect_eq "what it printed" "$out$err" ''
	done
	sleep 1
	! late_tuned || fail "it was tuned by another operation"
	run libvirt_hook late reconnect begin -
	expect_status 0
	wait_for 30 late_tuned || fail "it is not tuned after reconnect"
	# Not for want of tuning, nor of a tool, nor of a policy that can be read, does a start fail; unless told to.
	echo '{' >"$t_dir/late.json"
	run libvirt_hook late started begin -
	expect_status 0
	echo STRICT=yes >>"$t_dir/hook.conf"
	run libvirt_hook late started begin -
	expect_status 2
	expect_match err 'late.json: line [12], column [0-9]+: '
	echo "$late" >"$t_dir/late.json"
	late_reset
	run libvirt_hook late started begin -
	expect_status 0
	late_tuned || fail "it is not tuned in the foreground"
	echo "POLICY=$t_dir/late.json WAIT=1 STRICT=yes" >"$t_dir/hook.conf"
	run libvirt_hook late2 started begin -
	expect_status 0
	hook_path=/usr/bin:/bin
	echo "POLICY=$t_dir/late.json" >"$t_dir/hook.conf"
	run libvirt_hook late started begin -
	expect_status 0
	rm "$t_dir/hook.conf"
	run libvirt_hook late started begin -
	expect_status 0
}

test_kubevirt_sidecar() {
	local domain=$'<domain type="kvm">\n  <name>late</name>\n  <devices><interface><target dev="tap0"/></interface></devices>\n</domain>\n'
	hooks_up
	late_up
	run env -i PATH="$hook_path" POLICY="$t_dir/late.json" WAIT=20 VHOSTCTL_LOG="$t_dir/sidecar.log" \
		"$t_dir/hooks/onDefineDomain" --vmi '{"metadata":{"name":"late"}}' --domain "$domain"
	expect_status 0
	expect_eq "the domain" "$out" "${domain%$'\n'}"
	late_nic
	wait_for 30 late_tuned || fail "it is not tuned: $(cat "$t_dir/sidecar.log")"
	run env -i PATH="$hook_path" POLICY=/nonexistent "$t_dir/hooks/onDefineDomain" --vmi '{}' --domain "$domain"
	expect_status 0
	expect_eq "the domain" "$out" "${domain%$'\n'}"
}

test_systemd_unit() {
	local unit=src/hooks/vhostctl-policy.service command
	hooks_up
	late_up
	late_nic
	[ ! -e /etc/vhostctl ] || skip "this host has an /etc/vhostctl"
	mkdir -p /etc/vhostctl
	at_exit rm -rf /etc/vhostctl
	echo "$late" >/etc/vhostctl/policy.json
	command=$(sed -n "s|^ExecStart=/usr/local/sbin|$(dirname "$VHOSTCTL")|p" "$unit")
	# shellcheck disable=SC2086 # as systemd splits it; its environment and standard input
	run env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin LANG=C $command </dev/null
	expect_status 0
	late_tuned || fail "it is not tuned"
	command -v systemd-analyze >/dev/null || return 0
	sed "s|/usr/local/sbin|$(dirname "$VHOSTCTL")|" "$unit" >"$t_dir/vhostctl-policy.service"
	run systemd-analyze verify --man=no "$t_dir/vhostctl-policy.service"
	# It speaks of the other units of the host, too.
	! grep -q vhostctl-policy.service <<<"$err" || fail "systemd does not like it"
}

run_cases
