// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads.h"

#include <fcntl.h>
#include <string.h>

#include "procdir.h"
#include "procfs.h"
#include "util.h"

/* A VM has one worker a device by default, and a hostile one may have as many as it can fork. */
enum { MOST_THREADS = 16384 };

/* "vhost-N": N, or 0 if @comm is none. */
static pid_t vhost_owner(const char *comm)
{
	uint64_t n;

	if (strncmp(comm, "vhost-", 6) || !proc_number(comm + 6, strlen(comm + 6), INT32_MAX, &n))
		return 0;
	return (pid_t)n;
}

static void fill_from_stat(struct worker *w, const struct proc_stat *st)
{
	w->tid = st->pid;
	memcpy(w->comm, st->comm, sizeof(w->comm));
	w->nice = st->nice;
	snprintf(w->policy, sizeof(w->policy), "%s", proc_policy_name(st->policy));
}

/* What stat does not have. A thread that ends meanwhile leaves the rest unknown. */
static void fill_rest(int task_fd, struct worker *w)
{
	_cleanup_proc_text_ struct proc_text status = { 0 };
	_cleanup_proc_text_ struct proc_text cgroup = { 0 };
	_cleanup_proc_text_ struct proc_text schedstat = { 0 };
	int64_t waited;

	free(w->cpus);
	free(w->cgroup);
	w->cpus = w->cgroup = NULL;
	w->cpu_ns = UNKNOWN;
	if (!proc_read(task_fd, "status", 1 << 16, &status))
		w->cpus = proc_field_string(status.data, status.len, "Cpus_allowed_list");
	if (!proc_read(task_fd, "cgroup", 1 << 16, &cgroup))
		w->cgroup = proc_parse_cgroup(cgroup.data, cgroup.len);
	if (!proc_read(task_fd, "schedstat", 4096, &schedstat))
		proc_parse_schedstat(schedstat.data, schedstat.len, &w->cpu_ns, &waited);
}

int threads_read_one(int task_fd, struct worker *w)
{
	struct proc_stat st;

	if (proc_read_stat(task_fd, "stat", &st))
		return -1;
	fill_from_stat(w, &st);
	fill_rest(task_fd, w);
	return 0;
}

bool thread_start_time(int64_t tid, uint64_t *start_time)
{
	struct proc_stat st;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)tid);
	if (proc_read_stat(AT_FDCWD, path, &st) < 0)
		return false;
	*start_time = st.start_time;
	return true;
}

static void add_thread(struct vm *vm, int task_fd, const struct proc_stat *st,
		       enum worker_mode mode)
{
	struct worker *w = ARRAY_ADD(vm->threads, vm->n_threads);

	w->id = UNKNOWN;
	w->mode = mode;
	fill_from_stat(w, st);
	fill_rest(task_fd, w);
}

static int open_dir(int dirfd, const char *path)
{
	return openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int threads_read_tasks(int pid_fd, struct vm *vm)
{
	_cleanup_close_ int task_dir = open_dir(pid_fd, "task");
	struct procdir dir;
	const char *name;
	int tid;

	if (task_dir < 0)
		return proc_is_shortage(errno) ? -1 : 0;
	procdir_start(&dir, task_dir);
	while ((name = procdir_next(&dir, &tid)) && vm->n_threads < MOST_THREADS) {
		struct proc_stat st;
		char path[32];

		snprintf(path, sizeof(path), "%d/stat", tid);
		if (proc_read_stat(task_dir, path, &st)) {
			if (proc_is_shortage(errno))
				return -1;
			continue;
		}
		if (!(st.flags & PROC_PF_USER_WORKER) || !vhost_owner(st.comm))
			continue;
		_cleanup_close_ int task_fd = open_dir(task_dir, name);

		if (task_fd >= 0)
			add_thread(vm, task_fd, &st, WORKER_MODE_TASK);
		else if (proc_is_shortage(errno))
			return -1;
	}
	return 0;
}

/* Thread @tid below @dir, if it has the flag of its kind and the name. */
static void add_if_vhost(int dir, int tid, unsigned int kind, struct kthreads *list)
{
	struct proc_stat st;
	char path[32];
	pid_t owner;

	snprintf(path, sizeof(path), "%d/stat", tid);
	if (proc_read_stat(dir, path, &st) || !(st.flags & kind))
		return;
	owner = vhost_owner(st.comm);
	if (owner)
		*ARRAY_ADD(list->items, list->n) = (struct kthread){
			.tid = tid, .owner_tid = owner, .start_time = st.start_time,
		};
}

int threads_list_tasks(int pid_fd, struct kthreads *list)
{
	_cleanup_close_ int task_dir = open_dir(pid_fd, "task");
	struct procdir dir;
	int tid;

	*list = (struct kthreads){ 0 };
	if (task_dir < 0)
		return -1;
	procdir_start(&dir, task_dir);
	while (procdir_next(&dir, &tid))
		add_if_vhost(task_dir, tid, PROC_PF_USER_WORKER, list);
	return 0;
}

void threads_find_kthreads(int proc_fd, struct kthreads *list)
{
	_cleanup_proc_text_ struct proc_text children = { 0 };

	*list = (struct kthreads){ 0 };
	/* kthreadd is process 2; its list of children (CONFIG_PROC_CHILDREN) spares the others. */
	if (!proc_read(proc_fd, "2/task/2/children", 1 << 22, &children)) {
		for (char *p = children.data, *end; *p; p = end) {
			long tid = strtol(p, &end, 10);

			if (end == p)
				break;
			add_if_vhost(proc_fd, (int)tid, PROC_PF_KTHREAD, list);
		}
	} else {
		_cleanup_close_ int all = open_dir(proc_fd, ".");
		struct procdir dir;
		int pid;

		procdir_start(&dir, all);
		while (procdir_next(&dir, &pid))
			add_if_vhost(proc_fd, pid, PROC_PF_KTHREAD, list);
	}
}

/* Whether its owner is a thread of @vm, and a worker that started then can be that one's doing. */
static bool served_by(int proc_fd, const struct vm *vm, const struct kthread *k)
{
	char path[64];

	if (k->start_time < vm->start_time)
		return false;
	snprintf(path, sizeof(path), "%d/task/%d", (int)vm->pid, (int)k->owner_tid);
	return faccessat(proc_fd, path, F_OK, 0) == 0;
}

void threads_match_kthreads(int proc_fd, const struct kthreads *list, struct vm *vm)
{
	for (size_t i = 0; i < list->n && vm->n_threads < MOST_THREADS; i++) {
		struct proc_stat st;
		char path[32];

		/* A state that grows VM by VM (scan_pid()) is gone through each time. */
		if (vm_thread(vm, list->items[i].tid) || !served_by(proc_fd, vm, &list->items[i]))
			continue;
		snprintf(path, sizeof(path), "%d", (int)list->items[i].tid);
		_cleanup_close_ int fd = open_dir(proc_fd, path);

		if (fd >= 0 && !proc_read_stat(fd, "stat", &st) &&
		    st.start_time == list->items[i].start_time)
			add_thread(vm, fd, &st, WORKER_MODE_KTHREAD);
	}
}
