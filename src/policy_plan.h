/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a policy to what has to be done, as steps that can each be undone. First everything is
 * looked at and checked, then the steps are made in order; when one fails, those before it are
 * undone, last first.
 */
#ifndef POLICY_PLAN_H
#define POLICY_PLAN_H

#include "busyloop.h"
#include "policy_match.h"
#include "spread.h"
#include "taps.h"
#include "vm_lock.h"
#include "workers_core.h"

/* Cpus that one worker is to have. */
struct worker_pin {
	int64_t id;		/* or, as in struct spread_move, -1, -2, ...: a new one */
	int64_t tid;		/* UNKNOWN: to be found */
	uint64_t start_time;
	struct ranges cpus;
	struct ranges before;	/* once it is set */
	bool set;
};

/* What happens to the workers of one device. */
struct worker_plan {
	struct worker_job job;
	struct spread spread;	/* new workers, moves, workers to free */
	struct created made;	/* these new ones */
	struct move *moves;	/* of spread, with the ids as they came to be */
	struct worker_pin *pins;
	size_t n_pins;
};

struct vm_plan {
	struct vm *vm;
	struct vm_lock lock;
	struct device_wants *wants;	/* one for each device */
	struct worker_plan *workers;	/* the same */
	struct owner_log *log;
	struct tap_visit visit;		/* the network namespace that was last visited stays open */
	bool gone;			/* it ended meanwhile: nothing is left to do or undo */
};

struct policy_run;

struct step {
	const struct step_type *type;
	struct vm_plan *vm;
	size_t device;			/* index; of steps that concern one */
	struct busyloop_want *sets;	/* of the busy-loop step */
	size_t n_sets;
	struct tap *tap;		/* of the rx-frames step, a copy */
	uint32_t frames;
	int64_t frames_before;
	bool done;
	size_t first_change, n_changes;	/* what it changed, in the run's changes */
};

struct step_type {
	/* With run->dry_run it notes what would change, and nothing else. */
	int (*act)(struct policy_run *run, struct step *step, struct error *e);
	/* NULL: it need not be undone. On failure @e says why. */
	int (*undo)(struct policy_run *run, struct step *step, struct error *e);
	bool of_device;		/* it concerns step->device */
};

struct policy_run {
	const struct policy *policy;
	bool dry_run;
	const char *only;		/* the one VM that is meant, or NULL: all that match */
	unsigned int lock_secs;		/* how long to wait for another apply on the same VM */
	struct stopper *stopper;	/* NULL: nothing is to be locked or waited for, nor undone */

	struct state state;
	struct error no_snapshot;	/* why; status 0: there is one */
	bool snapshot;
	struct vm_plan *vms;		/* by pid */
	size_t n_vms;
	struct step *steps;
	size_t n_steps;
	struct changes changes;
	struct sentences notes;
	struct sentences put_back, left;	/* after a failure: what was undone, and what could not be */
	bool not_yet;			/* looking failed for want of what may come yet */
};

/*
 * Look at the VMs that the policy concerns, and plan. Locks them unless it is a dry run. On
 * failure run->not_yet says whether it can help to wait.
 */
int policy_look(struct policy_run *run, struct error *e);

/* The same again and again until everything is there, @secs seconds at most. */
int policy_wait(struct policy_run *run, unsigned int secs, struct error *e);

/*
 * Make the steps, or with dry_run note them. On failure everything is undone (run->put_back)
 * and the status is STATUS_ROLLBACK if that failed too (run->left).
 */
int policy_act(struct policy_run *run, struct error *e);

/* Let go of VMs, locks, steps and what is known; changes and notes too. */
void policy_run_free(struct policy_run *run);

/* ---- among the files of the plan ---- */

struct step *plan_add(struct policy_run *run, const struct step_type *type, struct vm_plan *vm,
		      size_t device);
/* Has it ended? Then its steps are void, done or not, which is noted once. */
bool plan_forget_ended(struct policy_run *run, struct vm_plan *vp);
/* Steps for what is wanted and is not so. -1: it cannot be. */
int plan_workers(struct policy_run *run, struct vm_plan *vp, struct error *e);
void plan_worker_frees(struct policy_run *run, struct vm_plan *vp);
void plan_busyloop(struct policy_run *run, struct vm_plan *vp);
int plan_rx_frames(struct policy_run *run, struct vm_plan *vp, struct error *e);
void worker_plan_free(struct worker_plan *wp);

#endif
