/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of /proc. The proc_parse_*() functions are pure: they look at a buffer,
 * never at the system, and believe nothing of what it holds (a process chooses its
 * own comm, command line and cgroup name). The proc_read*() ones read below a
 * directory fd: /proc itself, /proc/PID or /proc/PID/task/TID.
 */
#ifndef PROCFS_H
#define PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* include/linux/sched.h: flags of a task as field 9 of stat shows them. */
#define PROC_PF_EXITING 0x00000004u
#define PROC_PF_IO_WORKER 0x00000010u
#define PROC_PF_USER_WORKER 0x00004000u	/* 6.4+: a thread the kernel runs for its process */
#define PROC_PF_KTHREAD 0x00200000u

/* Bytes of one file; NUL-terminated past @len, and may hold NULs within. */
struct proc_text {
	char *data;
	size_t len;
	bool truncated;		/* the file goes on past the bound it was read with */
};

/* Read @path below @dirfd, at most @max bytes. -1 and errno on failure. Free data with free(). */
int proc_read(int dirfd, const char *path, size_t max, struct proc_text *text);

/* An errno that says nothing of the process: this system is out of descriptors, memory or processes. */
bool proc_is_shortage(int errnum);

/* What a symbolic link below @dirfd says, as an allocated string; NULL and errno on failure. */
char *proc_readlink(int dirfd, const char *path);

static inline void cleanup_proc_text(struct proc_text *text)
{
	__builtin_free(text->data);
}
#define _cleanup_proc_text_ __attribute__((cleanup(cleanup_proc_text)))

struct proc_stat {
	pid_t pid;		/* of a task: its TID */
	char comm[64];
	char state;		/* R S D T t Z X I */
	pid_t ppid;
	unsigned int flags;	/* PROC_PF_* */
	int nice;
	uint64_t user_ticks, system_ticks;	/* of _SC_CLK_TCK; a process's are all its threads' */
	uint64_t start_time;	/* clock ticks since boot */
	unsigned int policy;	/* SCHED_* */
	uint64_t guest_ticks;	/* of user_ticks, those that a virtual CPU ran (KVM) */
};

int proc_parse_stat(const char *buf, size_t len, struct proc_stat *st);
int proc_read_stat(int dirfd, const char *path, struct proc_stat *st);

/*
 * Has the process of that /proc/PID ended, or does it end? Then it closes its files one by one, which can
 * take a second where there are many. Told by its first thread: of one that lives on without it,
 * /proc/PID/fd shows no file either. False as well when there is no telling.
 */
bool proc_is_ending(int pid_fd);

/* Have we that capability (CAP_*)? 0 or 1; UNKNOWN (state.h) when /proc/self/status does not tell. */
int64_t proc_has_capability(unsigned int capability);

/*
 * Value of the line "NAME:<blanks>VALUE" in a status or fdinfo file. It points
 * into @buf and is not terminated. NULL when there is no such line.
 */
const char *proc_field(const char *buf, size_t len, const char *name, size_t *value_len);
/* The same as a number in @base; UNKNOWN (state.h) when there is none. */
int64_t proc_field_number(const char *buf, size_t len, const char *name, int base);
/* The same as an allocated string, or NULL. */
char *proc_field_string(const char *buf, size_t len, const char *name);

/* Path in the unified hierarchy ("0::"), else of the first line; NULL when there is none. */
char *proc_parse_cgroup(const char *buf, size_t len);
/* Only the first of these. */
char *proc_parse_cgroup_v2(const char *buf, size_t len);
/* The same in the hierarchy of the first version that has @controller; NULL: none has it. */
char *proc_parse_cgroup_v1(const char *buf, size_t len, const char *controller);

/*
 * The first two numbers of a schedstat file: ns on a CPU, and ns that it could have run but waited for one.
 * -1 if there are none, and both stay as they are.
 */
int proc_parse_schedstat(const char *buf, size_t len, int64_t *run_ns, int64_t *wait_ns);

/* Inode number of a namespace link, "net:[4026531840]". UNKNOWN if it is none. */
int64_t proc_parse_ns(const char *link);

/*
 * Whether our namespace @path ("/proc/self/ns/pid") is the one the host started with, whose inode is @first:
 * the PROC_..._INIT_INO of include/linux/proc_ns.h. Without such namespaces it is.
 */
bool proc_in_first_ns(const char *path, uint64_t first);

/* One line of maps. @path points into the line: "" for anonymous memory. */
struct proc_map {
	uint64_t start, end, offset, inode;
	bool read, write, exec, shared;
	const char *path;
	size_t path_len;
};

int proc_parse_map(const char *line, size_t len, struct proc_map *map);

/* Next line of a buffer, without its newline; *pos starts at 0. NULL at the end. */
const char *proc_next_line(const char *buf, size_t len, size_t *pos, size_t *line_len);

/* Name of a scheduling policy as `chrt` and state.h spell it; "" if unknown. */
const char *proc_policy_name(unsigned int policy);

/* Decimal number that is the whole of @s: false for signs, blanks, an empty one, overflow. */
bool proc_number(const char *s, size_t len, uint64_t max, uint64_t *value);

#endif
