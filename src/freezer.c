// SPDX-License-Identifier: GPL-2.0-or-later
#include "freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procfs.h"
#include "util.h"

#define TEXT_MAX 65536
#define FIRST_CGROUP_NS 0xEFFFFFFBu

/* The root of a hierarchy is never frozen, and is the only group without the file. */
static bool is_root(const char *cgroup, const char *dir)
{
	_cleanup_free_ char *procs = xasprintf("%s/cgroup.procs", dir);
	_cleanup_free_ char *type = xasprintf("%s/cgroup.type", dir);

	/* In a cgroup namespace the root is called so from inside only; a group of version 2 has a type. */
	if (!strcmp(cgroup, "/") && proc_in_first_ns("/proc/self/ns/cgroup", FIRST_CGROUP_NS))
		return true;
	return !access(procs, F_OK) && access(type, F_OK);
}

static enum freezer_state look(const char *root, const char *cgroup, const char *file, char **words)
{
	_cleanup_free_ char *dir = xasprintf("/sys/fs/cgroup%s%s", root, cgroup);
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, file);
	_cleanup_proc_text_ struct proc_text text = { 0 };

	if (proc_read(AT_FDCWD, path, TEXT_MAX, &text) < 0) {
		int why = errno;
		bool runs = why == ENOENT && is_root(cgroup, dir);

		*words = runs ? xstrdup("not frozen") :
				xasprintf("%s: %s", path, strerror(why));
		return runs ? FREEZER_RUNS : FREEZER_UNKNOWN;
	}
	if (strstr(text.data, "frozen 1") || strstr(text.data, "FROZEN") || strstr(text.data, "FREEZING")) {
		*words = xstrdup("its cgroup is frozen: calls would wait until it is thawed");
		return FREEZER_FROZEN;
	}
	*words = xstrdup("not frozen");
	return FREEZER_RUNS;
}

/* Where version 2 is mounted, alone or beside version 1. */
static const char *unified_root(void)
{
	return access("/sys/fs/cgroup/cgroup.controllers", F_OK) ? "/unified" : "";
}

enum freezer_state freezer_look(int proc_fd, char **words)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	_cleanup_free_ char *v1 = NULL, *v2 = NULL;
	enum freezer_state state = FREEZER_RUNS;

	*words = NULL;
	if (proc_read(proc_fd, "cgroup", TEXT_MAX, &text) < 0) {
		*words = xasprintf("its cgroup cannot be read: %s", strerror(errno));
		return FREEZER_UNKNOWN;
	}
	v1 = proc_parse_cgroup_v1(text.data, text.len, "freezer");
	v2 = proc_parse_cgroup_v2(text.data, text.len);
	/* A process can be in a group of both, and each freezes on its own. */
	const struct { const char *root, *cgroup, *file; } groups[] = {
		{ "/freezer", v1, "freezer.state" },
		{ unified_root(), v2, "cgroup.events" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(groups) && state != FREEZER_FROZEN; i++) {
		enum freezer_state found;
		char *said;

		if (!groups[i].cgroup)
			continue;
		found = look(groups[i].root, groups[i].cgroup, groups[i].file, &said);
		if (*words && found == FREEZER_RUNS) {
			free(said);
			continue;
		}
		free(*words);
		*words = said;
		state = found;
	}
	if (!*words)
		*words = xstrdup("in no cgroup that can be frozen");
	return state;
}
