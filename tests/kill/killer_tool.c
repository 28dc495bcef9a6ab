// SPDX-License-Identifier: GPL-2.0-or-later
/* The tool: started in a process group of its own, killed with its tracer child, or left to finish. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "killer.h"

static void replace(char *out, size_t size, const char *in, pid_t pid, unsigned int value)
{
	size_t n = 0;

	while (*in && n + 16 < size) {
		if (!strncmp(in, "{pid}", 5)) {
			n += snprintf(out + n, size - n, "%d", pid);
			in += 5;
		} else if (!strncmp(in, "{value}", 7)) {
			n += snprintf(out + n, size - n, "%u", value);
			in += 7;
		} else {
			out[n++] = *in++;
		}
	}
	out[n] = 0;
}

static void exec_tool(const struct tool *t, pid_t vm, unsigned int value)
{
	static char text[32][256];
	char *argv[33];
	int n;

	for (n = 0; t->argv[n] && n < 32; n++) {
		replace(text[n], sizeof(text[n]), t->argv[n], vm, value);
		argv[n] = text[n];
	}
	argv[n] = NULL;
	execv(argv[0], argv);
	die("%s: %s", argv[0], strerror(errno));
}

void tool_start(const struct tool *t, struct run *r, pid_t vm, unsigned int value, const char *env, int point)
{
	int err[2], null;

	if (pipe2(err, O_CLOEXEC))
		die("pipe2: %s", strerror(errno));
	r->started = now_us();
	r->pid = fork();
	if (r->pid < 0)
		die("fork: %s", strerror(errno));
	if (r->pid == 0) {
		char number[16];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, 0);
		dup2(null, 1);
		dup2(err[1], 2);
		snprintf(number, sizeof(number), "%d", point);
		if (env)
			setenv(env, number, 1);
		exec_tool(t, vm, value);
	}
	setpgid(r->pid, r->pid);	/* whoever comes first */
	close(err[1]);
	r->err = err[0];
}

void tool_kill(struct run *r)
{
	kill(-r->pid, SIGKILL);
}

/*
 * Reaps the whole group: as a subreaper this program inherits the tracer of a dead tool. False if it
 * had to be killed for taking too long. `status` is the tool's own.
 */
bool tool_wait(struct run *r, int64_t ms, int *status)
{
	int64_t until = now_us() + ms * 1000;
	bool in_time = true;

	for (;;) {
		int st;
		pid_t p = waitpid(-r->pid, &st, WNOHANG);

		if (p == r->pid)
			*status = st;
		if (p < 0 && errno == ECHILD)
			break;
		if (p == 0 && now_us() > until) {
			in_time = false;
			tool_kill(r);
			until += 5000000;
		}
		if (p == 0)
			usleep(100);
	}
	return in_time;
}

/* The value that an undisturbed run of the tool reports, or -1. */
long tool_get(const struct tool *t, pid_t vm)
{
	char command[512], buf[65536];
	const char *p;
	size_t n;
	FILE *f;

	replace(command, sizeof(command), t->get, vm, 0);
	f = popen(command, "r");
	if (!f)
		die("popen: %s", strerror(errno));
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = 0;
	if (pclose(f))
		return -1;
	p = strstr(buf, "\"busyloop_usecs\":");
	return p ? atol(p + 17) : -1;
}

/* How many kill points a run passes: "killpoints: N" on stderr of a KILLPOINTS build. */
int tool_points(const struct tool *t, struct vm *vm)
{
	char buf[4096];
	size_t used = 0;
	const char *p;
	struct run r;
	int status;
	ssize_t n;

	tool_start(t, &r, vm->pid, 10, "VHOSTCTL_KILLPOINT_COUNT", 1);
	while (used < sizeof(buf) - 1 && (n = read(r.err, buf + used, sizeof(buf) - 1 - used)) > 0)
		used += n;
	buf[used] = 0;
	close(r.err);
	if (!tool_wait(&r, TOOL_MS, &status) || !WIFEXITED(status) || WEXITSTATUS(status))
		die("the tool itself fails: %s", buf);
	p = strstr(buf, "killpoints: ");
	return p ? atoi(p + 12) : 0;
}
