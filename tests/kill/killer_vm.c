// SPDX-License-Identifier: GPL-2.0-or-later
/* The VM as seen from outside: is it alive, is any thread traced or stopped, does it move on. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "killer.h"

void vm_start(struct vm *vm, const char *path, char *const more[], const char *main_kind)
{
	const char *argv[16] = { path, "--main", main_kind };
	int in[2], out[2], n = 3;
	char line[512];

	for (int i = 0; more[i] && n < 15; i++)
		argv[n++] = more[i];
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe2: %s", strerror(errno));
	vm->pid = fork();
	if (vm->pid < 0)
		die("fork: %s", strerror(errno));
	if (vm->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		/* Its threads are busy all the time, more than a VM's main loop; the tool shall have the CPU. */
		setpriority(PRIO_PROCESS, 0, 10);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execv(path, (char **)argv);
		die("%s: %s", path, strerror(errno));
	}
	close(in[0]);
	close(out[1]);
	vm->ours = true;
	vm->in = in[1];
	vm->out = out[0];
	if (!vm_ask(vm, NULL, line, sizeof(line)) || strncmp(line, "READY ", 6))
		die("the victim did not start: %s", line);
}

static bool read_line(struct vm *vm, int64_t until, char *line, size_t size)
{
	char *nl;

	while (!(nl = memchr(vm->buf, '\n', vm->used))) {
		struct pollfd p = { .fd = vm->out, .events = POLLIN };
		int64_t left = (until - now_us()) / 1000;
		ssize_t n;

		if (left < 0 || vm->used == sizeof(vm->buf))
			return false;
		if (poll(&p, 1, left) <= 0)
			continue;
		n = read(vm->out, vm->buf + vm->used, sizeof(vm->buf) - vm->used);
		if (n <= 0)
			return false;
		vm->used += n;
	}
	snprintf(line, size, "%.*s", (int)(nl - vm->buf), vm->buf);
	vm->used -= nl + 1 - vm->buf;
	memmove(vm->buf, nl + 1, vm->used);
	return true;
}

/* One command, one line. False, with the line if there is one, when it died, hangs or found damage. */
bool vm_ask(struct vm *vm, const char *command, char *line, size_t size)
{
	line[0] = 0;
	if (command && write(vm->in, command, strlen(command)) < 0)
		return false;
	return read_line(vm, now_us() + ASK_MS * 1000LL, line, size) && strncmp(line, "CORRUPT", 7);
}

bool vm_quit(struct vm *vm, char *line, size_t size)
{
	int status;
	bool good = vm_ask(vm, "quit\n", line, size) && !strncmp(line, "OK ", 3);

	if (!good)
		kill(vm->pid, SIGKILL);
	if (waitpid(vm->pid, &status, 0) != vm->pid || !WIFEXITED(status) || WEXITSTATUS(status))
		good = false;
	close(vm->in);
	close(vm->out);
	for (int i = 0; i < vm->nhot; i++)
		close(vm->hot[i]);
	return good;
}

bool vm_alive(struct vm *vm, const char **why)
{
	static char text[1200];
	char line[1024];
	int status;

	if (!vm->ours) {
		*why = "it is gone";
		return kill(vm->pid, 0) == 0;
	}
	if (waitpid(vm->pid, &status, WNOHANG) == 0)
		return true;
	if (!read_line(vm, now_us(), line, sizeof(line)))
		line[0] = 0;
	snprintf(text, sizeof(text), "%s %d: %s", WIFSIGNALED(status) ? "killed by signal" : "exit status",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), line);
	*why = text;
	return false;
}

static int open_task(pid_t pid, const char *tid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/%s", pid, tid, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* A thread that has gone meanwhile is neither traced nor stopped. */
static bool is_unsettled(pid_t pid, const char *tid)
{
	char buf[4096];
	int fd = open_task(pid, tid, "status");
	ssize_t n;
	const char *state, *tracer;

	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = 0;
	state = strstr(buf, "\nState:\t");
	tracer = strstr(buf, "\nTracerPid:\t");
	if (!state || !tracer)
		die("/proc/%d/task/%s/status has no State or TracerPid", pid, tid);
	return state[8] == 't' || state[8] == 'T' || atoi(tracer + 12) != 0;
}

/* How many threads are traced or stopped. */
int vm_unsettled(pid_t pid)
{
	char path[32];
	struct dirent *e;
	DIR *d;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return 0;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			n += is_unsettled(pid, e->d_name);
	closedir(d);
	return n;
}

/* Microseconds until nothing was traced or stopped, or -1. */
int64_t vm_settle(pid_t pid)
{
	int64_t start = now_us();

	for (;;) {
		int64_t took = now_us() - start;

		if (vm_unsettled(pid) == 0)
			return took;
		if (took > SETTLE_MS * 1000)
			return -1;
		usleep(1000);
	}
}

static bool stat_says_traced(int fd)
{
	char buf[128];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);
	const char *p;

	if (n <= 0)
		return false;
	buf[n] = 0;
	p = strrchr(buf, ')');	/* a name may hold one too, but the state follows the last */
	return p && p[1] == ' ' && p[2] == 't';
}

bool vm_is_stopped(struct vm *vm)
{
	for (int i = 0; i < vm->nhot; i++)
		if (stat_says_traced(vm->hot[i]))
			return true;
	return false;
}

/* One look at all threads, to remember those that are stopped now. */
void vm_learn(struct vm *vm)
{
	char path[32];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", vm->pid);
	d = opendir(path);
	while (d && (e = readdir(d)) && vm->nhot < 4) {
		int fd = e->d_name[0] == '.' ? -1 : open_task(vm->pid, e->d_name, "stat");
		bool known = false;

		if (fd < 0)
			continue;
		for (int i = 0; i < vm->nhot; i++)
			known |= vm->hot_tid[i] == atoi(e->d_name);
		if (known || !stat_says_traced(fd)) {
			close(fd);
			continue;
		}
		vm->hot_tid[vm->nhot] = atoi(e->d_name);
		vm->hot[vm->nhot++] = fd;
	}
	if (d)
		closedir(d);
}
