/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes of this host are VMs, and what each has. Nothing is stopped, opened or
 * borrowed; it takes the right to read /proc/PID/fd (own processes, or CAP_SYS_PTRACE).
 *
 * A VM is a process that holds a vhost device. One that holds taps only is a VM if it holds
 * a KVM VM or vCPU, or its command line is QEMU's; others (openvpn) just use a tap.
 */
#ifndef SCAN_H
#define SCAN_H

#include <sys/types.h>

#include "state.h"

/*
 * All VMs, by pid. Processes that vanish meanwhile are skipped. Those that could not be
 * looked into leave one error with STATUS_DENIED in s->errors (scan_denied()), and one with
 * STATUS_FAILED (scan_failed()) if it was for another reason than rights, such as a want of descriptors.
 */
int scan_host(struct state *s, struct error *e);

/* The same of these processes alone. What one of them shares with one that is not among them is not seen. */
int scan_some(const pid_t *pids, size_t n, struct state *s, struct error *e);

/*
 * Add the VM that process @pid is; here a tap is enough. STATUS_NOT_FOUND when there is no
 * such process or it holds neither device nor tap, STATUS_DENIED when it may not be read,
 * STATUS_FAILED when it could not be.
 */
int scan_pid(pid_t pid, struct state *s, struct error *e);

/* The same as scan_host() would see of it: STATUS_NOT_FOUND when it is no VM. */
int scan_vm(pid_t pid, struct state *s, struct error *e);

/* Only the kernel's release, for a state of which nothing was scanned. */
void scan_kernel(struct state *s);

/* The error of @s that says that some processes could not be looked into; NULL if all could. */
const struct error *scan_denied(const struct state *s);
/* The same of some that could not be, for want of descriptors or memory. */
const struct error *scan_failed(const struct state *s);
/* -1 with that error as @e, for who cannot do with a part. */
int scan_check(const struct state *s, struct error *e);
/* A VM whose command line could not be read, so that nobody can tell whether a name is its; NULL: none is. */
const struct vm *scan_unnamed(const struct state *s);

/*
 * A process whose command line names it @text, or a beginning of @text that a slash follows, and
 * which we may not look into; 0 if there is none. For when a VM was not found: everybody may
 * read a command line.
 */
pid_t scan_find_denied(const char *text);

#endif
