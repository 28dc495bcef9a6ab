# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# PID 1 of the lab, on the machine's own root: makes the rest of a small Linux, runs what was asked, powers off.
# shellcheck source=/dev/null
. /run/lab/env
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 LAB_OUT=/run/lab

mount -t proc proc /proc
mount -t sysfs sys /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666,gid=5 devpts /dev/pts
mount -t tmpfs shm /dev/shm
for d in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do ln -sfn "/proc/self/${d#*:}" "/dev/${d%:*}"; done
ln -sfn /proc/mounts /etc/mtab
mkdir -p /run/lock "/lib/modules/$LAB_RELEASE"
mount --bind "$LAB_CACHE/$LAB_KERNEL/lib/modules/$LAB_RELEASE" "/lib/modules/$LAB_RELEASE"
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
mount -t securityfs security /sys/kernel/security
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup /sys/fs/cgroup
hostname lab
ip link set lo up

# What is written goes out through a virtio port: a UART costs an exit per byte. By way of cat, since a
# port can be opened once only and programs may open /dev/stderr again.
for p in /sys/class/virtio-ports/*; do
	if [ "$(<"$p/name")" = out ]; then port=/dev/${p##*/}; fi
done
exec {console}>&1 > >(exec cat >"$port") 2>&1 </dev/null
cat=$!

cut -d' ' -f1 /proc/uptime >/run/lab/up
bash "$TOP/tests/lab/inside.sh" {console}>&-
echo $? >/run/lab/status
exec >&"$console" 2>&1
# What still runs would hold the pipe, and this boot, open.
for p in /proc/[0-9]*; do
	p=${p#/proc/}
	[ "$p" = $$ ] || [ "$p" = "$cat" ] || kill -KILL "$p" 2>/dev/null
done
wait "$cat"
umount /run/lab
sync
echo o >/proc/sysrq-trigger
sleep 10
