/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one error of a run: filled where something fails, given context on the
 * way up, printed once by main as "vhostctl: TARGET: what failed: why; what to do".
 */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>

/* Exit statuses of the program: part of the contract with scripts. */
enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,	/* the kernel or the VM refused or failed */
	STATUS_USAGE = 2,	/* usage, or a bad policy */
	STATUS_NOT_FOUND = 3,	/* no such VM, device, queue, ...; or ambiguous */
	STATUS_DENIED = 4,	/* not permitted */
	STATUS_UNSUPPORTED = 5,	/* not supported by this kernel or device */
	STATUS_ROLLBACK = 6,	/* failed, and putting back failed too */
};

struct error {
	enum status status;
	int errnum;		/* the errno behind it, 0 when no system call failed */
	char target[160];	/* "vm1/net0/tx"; "" when it concerns no target */
	char operation[96];	/* what failed: "set busy-loop timeout" */
	char message[640];	/* why, and after "; " what to do; cut with dots if too long */
};

#define ERROR_INIT ((struct error){ .status = STATUS_OK })

/*
 * Fill @e and return -1, so that callers can write "return error_set(...)".
 * @operation may be NULL. The status of an errno: error_status().
 */
int (error_set)(struct error *e, enum status status, int errnum, const char *operation,
	      const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* As error_set(), with the status that @errnum calls for and strerror's words, then @hint if any. */
int (error_errno)(struct error *e, int errnum, const char *operation, const char *hint);

/* Put @fmt, which brings its "; ", behind the message there is; the status becomes @status. Returns -1. */
int (error_append)(struct error *e, enum status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Name the target of an error if nobody below did. Always returns -1. */
int (error_target)(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* That they return -1 is seen by who looks at one file alone: compilers, analyzers. */
static inline int error_failed(int always)
{
	(void)always;
	return -1;
}
#define error_set(...) error_failed((error_set)(__VA_ARGS__))
#define error_errno(...) error_failed((error_errno)(__VA_ARGS__))
#define error_append(...) error_failed((error_append)(__VA_ARGS__))
#define error_target(...) error_failed((error_target)(__VA_ARGS__))

/* EPERM, EACCES: 4; ENOTTY, EOPNOTSUPP, ENOSYS: 5; ENOENT, ESRCH: 3; the rest: 1. */
enum status error_status(int errnum);

/* "EPERM" for EPERM; NULL for 0 and for numbers with no name. */
const char *error_name(int errnum);

#endif
