# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced: where the kernels and images live. Outside the tree, so that `make clean` costs no download.
LAB_CACHE=${VHOSTCTL_LAB_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/vhostctl-lab}

# with_lock NAME: holds an exclusive lock until the calling (sub)shell ends.
with_lock() {
	mkdir -p "$LAB_CACHE"
	exec {lab_lock_fd}>"$LAB_CACHE/.lock-$1"
	flock "$lab_lock_fd"
}
