/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings that are tried: checked, set, and put back. */
#ifndef TRIAL_H
#define TRIAL_H

#include "netns.h"
#include "owner.h"
#include "target.h"

enum trial_kind { TRIAL_BUSYLOOP, TRIAL_RX_FRAMES, TRIAL_WORKERS, TRIAL_KINDS };

struct trial_setting {
	enum trial_kind kind;
	uint32_t value;		/* of workers, 0: one for each queue */
};

/* What was before. */
struct trial_undo {
	enum trial_kind kind;
	int fd;			/* of the device or tap in the VM's process */
	unsigned int queue;
	uint32_t value;		/* us, frames, or the id of the queue's worker */
	bool set;		/* it was changed, and not put back yet */
	bool lost;		/* what it is of is not to be found, or told, any more */
	/* of a tap: which interface it is, whatever its files come to be */
	char ifname[16];
	unsigned char mac[6];
	int64_t netns, ifindex, persist;
};

/* A worker that was made. */
struct trial_worker {
	int fd;			/* of its device */
	uint32_t id;
};

/* By what a vhost device is told from another one that gets its fd: its worker, or all of the VM. */
struct trial_device {
	int fd;
	enum device_kind kind;
	bool own;		/* the thread is the device's own */
	int64_t *tids;
	size_t n_tids;
};

struct trial {
	char *text;		/* the TARGET as it was asked for */
	pid_t pid;
	char *name;		/* of the VM; NULL: it has none */
	uint64_t start_time;
	char **fixed;		/* the same by pid and fd */
	size_t n_fixed;
	struct trial_setting *settings;
	size_t n_settings;
	struct trial_undo *undos;
	size_t n_undos;
	struct trial_device *devices;
	size_t n_devices;
	struct netns *spaces;	/* of the taps, for as long as it takes */
	size_t n_spaces;
	struct trial_worker *made;
	size_t n_made;
	struct changes changes;	/* what was set, or would be */
	struct owner_log log;	/* of the last stop */
};

/* "busyloop=50", "rx-frames=64", "workers=per-queue", "workers=4". */
int trial_parse(const char *text, struct trial_setting *s, struct error *e);

/*
 * Find the target, and check that each setting applies to something of it, can be set, and can be put
 * back. Nothing is changed; t->changes says what would be. t->settings are there already.
 */
int trial_plan(struct trial *t, const char *text, struct error *e);

/* Set all; t->changes is what was. On failure, what was set is put back (STATUS_ROLLBACK: or not). */
int trial_set(struct trial *t, struct error *e);

/* 0 also when the VM is gone, with which its settings are. STATUS_ROLLBACK when one is left. */
int trial_put_back(struct trial *t, struct error *e);

/* Commands that do the same, for when this process cannot; NULL when there is nothing. Free it. */
char *trial_remedy(const struct trial *t);
/* The same for what is left after it was put back in part: each that fails does not keep from the next. */
char *trial_remedy_left(const struct trial *t);

void trial_free(struct trial *t);

#endif
