// SPDX-License-Identifier: GPL-2.0-or-later
/* In place of snapshot.c in a build that lacks clang, bpftool or libbpf. */
#include "snapshot.h"

int snapshot_take(pid_t pid __attribute__((unused)), struct snapshot *s, struct error *e)
{
	*s = (struct snapshot){ 0 };
	return error_set(e, STATUS_UNSUPPORTED, 0, "take a kernel snapshot",
			 "this program was built without it");
}

int snapshot_open(struct snapshot_session **session, struct error *e)
{
	struct snapshot none;

	*session = NULL;
	return snapshot_take(0, &none, e);
}

int snapshot_again(struct snapshot_session *session __attribute__((unused)), pid_t pid, struct snapshot *s,
		   struct error *e)
{
	return snapshot_take(pid, s, e);
}

void snapshot_close(struct snapshot_session *session __attribute__((unused)))
{
}
