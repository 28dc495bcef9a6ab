#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel snapshot against what is known otherwise: the owner's reading, threads that wake, fds, interfaces.
# SNAP_VMS, SNAP_CHURN (readings), SNAP_CHURNERS and SNAP_LIMIT (s a case) can be set from outside.
# timeout: 900
# shellcheck disable=SC2317,SC2034 # run_cases calls the tests; lib.sh uses what they set
. "$TOP/tests/lib.sh"
if has_no_snapshot; then
	echo "1..0 # SKIP this program was built without the snapshot"
	exit 0
fi
. "$TOP/tests/fixture/qemu.sh"
case_limit=${SNAP_LIMIT:-150}

vmm=$BUILD/tests/vmm
net='.vms[0].devices[] | select(.kind == "net")'

# start VMM-OPTION…: $pid, and ask() talks to it
start() {
	coproc VMM { exec "$vmm" "$@"; }
	pid=$!
	at_exit wait "$pid" # the next one has taps of the same names
	at_exit kill "$pid"
	read -r -t 30 ready <&"${VMM[0]}" || fail "the VMM did not start"
}
ask() {
	echo "$*" >&"${VMM[1]}"
	read -r -t 30 answer <&"${VMM[0]}" || fail "no answer to: $*"
}
snap() {
	ctl show --source snapshot "$@"
	expect_status 0
}

# same TARGET: both readings agree, and in how many fields
same() {
	"$VHOSTCTL" show --all-queues --source snapshot "$1" >"$t_dir/a" && "$VHOSTCTL" show --source owner "$1" >"$t_dir/b"
	/usr/bin/python3 "$TOP/tests/fixture/samefields.py" "$t_dir/a" "$t_dir/b" --count || fail "they differ"
}

workers_of() { jq -r '.vms[0].worker_threads[].tid' <<<"$out"; }
switches() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$1/status"; }

# The thread, of those given, that 12 kicks of DEV QUEUE woke; the others may have had something to do at most once or twice.
woken_by() {
	local dev=$1 queue=$2 t
	shift 2
	local -A before=()
	for t; do before[$t]=$(switches "$t"); done
	for _ in {1..12}; do
		ask kick "$dev" "$queue"
		sleep 0.03
	done
	for t; do
		[ $(($(switches "$t") - before[$t])) -lt 8 ] || echo "$t"
	done
}

# Each queue that is set up of each device, by its ids in the VMM's own JSON.
prove_threads() {
	local threads dev queue tid n=0
	snap "$pid"
	mapfile -t threads < <(workers_of)
	while read -r dev queue tid; do
		expect_eq "thread of $dev/$queue" "$(woken_by "$dev" "$queue" "${threads[@]}")" "$tid"
		n=$((n + 1))
	done < <(jq -r '.vms[0].devices[] | .id as $d | .queues[] | "\($d) \(.index) \(.worker_tid)"' <<<"$out")
	[ "$n" -ge "$1" ] || fail "only $n queues were shown"
	note "$n queues proved to be of the thread shown, among ${#threads[@]}"
}

# Numbers that are worth reading, out of the lab.
note() { echo "$LAB_KERNEL: $*" >>"$LAB_OUT/notes"; }

# What holds a module may take its time to end, and a target that was is one user more.
unload() {
	rmdir /sys/kernel/config/target/vhost 2>/dev/null || true
	local module
	for module; do wait_for 10 rmmod "$module" || fail "module $module is in use"; done
}
reload_vhost() {
	unload vhost_net vhost_vsock vhost_scsi vhost
	modprobe vhost ${1:+"$1"}
	modprobe -a vhost_net vhost_vsock vhost_scsi
}
reload_scsi() {
	unload vhost_scsi
	modprobe vhost_scsi ${1:+"$1"}
}
quit() {
	echo quit >&"${VMM[1]}"
	wait "$pid"
}

test_it_works_here() {
	ctl check
	expect_json '.checks[] | select(.name == "snapshot").ok' true
}

test_nobody_is_stopped() {
	start --name vm1 --net 2 --tap sa --tap sb --scsi none --vsock 77
	for command in "show vm1" "list vm1" "busyloop get vm1"; do
		# shellcheck disable=SC2086
		run strace -f -qq -e signal=none -e trace=ptrace,process_vm_readv,process_vm_writev,kill -o "$t_dir/trace" "$VHOSTCTL" $command
		expect_status 0
		expect_json .source '"snapshot"'
		expect_valid state
		expect_eq "calls of $command" "$(grep -vc 'exited with' "$t_dir/trace" || true)" 0
	done
}

test_it_equals_the_owner() {
	start --name vm1 --net 2 --tap sa --tap sb --queues 2 --scsi none --scsi-queues 4 --vsock 77 --busyloop 33
	same vm1
	for usecs in 50 0 77; do
		ctl busyloop set vm1/net1 "$usecs"
		expect_status 0
		same vm1
		snap vm1/net1
		expect_json '[.vms[0].devices[0].queues[].busyloop_usecs]' "[$usecs,$usecs]"
	done
}

# Values that were never set must not show, whichever moment it is.
test_it_is_right_while_values_change() {
	start --name vm1 --net 2 --tap sa --tap sb --busyloop 1
	(for _ in {1..40}; do for v in 1 2; do "$VHOSTCTL" busyloop set "$pid" "$v" || echo "status $?" >&2; done; done) >"$t_dir/set" 2>"$t_dir/failed" &
	local setter=$! rounds=0
	while kill -0 "$setter" 2>/dev/null; do
		snap vm1
		expect_json '[.vms[0].devices[].queues[].busyloop_usecs | select(. != 1 and . != 2)]' '[]'
		expect_json '[.vms[0].devices[].errors[]]' '[]'
		rounds=$((rounds + 1))
	done
	expect_eq "what failed" "$(cat "$t_dir/failed")" ""
	note "$rounds readings while the timeout changed"
}

# A queue changes its worker, workers come and go: the thread shown is that of the worker shown.
test_it_is_right_while_workers_change() {
	local rounds=0
	need_workers
	start --name vm1 --scsi none --scsi-queues 2
	"$VHOSTCTL" worker create vm1/scsi0 >/dev/null
	snap vm1
	local threads changer
	threads=$(jq -c '[.vms[0].devices[0].workers[].tid]' <<<"$out")
	(for _ in {1..20}; do
		for id in 1 0; do "$VHOSTCTL" worker attach vm1/scsi0/2 "$id"; done
		"$VHOSTCTL" worker create vm1/scsi0
		"$VHOSTCTL" worker free vm1/scsi0 2
	done || echo "status $?" >&2) >"$t_dir/changes" 2>"$t_dir/failed" &
	changer=$!
	while kill -0 "$changer" 2>/dev/null; do
		snap vm1
		expect_json "$threads as \$t | [.vms[0].devices[0].queues[] | select(.worker_tid != \$t[.worker_id])]" '[]'
		expect_json '[.vms[0].devices[].errors[]]' '[]'
		rounds=$((rounds + 1))
	done
	expect_eq "what failed" "$(cat "$t_dir/failed")" ""
	note "$rounds readings while workers changed"
}

test_threads_are_those_that_kicks_wake() {
	start --net 2 --tap sa --tap sb --scsi none --scsi-queues 2 --vsock 77
	prove_threads 10
}

test_threads_in_kthread_mode() {
	[ -e /sys/module/vhost/parameters/fork_from_owner_default ] || skip "this kernel has no such mode, or no other"
	at_exit reload_vhost
	reload_vhost fork_from_owner_default=0
	start --net 2 --tap sa --tap sb --scsi none --scsi-queues 2 --vsock 77
	prove_threads 10
	expect_json '[.vms[0].devices[] | [.worker_mode, .fork_owner]] | unique' '[["kthread",false]]'
	same "$pid"
	quit
}

test_threads_with_more_workers() {
	need_workers
	start --name vm1 --scsi none --scsi-queues 6
	"$VHOSTCTL" worker create vm1/scsi0 --count 70 >/dev/null
	for q in 2 3 4; do "$VHOSTCTL" worker attach "vm1/scsi0/$q" $((q * 15)) >/dev/null; done
	prove_threads 8
	expect_json '[.vms[0].devices[0].queues[].worker_id]' '[0,0,30,45,60,0,0,0]'
	expect_json '.vms[0].devices[0].workers | length' 71
	expect_json '[.vms[0].devices[0].workers[] | select(.attachments != (.queues | length))]' '[]'
	expect_json '[.vms[0].devices[0].workers[] | select(.queues == [])] | length' 67
	expect_json '[.vms[0].devices[0].workers[].tid] | unique | length' 71
	same vm1
}

test_queues_tell_their_state() {
	start --name vm1 --net 1 --tap sa --scsi none --scsi-queues 2 --vsock 4242
	snap vm1
	expect_json "[$net | .queues[] | [.size, .set_up, .backend, .kick, .call, .tap]]" \
		'[[256,true,true,true,true,"sa"],[256,true,true,true,true,"sa"]]'
	expect_json '[.vms[0].devices[] | select(.kind == "scsi") | .queues[].index]' '[0,1,2,3]'
	expect_json '[.vms[0].devices[] | select(.kind == "vsock").cid]' '[4242]'
	expect_json '[.vms[0].devices[].owner_pid] | unique' "[$pid]"
	expect_json "[$net | .acked_feature_names[] | select(. == \"VERSION_1\" or . == \"F_VERSION_1\" or . == \"VIRTIO_F_VERSION_1\")] | length" 1
	expect_json "[$net | .zerocopy.module]" '[false]'
	ctl show vm1/scsi0 --all-queues --source snapshot
	all=$(jq '.vms[0].devices[0].queues | length' <<<"$out")
	[ "$all" -ge 130 ] || fail "$all queues"
	ctl show vm1/scsi0/100 --source snapshot
	expect_json '[.vms[0].devices[0].queues[] | [.index, .set_up]]' '[[100,false]]'
	# 20 frames go out: the tx ring's indices are 20.
	ip link set sa up
	ask send net0 20 100
	wait_for 10 sent 20 || fail "tx index: $(jq -c '.vms[0].devices[0].queues[1]' <<<"$out")"
}
sent() { snap vm1/net0/tx && [ "$(jq '.vms[0].devices[0].queues[0].last_used_idx' <<<"$out")" = "$1" ]; }

test_taps_of_two_namespaces_and_one_name() {
	start --name vm1 --net 3 --tap sa --tap sb --tap sc
	local ns
	for ns in nsa nsb; do
		ip netns add "$ns"
		at_exit ip netns del "$ns"
	done
	ip link set sa netns nsa
	ip link set sb netns nsb
	ip -n nsa link set sa name same
	ip -n nsb link set sb name same
	snap vm1
	expect_json "[$net | [.id, .tap, .tap_source]]" '[["net0","same","snapshot"],["net1","same","snapshot"],["net2","sc","snapshot"]]'
	expect_json "[$net | .tap_netns]" "[$(stat -Lc %i /run/netns/nsa),$(stat -Lc %i /run/netns/nsb),$(stat -Lc %i /proc/self/ns/net)]"
	expect_json "[$net | .tap_ifindex]" "[$(ip -n nsa -j link show same | jq '.[0].ifindex'),$(ip -n nsb -j link show same | jq '.[0].ifindex'),$(ip -j link show sc | jq '.[0].ifindex')]"
	expect_json "[$net | .tap_fd]" "$(jq -c '[.devices[].tap_fd]' <<<"$ready")"
	expect_json '.vms[0].taps | length' 3
}

test_taps_of_a_guest_with_a_macvtap() {
	ip link add dummy0 type dummy 2>/dev/null || true
	ip link set dummy0 up
	at_exit ip link del dummy0
	ip link add link dummy0 name mv0 type macvtap mode bridge
	ip link set mv0 up
	index=$(cat /sys/class/net/mv0/ifindex)
	wait_for 5 test -c "/dev/tap$index" || mknod "/dev/tap$index" c "$(tr : ' ' </sys/class/net/mv0/tap*/dev)"
	qemu_up vm1 --nics 2 --queues 2 --no-wait -- -S -netdev tap,id=mv,fd=30,vhost=on \
		-device virtio-net-pci,netdev=mv,romfile= 30<>"/dev/tap$index"
	wait_for 20 has_devices 5 || fail "QEMU did not come up: $(cat "${VM_DIR[vm1]}/log")"
	snap vm1
	# Before the driver is up nothing is known but that there are taps.
	expect_json "[$net | .tap] | unique" '[null]'
	expect_json '[.vms[0].devices[].queues[] | select(.backend)]' '[]'
	qmp vm1 cont
	wait_for 60 paired 3 || fail "pairs: $(jq -c "[$net | [.fd, .tap, .tap_source]]" <<<"$out")"
	expect_json "[$net | select(.tap_source == \"snapshot\").tap] | sort" "[\"mv0\",\"${VM_TAP[vm1]}\",\"tap1\"]"
	expect_json "[$net | select(.tap == \"mv0\").tap_fd]" '[30]'
	expect_json "[$net | select(.tap == \"mv0\").tap_ifindex]" "[$index]"
	# The rest are queue pairs that iPXE does not enable; they may be known by what is left, or not at all.
	expect_json "[$net | select(.tap_source == \"sole\" or .tap_source == \"cmdline\")]" '[]'
	same vm1
}
has_devices() { ctl list vm1 && [ "$(jq '.vms[0].devices | length' <<<"$out")" -ge "$1" ]; }
paired() { snap vm1 && [ "$(jq "[$net | select(.tap_source == \"snapshot\")] | length" <<<"$out")" = "$1" ]; }

test_a_device_with_1026_queues() {
	local n=1026

	# For as many, vhost_scsi_open() before kvmalloc() asks kmalloc() for more than it gives, which warns in the
	# kernel's log: there, the 130 that it has unasked.
	[[ $LAB_KERNEL != @(6.1|6.12|6.18) ]] || n=130
	at_exit reload_scsi
	reload_scsi max_io_vqs=$((n - 2))
	start --name vm1 --scsi none --scsi-queues 5
	ctl show vm1 --source snapshot --all-queues
	expect_status 0
	expect_json '[.vms[0].devices[0].queues[].index] == [range('"$n"')]' true
	expect_json '[.vms[0].devices[0].queues[].worker_tid] | unique | length' 1
	expect_json '.vms[0].devices[0].workers[0].queues | length' "$n"
	snap vm1
	expect_json '[.vms[0].devices[0].queues[].index]' '[0,1,2,3,4,5,6]'
	same vm1
	quit
}

# Every VM has its devices and threads of its own, before, while and after others come and go.
test_many_devices_while_others_come_and_go() {
	local n=${SNAP_VMS:-50} churners=${SNAP_CHURNERS:-8} i first before
	mkfifo "$t_dir/hold"
	exec 9<>"$t_dir/hold"
	for ((i = 0; i < n; i++)); do
		"$vmm" --name "many$i" --net 2 --vsock $((1000 + i)) --busyloop "$i" <&9 >>"$t_dir/many" &
	done
	at_exit end_jobs
	wait_for 100 all_there "$n" || fail "$(wc -l <"$t_dir/many") of $n are there"
	# Closing is mostly waiting for RCU: so several, and no longer than needed.
	echo 1 >/sys/kernel/rcu_expedited
	at_exit eval 'echo 0 >/sys/kernel/rcu_expedited'
	for ((i = 0; i < churners; i++)); do
		"$BUILD/tests/churn" "$t_dir/cycles$i" &
		at_exit kill $!
	done
	wait_for 60 test -s "$t_dir/cycles0" || fail "nothing is opened and closed"
	before=$(cycles) first=$EPOCHREALTIME
	for ((i = 0; i < ${SNAP_CHURN:-5}; i++)); do
		ctl show --all --source snapshot
		expect_status 0
		jq -c '[.vms[] | select(.name and (.name | startswith("many")))]' <<<"$out" >"$t_dir/all"
		expect_eq "VMs" "$(jq length "$t_dir/all")" "$n"
		expect_eq "wrong rows" "$(jq -c '[.[] | . as $vm | (.name[4:] | tonumber) as $i |
			select((.devices | length) != 3 or ([.devices[].errors[]] | length) != 0 or
			([.devices[] | select(.kind == "net").queues[].busyloop_usecs] | unique) != [$i] or
			([.devices[] | select(.kind == "vsock").cid]) != [1000 + $i] or
			([.devices[].queues[].worker_tid] | unique | length) != 3 or
			([.devices[].owner_pid] | unique) != [$vm.pid] or
			([.devices[].queues[].worker_tid] | unique) != ([.worker_threads[].tid] | sort))]' "$t_dir/all")" '[]'
	done
	expect_eq "processes that open and close" "$(jobs -l | grep -c churn)" "$churners"
	note "$n VMs, $i readings beside open/close cycles: $(awk -v a="$first" -v b="$EPOCHREALTIME" -v n=$(($(cycles) - before)) \
		'BEGIN { printf "%d, %d a second", n, n / (b - a) }')"
}
cycles() { awk '{ n += $1 } END { print n + 0 }' "$t_dir"/cycles*; }
end_jobs() { jobs -p | xargs -r kill; }
all_there() { [ "$(wc -l <"$t_dir/many")" = "$1" ]; }

test_capabilities_without_root() {
	chmod 666 /dev/vhost-net /dev/vhost-vsock
	mkfifo "$t_dir/in"
	chmod 666 "$t_dir/in"
	exec 9<>"$t_dir/in"
	setpriv --reuid 4321 --regid 4321 --clear-groups "$vmm" --name vmu --net 1 --vsock 99 <&9 >"$t_dir/started" &
	at_exit kill $!
	wait_for 20 test -s "$t_dir/started" || fail "the VMM did not start"
	as_user() { run setpriv --reuid 4321 --regid 4321 --clear-groups --inh-caps "$1" --ambient-caps "$1" "$VHOSTCTL" "${@:2}"; }
	as_user +bpf,+perfmon show vmu --source snapshot
	expect_status 0
	expect_json '[.vms[0].devices[].queues[] | select(.worker_tid == null)]' '[]'
	expect_json '[.vms[0].devices[].errors[]]' '[]'
	as_user +bpf show vmu --source snapshot
	expect_status 4
	expect_match err 'CAP_BPF and CAP_PERFMON'
	expect_eq "stdout" "$out" ""
	as_user +bpf show vmu
	expect_status 0
	expect_json .source '"owner"'
	as_user +bpf check
	expect_json '.checks[] | select(.name == "snapshot").ok' false
	expect_json '.checks[] | select(.name == "snapshot").reason | test("CAP_BPF and CAP_PERFMON")' true
}

test_without_type_information() {
	start --name vm1 --net 1 --tap sa
	hidden() { run unshare -m bash -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' - "$VHOSTCTL" "$@"; }
	hidden show vm1 --source snapshot
	expect_status 5
	expect_match err '/sys/kernel/btf/vmlinux'
	hidden show vm1
	expect_status 0
	expect_json .source '"owner"'
	hidden list vm1
	expect_status 0
	expect_json .source null
	hidden check
	expect_json '.checks[] | select(.name == "snapshot").reason | test("/sys/kernel/btf/vmlinux")' true
}

test_the_cache_is_used_and_not_trusted() {
	local cache=/run/vhostctl/offsets
	start --name vm1 --net 1 --tap sa
	rm -rf /run/vhostctl
	expect_parsed() {
		run strace -f -qq -e trace=openat -o "$t_dir/trace" "$VHOSTCTL" show vm1
		expect_eq "parsed $1" "$(grep -c '"/sys/kernel/btf/vmlinux"' "$t_dir/trace" || true)" "$2"
	}
	expect_parsed first 1
	expect_parsed again 0
	expect_eq "mode" "$(stat -c '%a %u' "$cache")" "644 0"
	sed -i '5s/$/1/' "$cache"
	expect_parsed "when damaged" 1
	chown 4321 "$cache"
	expect_parsed "when foreign" 1
	expect_parsed "after that" 0
	snap vm1
	expect_json "[$net | .tap]" '["sa"]'
}

test_no_kernel_address_is_printed() {
	start --name vm1 --net 2 --tap sa --tap sb --scsi none --vsock 77
	for command in "show -v --all-queues vm1" "list -v vm1" "check"; do
		# shellcheck disable=SC2086
		ctl $command
		! grep -qiE '(0x)?ffff[89a-f][0-9a-f]{11}|1844[0-9]{16}|-[0-9]{13,}' <<<"$out$err" || fail "an address"
	done
}

run_cases
