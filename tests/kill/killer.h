/* SPDX-License-Identifier: GPL-2.0-or-later */
/* killer: runs a tool against a VM again and again and kills it, and looks at the VM after each time. */
#ifndef KILLER_H
#define KILLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SETTLE_MS	200	/* after a kill, until no thread may be traced or stopped any more */
#define TOOL_MS		30000	/* a run that takes longer hangs */
#define ASK_MS		20000

int64_t now_us(void);
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
uint64_t rnd(void);

/* The VM: a victim that this program started, or another process given by pid. */
struct vm {
	pid_t pid;
	bool ours;
	int in, out;		/* the victim's stdin and stdout */
	char buf[65536];
	size_t used;
	int hot[4];		/* stat files of the threads that the tool was seen to stop */
	pid_t hot_tid[4];
	int nhot;
};

/* killer_vm.c */
void vm_start(struct vm *vm, const char *path, char *const more[], const char *main_kind);
bool vm_ask(struct vm *vm, const char *command, char *line, size_t size);
bool vm_quit(struct vm *vm, char *line, size_t size);
bool vm_alive(struct vm *vm, const char **why);
int vm_unsettled(pid_t pid);
int64_t vm_settle(pid_t pid);
bool vm_is_stopped(struct vm *vm);
void vm_learn(struct vm *vm);

/* killer_tool.c */
struct tool {
	char **argv;		/* {pid} and {value} are replaced */
	const char *get;	/* shell command that prints the JSON of one queue; {pid} replaced */
};

struct run {
	pid_t pid;
	int64_t started;
	int err;		/* read end of its stderr, when asked for */
};

void tool_start(const struct tool *t, struct run *r, pid_t vm, unsigned int value, const char *env, int point);
void tool_kill(struct run *r);
bool tool_wait(struct run *r, int64_t ms, int *status);
long tool_get(const struct tool *t, pid_t vm);
int tool_points(const struct tool *t, struct vm *vm);

/* killer_load.c: pings and QMP questions, all the time */
struct load {
	_Atomic unsigned int sent, received, asked, answered;
	_Atomic int64_t worst_answer_us;
};

extern struct load load;
void load_ping(const char *host);
void load_qmp(const char *path);
void load_stop_sending(bool stop);
void load_reset(void);

/* killer_kill.c */
#define CALIBRATION	15	/* runs of each series that measure the tool left alone */

/* Kills of one sort on one VM, and what came of them. */
struct phase {
	struct vm *vm;
	const struct tool *tool;
	unsigned int kills, stopped, committed, late, finished, refused;
	int64_t worst_settle, normal_us, stop_us;
	int64_t stops[CALIBRATION * 2];	/* how long a thread was seen stopped */
	int nstops;
	bool learning;
	unsigned int value;		/* last one known to be set; 0: not known */
	unsigned int pending;		/* what the killed run before may still set; 0: nothing */
	unsigned int next_value;
	char why[1400];
};

bool bad(struct phase *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool calibrate(struct phase *p, unsigned int kills);
bool random_kills(struct phase *p, unsigned int n);
bool point_kills(struct phase *p, unsigned int each);

#endif
