#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
# Taps of real QEMUs: rx-frames in whichever network namespace, link facts, which NIC is on vhost.
# shellcheck disable=SC2317 # run_cases calls the functions
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"

case_limit=200
as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
declare -A proc
exec {open_end}<> <(:)
its_stdin=$open_end

# start NAME COMMAND…: in the background; its pid in proc[NAME]. Its stdin never ends.
start() {
	local name=$1
	shift
	"$@" <&"$its_stdin" >"$t_dir/$name.out" 2>&1 &
	proc[$name]=$!
	at_exit kill "$!"
}

# qemu NAME [-n NETNS] ARG…: paused before its first instruction; its NICs are there all the same.
qemu() {
	local name=$1 ns=
	shift
	if [ "$1" = -n ]; then
		ns=$2
		shift 2
	fi
	start "$name" ${ns:+ip netns exec "$ns"} qemu-system-x86_64 -M q35 -accel tcg -nodefaults -display none \
		-S -name "$name" "$@"
}
nic() { printf -- '-netdev\ntap,id=%s,ifname=%s,script=no,downscript=no,%s\n-device\nvirtio-net-pci,netdev=%s,romfile=\n' "$1" "$1" "$2" "$1"; }

vmm() {
	local name=$1 ns=$2
	shift 2
	start "$name" ${ns:+ip netns exec "$ns"} "$BUILD/tests/vmm" --name "$name" "$@"
	wait_for 20 test -s "$t_dir/$name.out"
}

has() { [ "$("$VHOSTCTL" list "${proc[$1]}" 2>/dev/null | jq ".vms[0] | (.devices | length) >= $2 and (.taps | length) >= $3")" = true ]; }
frames() { ${2:+ip netns exec "$2"} ethtool -c "$1" | sed -n 's/^rx-frames:[[:blank:]]*//p'; }

setup() {
	local i
	for i in blue green; do
		ip netns add $i
		at_exit ip netns del $i
	done
	ip link add br0 type bridge
	ip link add dum0 type dummy
	ip link add link dum0 name mvt0 type macvtap
	at_exit ip link del br0
	at_exit ip link del dum0
	ip tuntap add tap9 mode tap vnet_hdr
	ip link set tap9 master br0 alias 'a "b" c' mtu 1400 up
	at_exit ip link del tap9
	mapfile -t a < <(nic tap0 vhost=on)
	qemu vmA "${a[@]}"
	qemu vmB -n blue "${a[@]}"
	mapfile -t a < <(nic tapv vhost=on; nic tapn vhost=off)
	qemu mixed "${a[@]}"
	mapfile -t a < <(nic tapx vhost=on; nic tapy vhost=on)
	qemu twins "${a[@]}"
	start handed python3 "$TOP/tests/fixture/fd-nics.py" tapf:2 tapg:2 -- -M q35 -accel tcg -nodefaults \
		-display none -S -name handed
	exec 40<>"/dev/tap$(</sys/class/net/mvt0/ifindex)"
	start mac qemu-system-x86_64 -M q35 -accel tcg -nodefaults -display none -S -name mac \
		-netdev tap,id=m,fd=40,vhost=on -device virtio-net-pci,netdev=m,romfile=
	exec 40>&-
	mkfifo "$t_dir/bridged.in"
	exec {bridged_in}<>"$t_dir/bridged.in"
	its_stdin=$bridged_in vmm bridged '' --net 1 --tap tap9
	for i in 'vmA 1 1' 'vmB 1 1' 'mixed 1 2' 'twins 2 2' 'handed 4 2' 'mac 1 1'; do
		# shellcheck disable=SC2086 # three words
		wait_for 90 has $i || { cat "$t_dir/${i%% *}.out"; return 1; }
	done
}

test_two_VMs_with_taps_of_one_name_in_two_namespaces() {
	ctl coalesce set vmA/tap0 64
	expect_status 0
	expect_json '.changes' "[{\"target\":\"vmA/tap0\",\"pid\":${proc[vmA]},\"setting\":\"rx_frames\",\"before\":0,\"after\":64,\"applied\":true}]"
	expect_eq "vmB's value" "$(frames tap0 blue)" 0
	ctl -v coalesce set vmB/tap0 32
	expect_status 0
	expect_json '.changes[] | .before, .after' $'0\n32'
	expect_match err "of network namespace $(stat -Lc %i /run/netns/blue), by ethtool netlink"
	expect_eq "vmA's value" "$(frames tap0)" 64
	expect_eq "vmB's value" "$(frames tap0 blue)" 32
	ctl coalesce get vmB/tap0
	expect_json '.vms[].taps[] | [.ifname, .netns, .rx_frames, .rx_frames_max]' \
		"[\"tap0\",$(stat -Lc %i /run/netns/blue),32,64]"
	ctl coalesce set vmA/net0 64
	expect_json .changes '[]'
}

test_a_dry_run_changes_nothing() {
	ctl coalesce set --dry-run mixed/tapn 5
	expect_status 0
	expect_json '.changes[] | .before, .after, .applied' $'0\n5\nfalse'
	expect_eq "the tap's value" "$(frames tapn)" 0
}

# refused STATUS WORDS ARG…, without a request to the kernel
refused() {
	local want=$1 words=$2
	shift 2
	ctl "$@"
	expect_status "$want"
	expect_match err "^vhostctl: .*$words"
	expect_eq stdout "$out" ''
}

test_bad_values_are_refused_before_anything_is_sent() {
	for n in 65 4294967296 x ''; do refused 2 'no number from 0 to 64' coalesce set vmA/tap0 "$n"; done
	refused 2 'unknown option -1' coalesce set vmA/tap0 -1
	refused 2 "'-1' is no number from 0 to 64" coalesce set vmA/tap0 -- -1
	run strace -f -qq -e trace=socket,pidfd_getfd -o "$t_dir/trace" "$VHOSTCTL" coalesce set vmA/tap0 65
	expect_status 2
	expect_eq "system calls" "$(<"$t_dir/trace")" ''
}

test_what_has_no_coalescing_is_null_and_not_supported() {
	refused 5 'no rx-frames coalescing' coalesce set mac/mvt0 1
	refused 5 'no rx-frames coalescing' coalesce set dev mvt0 1
	refused 5 'no tap' coalesce set dev dum0 1
	ctl coalesce get mac/mvt0
	expect_status 0
	expect_json '.vms[].taps[] | [.ifname, .macvtap, .rx_frames, .rx_frames_max, .mtu]' '["mvt0",true,null,null,1500]'
}

test_what_is_not_there_is_not_found() {
	ip tuntap add tapz mode tap vnet_hdr
	vmm lost '' --net 1 --tap tapz
	ctl coalesce set lost/tapz 3
	expect_status 0
	ip link del tapz
	refused 3 'no tap' coalesce set lost/tapz 4
	refused 3 'no tap' coalesce set "${proc[lost]}/fd$(jq '.devices[0].tap_fd' "$t_dir/lost.out")" 4
	refused 3 'no tap tap7 in vmA; it has tap0' coalesce set vmA/tap7 4
	refused 3 'no such VM' coalesce set nosuch/tap0 4
	refused 3 'no such interface' coalesce set dev tap7 4
	refused 3 'no such interface' coalesce get dev tapn netns blue
	refused 3 'no network namespace' coalesce get dev tapn netns red
	refused 3 'has 2 taps; name one' coalesce set mixed 4
}

test_without_rights_it_is_not_permitted() {
	run "${as_nobody[@]}" "$VHOSTCTL" coalesce set vmA/tap0 1
	expect_status 4
	run "${as_nobody[@]}" "$VHOSTCTL" coalesce set dev tap0 1
	expect_status 4
	expect_match err 'CAP_NET_ADMIN'
	# a user's own process, which may be looked into, on a tap that root made
	start own python3 -c "import fcntl, os, struct
fd = os.open('/dev/net/tun', os.O_RDWR)
fcntl.ioctl(fd, 0x400454ca, struct.pack('16sH22x', b'tapo', 0x1002))
os.set_inheritable(fd, True)
os.execvp('setpriv', '${as_nobody[*]} sleep 300'.split())"
	wait_for 20 grep -qx sleep "/proc/${proc[own]}/comm"
	run "${as_nobody[@]}" "$VHOSTCTL" coalesce set "${proc[own]}/tapo" 1
	expect_status 4
	expect_match err 'CAP_NET_ADMIN'
	expect_eq "the taps' values" "$(frames tap0) $(frames tapo)" '64 0'
}

test_a_tap_by_itself() {
	ctl coalesce set dev tap0 netns blue 31
	expect_status 0
	expect_json '.changes[] | [.target, .pid, .after]' '["dev tap0 netns blue",null,31]'
	ctl coalesce set dev tap0 netns "${proc[vmB]}" 32
	expect_json '.changes[] | [.before, .after]' '[31,32]'
	ctl coalesce get dev tap0
	expect_json '.vms, (.taps[] | [.ifname, .rx_frames, .fds])' $'[]\n["tap0",64,[]]'
}

test_link_facts_are_those_of_the_interface() {
	ctl show bridged
	expect_status 0
	expect_json '.vms[].taps[] | [.ifindex, .mtu, .master, .alias, .operstate, .netns]' \
		"$(ip -j -d link show tap9 | jq -c ".[0] | [.ifindex, .mtu, .master, .ifalias, (.operstate | ascii_downcase), $(stat -Lc %i /proc/self/ns/net)]")"
	expect_json '.vms[].taps[] | [.multi_queue, .vnet_hdr, .persist, .numqueues, .vhost]' '[false,true,true,null,true]'
	ctl show handed
	expect_json '[.vms[].taps[] | [.ifname, .multi_queue, .numqueues + .numdisabled]] | sort' '[["tapf",true,2],["tapg",true,2]]'
}

test_counters_are_those_of_the_interface() {
	echo "send net0 50 64" >&"$bridged_in"
	wait_for 20 grep -q '"sent":50' "$t_dir/bridged.out"
	ctl coalesce get bridged
	expect_json '.vms[].taps[] | [.rx_packets, .tx_packets, .rx_dropped, .tx_dropped]' \
		"$(ip -j -s link show tap9 | jq -c '.[0].stats64 | [.rx.packets, .tx.packets, .rx.dropped, .tx.dropped]')"
	expect_json '.vms[].taps[].rx_packets >= 50' true
}

test_files_handed_over_are_paired_by_the_command_line() {
	ctl show handed
	expect_json '[.vms[].devices[] | [.fd, .tap, .tap_source]]' \
		'[[200,"tapg","cmdline"],[201,"tapg","cmdline"],[202,"tapf","cmdline"],[203,"tapf","cmdline"]]'
	ctl busyloop get handed/tapg
	expect_json '[.vms[].devices[].fd]' '[200,201]'
}

test_two_NICs_by_ifname_are_not_guessed() {
	ctl list twins
	expect_json '[.vms[].devices[] | [.tap, .tap_source]]' '[[null,null],[null,null]]'
	expect_json '[.vms[].taps[].vhost]' '[true,true]'
	ctl show twins
	expect_json '[.vms[].devices[] | [.tap, .tap_source] | select(. != [null,null] and .[1] != "snapshot")]' '[]'
}

test_list_says_which_NIC_is_on_vhost() {
	ctl list mixed
	expect_json '[.vms[].taps[] | [.ifname, .vhost]] | sort' '[["tapn",false],["tapv",true]]'
	expect_json '[.vms[].devices[] | [.tap, .tap_source]]' '[["tapv","cmdline"]]'
	ctl list -t mixed
	expect_match out 'tapn .*no vhost'
}

test_the_snapshot_knows_where_the_command_line_does_not() {
	vmm two '' --net 1 --tap tap8 --plain-tap tapp
	ctl show --source owner two
	expect_json '[.vms[].taps[].vhost]' '[null,null]'
	ctl show two
	need_snapshot
	expect_json .source '"snapshot"'
	expect_json '[.vms[].taps[] | [.ifname, .vhost]] | sort' '[["tap8",true],["tapp",false]]'
	expect_json '[.vms[].taps[] | .mtu, .rx_frames]' '[1500,0,1500,0]'
}

test_the_ioctl_serves_where_the_message_is_lacking() {
	run strace -f -qq -o /dev/null -e inject=sendto:error=EOPNOTSUPP "$VHOSTCTL" -v coalesce set vmB/tap0 9
	expect_status 0
	expect_json '.changes[] | [.before, .after]' '[32,9]'
	expect_match err 'by the ethtool ioctl'
	expect_eq "vmB's value" "$(frames tap0 blue)" 9
	ctl coalesce set vmB/tap0 32
}

test_a_moved_and_renamed_tap_is_followed() {
	ip netns exec blue ip link set tap0 netns green name other
	ctl coalesce get vmB
	expect_json '.vms[].taps[] | [.ifname, .netns]' "[\"other\",$(stat -Lc %i /run/netns/green)]"
	ctl coalesce set vmB/other 33
	expect_eq "the moved tap's value" "$(frames other green)" 33
	ip netns exec green ip link set other netns blue name tap0
}

test_a_tap_on_the_move_gets_true_answers_or_errors() {
	vmm mover blue --plain-tap mv0
	vmm neighbour blue --plain-tap mv1
	vmm far green --plain-tap mv0
	"$VHOSTCTL" -q coalesce set dev mv1 netns blue 7
	"$VHOSTCTL" -q coalesce set dev mv0 netns green 7
	run python3 "$TOP/tests/fixture/moving-tap.py" "$VHOSTCTL" "$BUILD/tests/rounds" "${proc[mover]}" \
		"$(jq '.devices[0].tap_fd' "$t_dir/mover.out")" blue green 40 "${T_ROUNDS:-1000}"
	echo "# $out" >&2
	expect_status 0
	expect_json '[.wrongs, .mover, .set + .get + .error]' '[0,0,40]'
	expect_json '.rounds | [.wrong, .fds_left, .children_left, .set + .get + .error]' "[0,0,false,${T_ROUNDS:-1000}]"
	expect_json '.set > 10 and .get > 10 and (.rounds | .set > 100 and .get > 100 and .places >= 3)' true
	expect_eq "the neighbours' values" "$(frames mv1 blue) $(frames mv0 green)" '7 7'
	# no file of the tap is left anywhere: with its process the interface goes
	kill "${proc[mover]}"
	wait "${proc[mover]}" || true
	wait_for 10 gone_from_blue
}
gone_from_blue() { ! ip -n blue link show mv0 >/dev/null 2>&1; }

# Timeless: how many of the frames that vhost gives the tap, one after another, the host gets in one go.
test_batches_of_the_tap_are_rx_frames_long() {
	run "$TOP/tests/bench/batches.sh" 1000 1
	expect_status 0
	expect_match out $'^batch, rx-frames 0, sndbuf limited\tframes\t\t1\\.0\t'
	[ "$(awk -F '\t' '$1 == "batch, rx-frames 64, sndbuf limited" { print ($4 > 40) }' <<<"$out")" = 1 ]
}

run_cases
