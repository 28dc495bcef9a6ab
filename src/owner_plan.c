// SPDX-License-Identifier: GPL-2.0-or-later
#include "owner_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "aside.h"
#include "freezer.h"
#include "owner_code.h"
#include "owner_thread.h"
#include "procfs.h"
#include "state.h"
#include "util.h"

#define MAPS_MAX (64u << 20)
#define STATUS_MAX 65536
#define TRACER_TRIES 200	/* times TRACER_WAIT_MS */
#define TRACER_WAIT_MS 5

static const char *const operation = "run a call in the VM's context";

static bool path_is(const struct proc_map *m, const char *path)
{
	return m->path_len == strlen(path) && !memcmp(m->path, path, m->path_len);
}

static void note_stack(const struct proc_map *m, struct owner_plan *plan)
{
	if (!m->read || !m->write || m->shared || m->inode || path_is(m, "[heap]"))
		return;
	if (path_is(m, "[stack]"))
		plan->main_stack = (struct owner_range){ m->start, m->end };
	else
		*ARRAY_ADD(plan->stacks, plan->n_stacks) =
			(struct owner_range){ m->start, m->end };
}

int owner_plan_read(int proc_fd, struct owner_plan *plan, struct error *e)
{
	_cleanup_proc_text_ struct proc_text maps = { 0 };
	const char *line;
	size_t pos = 0, len;

	if (aside_read(proc_fd, "maps", MAPS_MAX, &maps) < 0)
		return error_errno(e, errno, operation,
				   errno == ETIMEDOUT ? aside_late : "its memory map cannot be read");
	while ((line = proc_next_line(maps.data, maps.len, &pos, &len))) {
		struct proc_map m;

		if (proc_parse_map(line, len, &m) == 0)
			note_stack(&m, plan);
	}
	return owner_code_find(proc_fd, &maps, &plan->gadgets, e);
}

void owner_plan_free(struct owner_plan *plan)
{
	free(plan->stacks);
	*plan = (struct owner_plan){ 0 };
}

static bool has_word(const char *text, size_t len, const char *word)
{
	return text && memmem(text, len, word, strlen(word));
}

/* A frozen thread stops but does not run again before it is thawed. Unknown counts as no. */
static bool is_frozen(int proc_fd)
{
	_cleanup_free_ char *words = NULL;

	return freezer_look(proc_fd, &words) == FREEZER_FROZEN;
}

/* Of @tracer and who may follow: whoever does not let go within a second. */
static int64_t lasting_tracer(int proc_fd, pid_t pid, int64_t tracer)
{
	for (int tries = 0; tracer > 0 && tries < TRACER_TRIES && owner_tracer_passes(tracer); tries++) {
		sleep_ms(TRACER_WAIT_MS);
		tracer = owner_thread_tracer(proc_fd, pid);
	}
	return tracer;
}

int owner_plan_check(int proc_fd, pid_t pid, enum owner_thread rule, struct error *e)
{
	_cleanup_proc_text_ struct proc_text status = { 0 };
	const char *features;
	struct proc_stat st;
	int64_t tracer;
	size_t len;

	if (proc_read(proc_fd, "status", STATUS_MAX, &status) < 0 ||
	    proc_read_stat(proc_fd, "stat", &st) < 0)
		return error_set(e, STATUS_NOT_FOUND, errno, operation,
				 "process %d is gone; it ended meanwhile", pid);
	tracer = lasting_tracer(proc_fd, pid,
				proc_field_number(status.data, status.len, "TracerPid", 10));
	if (tracer > 0)
		return error_set(e, STATUS_DENIED, EPERM, operation,
				 "process %lld (a debugger or tracer) is attached to it; end that first",
				 (long long)tracer);
	if (proc_field_number(status.data, status.len, "Seccomp", 10) == 1)
		return error_set(e, STATUS_UNSUPPORTED, 0, operation,
				 "it runs in seccomp strict mode, where an ioctl would kill it");
	features = proc_field(status.data, status.len, "x86_Thread_features", &len);
	if (has_word(features, features ? len : 0, "shstk"))
		return error_set(e, STATUS_UNSUPPORTED, 0, operation,
				 "it runs with a shadow stack, which a borrowed call would break");
	if (is_frozen(proc_fd))
		return error_set(e, STATUS_FAILED, 0, operation,
				 "its cgroup is frozen; thaw it first");
	if (st.state == 'T' && rule != OWNER_THREAD_ANY)
		return error_set(e, STATUS_FAILED, 0, operation,
				 "it is stopped (SIGSTOP), and so are the workers that this must "
				 "wait for; continue it first");
	return 0;
}
