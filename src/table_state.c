// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of VMs, their devices, queues, workers and taps. */
#include <inttypes.h>
#include <string.h>

#include "options.h"
#include "table_parts.h"
#include "util.h"

enum { COL_NAME, COL_FD, COL_BUSYLOOP, COL_WORKER, COL_TID, COL_CPUS, COL_DETAILS };

static const struct column state_columns[] = {
	[COL_NAME] = { "NAME", SCOLS_FL_TREE, 24 },
	[COL_FD] = { "FD", SCOLS_FL_RIGHT, 8 },
	[COL_BUSYLOOP] = { "BUSYLOOP", SCOLS_FL_RIGHT, 0 },
	[COL_WORKER] = { "WORKER", SCOLS_FL_RIGHT, 0 },
	[COL_TID] = { "TID", SCOLS_FL_RIGHT, 0 },
	[COL_CPUS] = { "CPUS", 0, 8 },
	[COL_DETAILS] = { "DETAILS", SCOLS_FL_TRUNC, 0 },
};

/* "req" of "req12", and 12; false for a name that does not end in a number. */
static bool numbered(const char *name, size_t *prefix, unsigned int *number)
{
	size_t len = strlen(name);
	uint64_t n;

	*prefix = len;
	while (*prefix > 0 && strchr("0123456789", name[*prefix - 1]))
		--*prefix;
	if (*prefix == len || parse_uint(name + *prefix, UINT32_MAX, &n) < 0)
		return false;
	*number = (unsigned int)n;
	return true;
}

static bool same_ring(const struct ring *a, const struct ring *b)
{
	return a->known == b->known && a->size == b->size && a->backend == b->backend &&
	       ring_pending(a) == ring_pending(b) && !strcmp(a->tap, b->tap);
}

/* Can @b follow @a in one row "req3-req127"? */
static bool same_run(const struct queue *a, const struct queue *b)
{
	size_t len_a, len_b;
	unsigned int n_a, n_b;

	if (b->index != a->index + 1 || b->busyloop_usecs != a->busyloop_usecs ||
	    b->worker_id != a->worker_id || b->worker_tid != a->worker_tid ||
	    !same_ring(&a->ring, &b->ring))
		return false;
	if (!*a->name && !*b->name)
		return true;
	return numbered(a->name, &len_a, &n_a) && numbered(b->name, &len_b, &n_b) &&
	       len_a == len_b && strncmp(a->name, b->name, len_a) == 0 && n_b == n_a + 1;
}

static void queue_label(const struct queue *q, char label[16])
{
	if (*q->name)
		snprintf(label, 16, "%s", q->name);
	else
		snprintf(label, 16, "%u", q->index);
}

static void set_ring(struct table *t, struct libscols_line *line, const struct ring *r)
{
	if (r->known && !r->set_up)
		put_cell(t, line, COL_DETAILS, "not set up");
	else if (r->known)
		put_cellf(t, line, COL_DETAILS, "%u entries, %" PRId64 " pending%s", r->size, ring_pending(r),
			  r->backend ? "" : ", no backend");
}

static const struct worker *find_tid(const struct worker *workers, size_t n, int64_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (tid != UNKNOWN && workers[i].tid == tid)
			return &workers[i];
	return NULL;
}

static void add_queues(struct table *t, struct libscols_line *parent, const struct vm *vm,
		       const struct device *d)
{
	for (size_t i = 0, last; i < d->n_queues; i = last + 1) {
		const struct queue *q = &d->queues[i];
		const struct worker *w = find_tid(d->workers, d->n_workers, q->worker_tid);
		struct libscols_line *line = add_line(t, parent);
		char first[16], end[16];

		for (last = i; last + 1 < d->n_queues; last++)
			if (!same_run(&d->queues[last], &d->queues[last + 1]))
				break;
		queue_label(q, first);
		queue_label(&d->queues[last], end);
		if (!w)
			w = find_tid(vm->threads, vm->n_threads, q->worker_tid);
		put_cellf(t, line, COL_NAME, "%s%s%s", first, last > i ? "-" : "", last > i ? end : "");
		if (q->busyloop_usecs == 0)
			put_cell(t, line, COL_BUSYLOOP, "off");
		else
			put_int_cell(t, line, COL_BUSYLOOP, q->busyloop_usecs, "us");
		put_int_cell(t, line, COL_WORKER, q->worker_id, "");
		put_int_cell(t, line, COL_TID, q->worker_tid, "");
		put_cell(t, line, COL_CPUS, w && w->cpus ? w->cpus : "-");
		set_ring(t, line, &q->ring);
	}
}

static void add_worker(struct table *t, struct libscols_line *parent, const struct vm *vm,
		       const struct worker *w)
{
	struct libscols_line *line = add_line(t, parent);

	put_cell(t, line, COL_NAME, *w->comm ? w->comm : w->queues ? "worker" : "");
	put_int_cell(t, line, COL_WORKER, w->id, "");
	put_int_cell(t, line, COL_TID, w->tid, "");
	put_cell(t, line, COL_CPUS, w->cpus ? w->cpus : "-");
	put_cellf(t, line, COL_DETAILS, "%s%s%s%s%s%s",
		  w->mode == WORKER_MODE_KTHREAD ? "kernel thread" : "thread",
		  *w->policy ? ", " : "", w->policy, w->queues && !w->n_queues ? ", idle" : "",
		  worker_remark(vm, w) ? ", " : "", worker_remark(vm, w) ? worker_remark(vm, w) : "");
}

static bool serves_shown_queue(const struct device *d, int64_t tid)
{
	for (size_t i = 0; tid != UNKNOWN && i < d->n_queues; i++)
		if (d->queues[i].worker_tid == tid)
			return true;
	return false;
}

static bool has_shown_queue(const struct device *d, int64_t worker_id)
{
	for (size_t i = 0; worker_id != UNKNOWN && i < d->n_queues; i++)
		if (d->queues[i].worker_id == worker_id)
			return true;
	return false;
}

/* "wwpn naa.5, ", "cid 3, ", "owner 12, ": what the snapshot knows, and is worth a word. */
static char *inside_text(const struct vm *vm, const struct device_inside *in)
{
	char cid[32] = "", owner[32] = "";

	if (in->known && in->cid != UNKNOWN)
		snprintf(cid, sizeof(cid), "cid %" PRId64 ", ", in->cid);
	if (in->known && in->owner_pid != UNKNOWN && in->owner_pid != vm->pid)
		snprintf(owner, sizeof(owner), "owner %" PRId64 ", ", in->owner_pid);
	return xasprintf("%s%s%s%s%s", in->wwpn ? "wwpn " : "", in->wwpn ? in->wwpn : "",
			 in->wwpn ? ", " : "", cid, owner);
}

static void add_device(struct table *t, struct libscols_line *parent, const struct vm *vm,
		       const struct device *d)
{
	struct libscols_line *line = add_line(t, parent);
	const char *mode = worker_mode_name(d->worker_mode);
	_cleanup_free_ char *inside = inside_text(vm, &d->inside);
	_cleanup_free_ char *details = xasprintf("%s%s%s%s%s%s%s", d->tap ? d->tap : "",
						 d->tap ? ", " : "", inside, mode ? mode : "",
						 mode ? " workers, " : "", d->path ? d->path : "-",
						 d->n_errors ? ", error" : "");

	put_cell(t, line, COL_NAME, d->id);
	put_cellf(t, line, COL_FD, "%d", d->fd);
	put_cell(t, line, COL_DETAILS, details);
	add_queues(t, line, vm, d);
	for (size_t i = 0; i < d->n_workers; i++)
		if (!serves_shown_queue(d, d->workers[i].tid) && !has_shown_queue(d, d->workers[i].id))
			add_worker(t, line, vm, &d->workers[i]);
}

static void add_tap(struct table *t, struct libscols_line *parent, const struct tap *tap)
{
	struct libscols_line *line = add_line(t, parent);
	_cleanup_free_ char *fds = xstrdup("");
	_cleanup_free_ char *details = NULL;
	char frames[24] = "-";

	for (size_t i = 0; i < tap->n_fds; i++) {
		char *longer = xasprintf("%s%s%d", fds, i ? "," : "", tap->fds[i]);

		free(fds);
		fds = longer;
	}
	if (tap->rx_frames != UNKNOWN)
		snprintf(frames, sizeof(frames), "%" PRId64, tap->rx_frames);
	details = xasprintf("%s%s, rx-frames %s%s%s%s%s%s", tap->macvtap ? "macvtap" : "tap",
			    tap->vhost == UNKNOWN ? "" : tap->vhost ? ", vhost" : ", no vhost", frames,
			    *tap->operstate ? ", " : "", tap->operstate,
			    tap->master ? ", in " : "", tap->master ? tap->master : "",
			    tap->n_errors ? ", error" : "");
	put_cell(t, line, COL_NAME, *tap->ifname ? tap->ifname : "-");
	put_cell(t, line, COL_FD, fds);
	put_cell(t, line, COL_DETAILS, details);
}

/* Is thread @tid in a device's part of the tree already? */
static bool shown(const struct vm *vm, int64_t tid)
{
	for (size_t i = 0; i < vm->n_devices; i++) {
		const struct device *d = &vm->devices[i];

		if (serves_shown_queue(d, tid) || find_tid(d->workers, d->n_workers, tid))
			return true;
	}
	return false;
}

static void add_vm(struct table *t, const struct vm *vm)
{
	struct libscols_line *line = add_line(t, NULL);

	if (vm->name)
		put_cell(t, line, COL_NAME, vm->name);
	else
		put_cellf(t, line, COL_NAME, "%d", (int)vm->pid);
	put_cellf(t, line, COL_DETAILS, "pid %d%s%s", (int)vm->pid, *vm->comm ? ", " : "", vm->comm);
	for (size_t i = 0; i < vm->n_devices; i++)
		add_device(t, line, vm, &vm->devices[i]);
	for (size_t i = 0; i < vm->n_taps; i++)
		add_tap(t, line, &vm->taps[i]);
	for (size_t i = 0; i < vm->n_threads; i++)
		if (!shown(vm, vm->threads[i].tid))
			add_worker(t, line, vm, &vm->threads[i]);
}

static void add_errors(char **text, bool utf8, const struct vm *vm, const char *part,
		       const struct error *errors, size_t n)
{
	char pid[16] = "";

	if (vm)
		snprintf(pid, sizeof(pid), "%d", (int)vm->pid);
	for (size_t i = 0; i < n; i++)
		add_below(text, utf8, "error: %s%s%s%s%s%s%s", vm && vm->name ? vm->name : pid,
			  *part ? "/" : "", part, vm ? ": " : "", errors[i].operation,
			  *errors[i].operation ? ": " : "", errors[i].message);
}

static void add_vm_errors(char **text, bool utf8, const struct vm *vm)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		add_errors(text, utf8, vm, vm->devices[i].id, vm->devices[i].errors,
			   vm->devices[i].n_errors);
	for (size_t i = 0; i < vm->n_taps; i++)
		add_errors(text, utf8, vm, vm->taps[i].ifname, vm->taps[i].errors,
			   vm->taps[i].n_errors);
	add_errors(text, utf8, vm, "", vm->errors, vm->n_errors);
}

char *table_state(const struct state *s, const struct table_style *style)
{
	struct table t;
	char *text;

	if (s->n_vms == 0 && s->n_taps == 0) {
		text = xstrdup("no VMs with vhost devices\n");
	} else {
		table_init(&t, state_columns, ARRAY_SIZE(state_columns), style);
		for (size_t i = 0; i < s->n_vms; i++)
			add_vm(&t, &s->vms[i]);
		for (size_t i = 0; i < s->n_taps; i++)
			add_tap(&t, NULL, &s->taps[i]);
		text = table_finish(&t);
	}
	for (size_t i = 0; i < s->n_vms; i++)
		add_vm_errors(&text, style->utf8, &s->vms[i]);
	add_errors(&text, style->utf8, NULL, "", s->errors, s->n_errors);
	return text;
}
