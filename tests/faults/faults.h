/* SPDX-License-Identifier: GPL-2.0-or-later */
/* faults: runs a command again and again, and each time one of its system calls fails. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SITES_MAX 4096
#define SITE_TEXT 160

/*
 * A place where a system call is made, as far as can be told from outside: which of the command's processes,
 * the call, what it is about (path, request, file), and the how-manieth such one it is.
 */
struct site {
	int process;		/* 0: the command; 1: its first child, ... */
	long nr;
	char about[SITE_TEXT];
	unsigned int nth;
};

/* site.c */
struct seen;		/* counts the calls of one run */
struct seen *seen_new(void);
void seen_free(struct seen *s);
void site_of_call(struct seen *s, pid_t pid, int process, long nr, const uint64_t args[6], struct site *out);
bool site_equal(const struct site *a, const struct site *b);
const char *site_name(const struct site *s, char *buf, size_t size);
/* The errnos that the manual of this call lists, 0 at the end; NULL: the call cannot fail, or is not in the table. */
const int *site_errnos(long nr, bool *known);
const char *errno_name(int errnum);

/* run.c */
struct run {
	/* what to do: at @fail (or nowhere: NULL) the call is not made and gives -@errnum */
	const struct site *fail;
	int errnum;
	/* where every call is noted, or NULL */
	struct site *sites;
	size_t n_sites, n_calls;
	/* what came of it */
	bool reached, hung;
	int status;		/* as waitpid() has it */
	char out[1 << 20], err[1 << 16];
};

void run_command(char *const argv[], struct run *r);
/* What a shell command prints; ends the program when it fails. */
void shell(const char *command, char *out, size_t size);

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
