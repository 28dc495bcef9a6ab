/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process's command line: NUL-separated bytes that the process may rewrite at
 * will. Pure functions over a buffer that is NUL-terminated past its end, as
 * proc_read() gives it. How QEMU reads each spelling was tried on QEMU 7.2.
 */
#ifndef CMDLINE_H
#define CMDLINE_H

#include <stdbool.h>
#include <stddef.h>

/* What grammar the arguments follow. */
enum vmm { VMM_OTHER, VMM_QEMU, VMM_KVMTOOL, VMM_CROSVM };

enum vmm cmdline_vmm(const char *data, size_t len);

/* Next argument; *pos starts at 0. NULL at the end. */
const char *cmdline_next(const char *data, size_t len, size_t *pos);

/*
 * Next option of a QEMU command line: @name without its dashes, @value NULL for an
 * option that takes none. Values are skipped over, so none is taken for an option.
 */
bool cmdline_next_option(const char *data, size_t len, size_t *pos, const char **name,
			 const char **value);

/* A value of the form "a,key=value,..." (a doubled comma stands for one) or a JSON object. */
struct keyvals {
	const char *p;		/* what is still to be read */
	const char *implied;	/* key of a first value that has none */
	bool json;
};

struct keyvals keyvals_start(const char *text, const char *implied_key, bool json_allowed);

/* Next pair, both to be freed; false at the end and where the text is broken. */
bool keyvals_next(struct keyvals *kv, char **key, char **value);

#endif
