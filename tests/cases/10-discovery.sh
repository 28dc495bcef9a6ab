#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# What list and check find: devices by number, names, taps, workers, shared files, rights.
# shellcheck disable=SC2317 # run_cases calls the functions
# shellcheck source=tests/lib.sh
. "$TOP/tests/lib.sh"

nobody=65534
uuid=11111111-2222-3333-4444-555555555555
declare -A pids

# start NAME COMMAND…: in the background, with an stdin that never ends; its pid in pids[NAME].
start() {
	local name=$1
	shift
	"$@" <&"$open_end" >"$t_dir/$name.out" 2>"$t_dir/$name.err" &
	pids[$name]=$!
	at_exit kill "$!"
}

# python NAME CODE: a process that runs CODE and waits, once CODE has printed a line.
python() {
	start "$1" python3 -c "import os, sys, ctypes
$2
print('ready', flush=True)
sys.stdin.read()"
	wait_for 20 test -s "$t_dir/$1.out"
}

vmm() {
	local name=$1
	shift
	start "$name" "$BUILD/tests/vmm" --name "$@"
	wait_for 20 test -s "$t_dir/$name.out"
}

qemu() {
	local name=$1
	shift
	start "$name" qemu-system-x86_64 -M q35 -accel tcg -nodefaults -display none -S "$@"
}

setup() {
	local i
	exec {open_end}<> <(:)
	ip tuntap add tapa mode tap vnet_hdr
	ip tuntap add tapm mode tap vnet_hdr multi_queue
	ip tuntap add tapv mode tap
	ip link add dum0 type dummy
	ip link add link dum0 name mvt0 type macvtap
	ip link set dum0 up
	ip link set mvt0 up
	for i in tapa tapm tapv mvt0 dum0; do at_exit ip link del "$i"; done
	i=$(</sys/class/net/mvt0/ifindex)
	vmm v1 $'v\n1' --net 1 --tap tapa --scsi none --vsock 50 --fork-holder
	vmm v2 'v/2' --net 1 --tap tapm --queues 2 --pass-fds
	exec 40<>"/dev/tap$i" 41<>/dev/vhost-net
	qemu q -name guest=q,,1,debug-threads=on -uuid "${uuid^^}" \
		-netdev tap,id=a,fd=40,vhost=on,vhostfd=41 -device virtio-net-pci,netdev=a,romfile= \
		-netdev tap,id=b,ifname=tapq,script=no,downscript=no,vhost=on -device virtio-net-pci,netdev=b,romfile= \
		-kernel /usr/lib/ipxe/ipxe.lkrn -append -name
	exec 40>&- 41>&-
	qemu novhost -name novhost \
		-netdev tap,id=b,ifname=tapn,script=no,downscript=no -device virtio-net-pci,netdev=b,romfile=
	mknod "$t_dir/null" c "$((0x$(stat -c %t /dev/vhost-net)))" "$((0x$(stat -c %T /dev/vhost-net)))"
	python byname "os.open('$t_dir/null', os.O_RDWR)
ctypes.CDLL(None).prctl(15, b') R (\x1b')"
	python opath "os.open('/dev/vhost-net', os.O_PATH)"
	python vpn "import fcntl, struct
fd = os.open('/dev/net/tun', os.O_RDWR)
fcntl.ioctl(fd, 0x400454ca, struct.pack('16sH22x', b'tapv', 0x1002))"
	wait_for 60 listed "${pids[novhost]}" 1
	wait_for 60 listed "${pids[q]}" 2
}

listed() { [ "$("$VHOSTCTL" list "$1" | jq '.vms[0] | (.devices + .taps | length) >= '"$2")" = true ]; }

# vm PID FILTER VALUE, of what list says
expect_vm() { expect_json ".vms[] | select(.pid == $1) | $2" "$3"; }

test_list_has_the_VMs_and_no_other_process() {
	ctl list
	expect_status 0
	expect_json '[.vms[].pid] | sort' \
		"$(printf '%s\n' "${pids[v1]}" "${pids[v2]}" "${pids[q]}" "${pids[novhost]}" "${pids[byname]}" |
			jq -sc sort)"
	expect_json '.errors' '[]'
	expect_json '.source | IN(null, "snapshot")' true # by what is built in
}

test_devices_have_the_ids_and_fds_that_the_VMM_says() {
	ctl list
	for name in v1 v2; do
		expect_vm "${pids[$name]}" '[.devices[] | [.id, .fd]]' \
			"$(jq -c '[.devices | sort_by(.fd)[] | [.id, .fd]]' "$t_dir/$name.out")"
		expect_vm "${pids[$name]}" '[.devices[] | .tap]' \
			"$(jq -c '[.devices | sort_by(.fd)[] | .tap]' "$t_dir/$name.out")"
	done
	expect_vm "${pids[v2]}" '[.devices[].tap_source | IN("sole", "snapshot")]' '[true,true]'
	expect_vm "${pids[v2]}" '[.taps[] | [.ifname, (.fds | length), .macvtap]]' '[["tapm",2,false]]'
}

test_names_and_uuids_are_those_of_the_command_line() {
	ctl list
	expect_vm "${pids[v1]}" .name '"v\n1"'
	expect_vm "${pids[q]}" '[.name, .uuid]' "[\"q,1\",\"$uuid\"]"
	expect_vm "${pids[byname]}" '[.name, .comm]' '[null,") R (\u001b"]'
	ctl list v/2
	expect_json '[.vms[].pid]' "[${pids[v2]}]"
	ctl list "${uuid^^}"
	expect_json '[.vms[].pid]' "[${pids[q]}]"
}

test_devices_are_known_by_number_whatever_their_path() {
	ctl list "${pids[byname]}"
	expect_json '.vms[0].devices[] | [.id, .kind, .path]' "[\"net0\",\"net\",\"$t_dir/null\"]"
}

test_taps_are_paired_by_numbered_fds_and_else_unknown() {
	ctl list q,1
	expect_json '[.vms[0].devices[] | select(.fd == 41) | .tap, .tap_source]' '["mvt0","cmdline"]'
	expect_json '[.vms[0].devices[] | select(.fd != 41) | .tap, .tap_source]' '[null,null]'
	expect_json '.vms[0].taps | map([.ifname, .macvtap]) | sort' '[["mvt0",true],["tapq",false]]'
	ctl list novhost
	expect_json '.vms[0] | [.devices, [.taps[].ifname], .worker_threads]' '[[],["tapn"],[]]'
}

test_a_process_that_shares_the_files_is_a_holder_and_no_VM() {
	holder=$(jq .holder "$t_dir/v1.out")
	manager=$(jq .manager "$t_dir/v2.out")
	ctl list
	expect_vm "${pids[v1]}" '[.devices[].holders] | unique' "[[$holder]]"
	expect_vm "${pids[v2]}" '[.devices[].holders] | unique' "[[$manager]]"
	expect_json "[.vms[] | select(.pid == $holder or .pid == $manager)]" '[]'
}

test_workers_are_the_threads_that_the_kernel_runs() {
	ctl list
	for name in v1 v2; do
		if [ "$LAB_KERNEL" = 6.1 ]; then
			want=$(pgrep -x "vhost-${pids[$name]}")
		else
			want=$(grep -lx "vhost-${pids[$name]}" /proc/"${pids[$name]}"/task/*/comm | cut -d/ -f5)
		fi
		expect_vm "${pids[$name]}" '[.worker_threads[].tid] | sort' "$(jq -sc sort <<<"$want")"
		expect_vm "${pids[$name]}" '[.worker_threads[] | [.comm, .policy, .nice, .cpus, (.cpu_ns > 0)]] | unique' \
			"[[\"vhost-${pids[$name]}\",\"other\",0,$(sed -n 's/^Cpus_allowed_list:\t\(.*\)/"\1"/p' /proc/self/status),true]]"
	done
}

test_an_ordinary_user_is_told_what_could_not_be_read() {
	run setpriv --reuid "$nobody" --regid "$nobody" --clear-groups "$VHOSTCTL" list
	expect_status 0
	expect_json '[.vms, .errors[0].code]' '[[],"EACCES"]'
	for target in "${pids[v1]}" v/2; do
		run setpriv --reuid "$nobody" --regid "$nobody" --clear-groups "$VHOSTCTL" list "$target"
		expect_status 4
		expect_eq stdout "$out" ''
	done
	run setpriv --reuid "$nobody" --regid "$nobody" --clear-groups "$VHOSTCTL" list nosuchvm
	expect_status 3
}

test_what_is_no_VM_is_not_found() {
	for target in nosuchvm 1 99999999 "${pids[opath]}"; do
		ctl list "$target"
		expect_status 3
		expect_eq stdout "$out" ''
	done
}

test_a_list_touches_nobody() {
	run strace -f -o "$t_dir/strace" -e signal=none -e trace=ptrace,pidfd_getfd,process_vm_writev,process_vm_readv,kill,ioctl "$VHOSTCTL" list
	expect_status 0
	expect_eq "system calls that touch a VM" "$(grep -vcE '^[0-9]+ +(\+\+\+|ioctl\([012], TC)' "$t_dir/strace" || true)" 0
}

# A process that ends closes its files one by one: those that are left to be looked at are not the VM.
test_a_VM_that_ends_meanwhile_is_not_seen_in_part() {
	local i taps=()
	for i in 0 1 2 3 4 5 6 7; do taps+=(--plain-tap "end$i"); done
	vmm ending ending --net 1 --tap end "${taps[@]}"
	ctl list "${pids[ending]}"
	expect_json '.vms[0].taps | length' 9
	strace -qq -y -o "$t_dir/strace" -e signal=none -e trace=readlinkat -e inject=readlinkat:delay_enter=200000 \
		"$VHOSTCTL" list >"$t_dir/list" &
	at_exit kill $!
	wait_for 30 grep -qs "/${pids[ending]}/fd>.*\"/dev/net/tun\"" "$t_dir/strace"
	kill -KILL "${pids[ending]}"
	wait $!
	out=$(<"$t_dir/list")
	expect_json "[.vms[] | select(.pid == ${pids[ending]}) | .taps | length]" '[]'
	expect_json '.vms | length > 3' true
}

test_check_tells_the_host_and_what_hinders() {
	ctl check
	expect_status 0
	expect_json '[.checks[] | select(.name | test("^vhost_(net|scsi|vsock)$")) | .ok] | unique' '[true]'
	expect_json '.vms' '[]'
	case $LAB_KERNEL in
	6.1) expect_json '.checks[] | select(.name == "worker_ioctls") | .ok' false ;;
	6.*) expect_json '.checks[] | select(.name == "worker_ioctls") | .ok' true ;;
	esac
	ctl check "${pids[byname]}"
	expect_json '[.vms[0].checks[] | select(.ok == false)]' '[]'
	kill -STOP "${pids[byname]}"
	ctl check "${pids[byname]}"
	kill -CONT "${pids[byname]}"
	expect_json '[.vms[0].checks[] | select(.ok == false) | .name]' '["not_stopped"]'
}

run_cases
