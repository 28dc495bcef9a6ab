// SPDX-License-Identifier: GPL-2.0-or-later
#include "owner_code.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "child.h"
#include "procfs.h"
#include "util.h"

#define TEXT_CHUNK (1u << 20)
#define TEXT_OVERLAP 16		/* longer than any gadget */
#define TEXT_MAX (256u << 20)	/* of code looked through; libc comes first and has it all */
#define MAP_MAX (1ull << 30)	/* of one mapping: address space without memory costs a VM nothing */
#define SEARCH_MS 5000

#define PAGE_IN_MEMORY (1ull << 63)	/* Documentation/admin-guide/mm/pagemap.rst */

static const char *const operation = "run a call in the VM's context";

/* What the child that searches shares with us. */
struct found {
	struct arch_gadgets g;
	int errnum;		/* why it could not read the memory */
};

struct search {
	int proc_fd;
	int mem, pagemap;	/* pagemap is -1 when all pages are looked at */
	const struct proc_text *maps;
	size_t budget, page;
	unsigned char *text;	/* TEXT_CHUNK bytes */
	struct found *found;
};

static bool is_libc(const struct proc_map *m)
{
	static const char *const marks[] = { "/libc.so", "/libc-", "/ld-musl-" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (memmem(m->path, m->path_len, marks[i], strlen(marks[i])))
			return true;
	return false;
}

static bool is_code(const struct proc_map *m)
{
	static const char vsyscall[] = "[vsyscall]";

	return m->read && m->exec && !m->write &&
	       (m->path_len != sizeof(vsyscall) - 1 || memcmp(m->path, vsyscall, m->path_len));
}

/* Looks through some code; false when there is no use looking on. */
static bool search_range(struct search *s, uint64_t at, uint64_t end)
{
	while (at < end && s->budget) {
		size_t want = end - at < TEXT_CHUNK ? end - at : TEXT_CHUNK;
		ssize_t got = pread(s->mem, s->text, want, (off_t)at);

		if (got <= 0)
			return true;
		s->budget -= (size_t)got < s->budget ? (size_t)got : s->budget;
		if (arch_find_gadgets(s->text, (size_t)got, at, &s->found->g))
			return false;
		if ((size_t)got <= TEXT_OVERLAP)
			return true;
		/* The next piece starts a little before this one's end: nothing falls between. */
		at += (size_t)got == end - at ? (size_t)got : (size_t)got - TEXT_OVERLAP;
	}
	return s->budget > 0;
}

/* The same of what is in memory of it. */
static bool search_present(struct search *s, uint64_t start, uint64_t end)
{
	uint64_t entries[512];
	uint64_t run = 0;	/* start of the pages found in memory, 0: none */

	for (uint64_t at = start; at < end; at += ARRAY_SIZE(entries) * s->page) {
		uint64_t n = (end - at) / s->page;
		ssize_t got;

		if (n > ARRAY_SIZE(entries))
			n = ARRAY_SIZE(entries);
		got = pread(s->pagemap, entries, n * sizeof(*entries),
			    (off_t)(at / s->page * sizeof(*entries)));
		if (got != (ssize_t)(n * sizeof(*entries)))
			break;
		for (uint64_t i = 0; i < n; i++) {
			uint64_t page = at + i * s->page;

			if (entries[i] & PAGE_IN_MEMORY) {
				run = run ? run : page;
				continue;
			}
			if (run && !search_range(s, run, page))
				return false;
			run = 0;
		}
		if (run && !search_range(s, run, at + n * s->page))
			return false;
		run = 0;
	}
	return s->budget > 0;
}

static void search_maps(struct search *s)
{
	for (int libc = 1; libc >= 0; libc--) {
		const char *line;
		size_t pos = 0, len;

		while ((line = proc_next_line(s->maps->data, s->maps->len, &pos, &len))) {
			struct proc_map m;
			uint64_t end;

			if (proc_parse_map(line, len, &m) < 0 || !is_code(&m) || is_libc(&m) != libc)
				continue;
			end = m.end - m.start > MAP_MAX ? m.start + MAP_MAX : m.end;
			if (!(s->pagemap >= 0 ? search_present(s, m.start, end)
					      : search_range(s, m.start, end)))
				return;
		}
	}
}

static bool is_whole(const struct arch_gadgets *g)
{
	return g->syscall && g->sigreturn;
}

/* The child: what is in memory first, then all. Even to open it can wait for a lock that the VM has. */
static void search(void *arg)
{
	struct search *s = arg;

	s->mem = openat(s->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	if (s->mem < 0) {
		s->found->errnum = errno;
		return;
	}
	s->pagemap = openat(s->proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
	/* Who may be left behind must not keep a pipe or a lock of ours. */
	if (dup2(s->mem, 0) < 0 || (s->pagemap >= 0 && dup2(s->pagemap, 1) < 0) ||
	    close_range(2, UINT_MAX, 0))
		_exit(1);
	s->mem = 0;
	s->text = xcalloc(1, TEXT_CHUNK);
	s->budget = TEXT_MAX;
	if (s->pagemap >= 0) {
		s->pagemap = 1;
		search_maps(s);
	}
	if (!is_whole(&s->found->g)) {
		s->pagemap = -1;
		s->budget = TEXT_MAX;
		search_maps(s);
	}
}

/* @g as far as it was found. -1 when the memory could not be read, or the child did not come to an end. */
static int search_in_child(struct search *s, struct arch_gadgets *g, struct error *e)
{
	struct found found;
	int errnum;

	s->found = child_share(sizeof(*s->found));
	if (!s->found)
		return error_errno(e, errno, operation, NULL);
	errnum = child_run(search, s, SEARCH_MS);
	found = *s->found;
	munmap(s->found, sizeof(*s->found));
	*g = found.g;
	switch (errnum) {
	case 0:
		if (!found.errnum)
			return 0;
		return error_errno(e, found.errnum, operation,
				   "its memory cannot be read: root (CAP_SYS_PTRACE) is needed, and "
				   "kernel.yama.ptrace_scope below 3");
	case ETIMEDOUT:
		return error_set(e, STATUS_FAILED, ETIMEDOUT, operation,
				 "reading its code takes too long (is it on a file system that does "
				 "not answer?)");
	case ECHILD:
		return error_set(e, STATUS_FAILED, 0, operation, "the process that reads its code was ended");
	default:
		return error_errno(e, errnum, operation, NULL);
	}
}

int owner_code_find(int proc_fd, const struct proc_text *maps, struct arch_gadgets *g, struct error *e)
{
	struct search s = { .proc_fd = proc_fd, .maps = maps, .page = (size_t)sysconf(_SC_PAGESIZE) };

	if (search_in_child(&s, g, e) < 0)
		return -1;
	if (is_whole(g))
		return 0;
	return error_set(e, STATUS_UNSUPPORTED, 0, operation,
			 "its code has no %s instruction sequence to borrow (its C library is an "
			 "unusual one); this VM cannot be tuned while it runs",
			 g->syscall ? "rt_sigreturn" : "system call");
}
