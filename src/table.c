// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <string.h>

#include "escape.h"
#include "options.h"
#include "util.h"

typedef struct libscols_table scols_table;
typedef struct libscols_line scols_line;

struct column {
	const char *name;
	double hint;	/* share of the width, or columns when above 1 */
	int flags;
};

enum { COL_NAME, COL_FD, COL_BUSYLOOP, COL_WORKER, COL_TID, COL_CPUS, COL_DETAILS };

static const struct column state_columns[] = {
	[COL_NAME] = { "NAME", 0.2, SCOLS_FL_TREE | SCOLS_FL_TRUNC },
	[COL_FD] = { "FD", 2, SCOLS_FL_RIGHT },
	[COL_BUSYLOOP] = { "BUSYLOOP", 5, SCOLS_FL_RIGHT },
	[COL_WORKER] = { "WORKER", 2, SCOLS_FL_RIGHT },
	[COL_TID] = { "TID", 5, SCOLS_FL_RIGHT },
	[COL_CPUS] = { "CPUS", 3, SCOLS_FL_TRUNC },
	[COL_DETAILS] = { "DETAILS", 0.4, SCOLS_FL_WRAP },
};

enum { COL_TARGET, COL_PID, COL_SETTING, COL_BEFORE, COL_AFTER, COL_APPLIED };

static const struct column change_columns[] = {
	[COL_TARGET] = { "TARGET", 0.3, SCOLS_FL_TRUNC },
	[COL_PID] = { "PID", 5, SCOLS_FL_RIGHT },
	[COL_SETTING] = { "SETTING", 12, 0 },
	[COL_BEFORE] = { "BEFORE", 5, SCOLS_FL_RIGHT },
	[COL_AFTER] = { "AFTER", 5, SCOLS_FL_RIGHT },
	[COL_APPLIED] = { "APPLIED", 3, 0 },
};

struct table {
	scols_table *scols;
	bool utf8;
	bool failed;	/* libsmartcols fails for want of memory only */
};

static void table_init(struct table *t, const struct column *columns, size_t n,
		       const struct table_style *style)
{
	*t = (struct table){ .scols = scols_new_table(), .utf8 = style->utf8 };
	t->failed = !t->scols;
	for (size_t i = 0; i < n && !t->failed; i++)
		t->failed = !scols_table_new_column(t->scols, columns[i].name, columns[i].hint,
						    columns[i].flags);
	if (t->failed)
		return;
	scols_table_enable_ascii(t->scols, !style->utf8);
	scols_table_enable_noencoding(t->scols, 1); /* escape_text() has done it */
	scols_table_set_termforce(t->scols, style->width ? SCOLS_TERMFORCE_ALWAYS
							 : SCOLS_TERMFORCE_NEVER);
	if (style->width)
		scols_table_set_termwidth(t->scols, (size_t)style->width);
}

static char *table_finish(struct table *t)
{
	char *text = NULL;

	if (t->failed || scols_print_table_to_string(t->scols, &text) != 0)
		text = NULL;
	scols_unref_table(t->scols);
	return text;
}

static scols_line *add_line(struct table *t, scols_line *parent)
{
	scols_line *line = t->failed ? NULL : scols_table_new_line(t->scols, parent);

	t->failed |= !line;
	return line;
}

static void set(struct table *t, scols_line *line, size_t column, const char *text)
{
	_cleanup_free_ char *safe = escape_text(text, t->utf8);

	if (line)
		t->failed |= scols_line_set_data(line, column, safe) != 0;
}

__attribute__((format(printf, 4, 5)))
static void setf(struct table *t, scols_line *line, size_t column, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	set(t, line, column, text);
}

static void set_int(struct table *t, scols_line *line, size_t column, int64_t value,
		    const char *unit)
{
	if (value == UNKNOWN)
		set(t, line, column, "-");
	else
		setf(t, line, column, "%" PRId64 "%s", value, unit);
}

static void add_errors(struct table *t, scols_line *parent, const struct error *errors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct error *e = &errors[i];
		_cleanup_free_ char *text = xasprintf("%s%s%s", e->operation,
						      *e->operation ? ": " : "", e->message);
		scols_line *line = add_line(t, parent);

		set(t, line, COL_NAME, "error");
		set(t, line, COL_DETAILS, text);
	}
}

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

/* Can @b follow @a in one row "req3-req127"? */
static bool same_run(const struct queue *a, const struct queue *b)
{
	size_t len_a, len_b;
	unsigned int n_a, n_b;

	if (b->index != a->index + 1 || b->busyloop_usecs != a->busyloop_usecs ||
	    b->worker_id != a->worker_id || b->worker_tid != a->worker_tid)
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

static const struct worker *find_tid(const struct worker *workers, size_t n, int64_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (tid != UNKNOWN && workers[i].tid == tid)
			return &workers[i];
	return NULL;
}

static void add_queues(struct table *t, scols_line *parent, const struct vm *vm,
		       const struct device *d)
{
	for (size_t i = 0, last; i < d->n_queues; i = last + 1) {
		const struct queue *q = &d->queues[i];
		const struct worker *w = find_tid(d->workers, d->n_workers, q->worker_tid);
		scols_line *line = add_line(t, parent);
		char first[16], end[16];

		for (last = i; last + 1 < d->n_queues; last++)
			if (!same_run(&d->queues[last], &d->queues[last + 1]))
				break;
		queue_label(q, first);
		queue_label(&d->queues[last], end);
		if (!w)
			w = find_tid(vm->threads, vm->n_threads, q->worker_tid);
		setf(t, line, COL_NAME, "%s%s%s", first, last > i ? "-" : "", last > i ? end : "");
		set_int(t, line, COL_BUSYLOOP, q->busyloop_usecs, "us");
		set_int(t, line, COL_WORKER, q->worker_id, "");
		set_int(t, line, COL_TID, q->worker_tid, "");
		set(t, line, COL_CPUS, w && w->cpus ? w->cpus : "-");
	}
}

static void add_worker(struct table *t, scols_line *parent, const struct worker *w)
{
	scols_line *line = add_line(t, parent);

	set(t, line, COL_NAME, w->comm);
	set_int(t, line, COL_WORKER, w->id, "");
	set_int(t, line, COL_TID, w->tid, "");
	set(t, line, COL_CPUS, w->cpus ? w->cpus : "-");
	setf(t, line, COL_DETAILS, "%s%s%s", w->mode == WORKER_MODE_KTHREAD ? "kernel thread" : "thread",
	     *w->policy ? ", " : "", w->policy);
}

static bool serves_shown_queue(const struct device *d, int64_t tid)
{
	for (size_t i = 0; tid != UNKNOWN && i < d->n_queues; i++)
		if (d->queues[i].worker_tid == tid)
			return true;
	return false;
}

static void add_device(struct table *t, scols_line *parent, const struct vm *vm,
		       const struct device *d)
{
	scols_line *line = add_line(t, parent);
	const char *mode = worker_mode_name(d->worker_mode);
	_cleanup_free_ char *details = xasprintf("%s%s%s%s%s%s", d->path ? d->path : "-",
						 d->tap ? ", " : "", d->tap ? d->tap : "",
						 mode ? ", " : "", mode ? mode : "",
						 mode ? " workers" : "");

	set(t, line, COL_NAME, d->id);
	setf(t, line, COL_FD, "%d", d->fd);
	set(t, line, COL_DETAILS, details);
	add_queues(t, line, vm, d);
	for (size_t i = 0; i < d->n_workers; i++)
		if (!serves_shown_queue(d, d->workers[i].tid))
			add_worker(t, line, &d->workers[i]);
	add_errors(t, line, d->errors, d->n_errors);
}

static void add_tap(struct table *t, scols_line *parent, const struct tap *tap)
{
	scols_line *line = add_line(t, parent);
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
	details = xasprintf("%s, rx-frames %s%s%s%s%s", tap->macvtap ? "macvtap" : "tap", frames,
			    *tap->operstate ? ", " : "", tap->operstate,
			    tap->master ? ", in " : "", tap->master ? tap->master : "");
	set(t, line, COL_NAME, *tap->ifname ? tap->ifname : "-");
	set(t, line, COL_FD, fds);
	set(t, line, COL_DETAILS, details);
	add_errors(t, line, tap->errors, tap->n_errors);
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
	scols_line *line = add_line(t, NULL);

	set(t, line, COL_NAME, vm->name ? vm->name : "-");
	setf(t, line, COL_DETAILS, "pid %d, %s", (int)vm->pid, vm->comm);
	for (size_t i = 0; i < vm->n_devices; i++)
		add_device(t, line, vm, &vm->devices[i]);
	for (size_t i = 0; i < vm->n_taps; i++)
		add_tap(t, line, &vm->taps[i]);
	for (size_t i = 0; i < vm->n_threads; i++)
		if (!shown(vm, vm->threads[i].tid))
			add_worker(t, line, &vm->threads[i]);
	add_errors(t, line, vm->errors, vm->n_errors);
}

char *table_state(const struct state *s, const struct table_style *style)
{
	struct table t;

	if (s->n_vms == 0 && s->n_errors == 0)
		return xstrdup("no VMs with vhost devices\n");
	table_init(&t, state_columns, ARRAY_SIZE(state_columns), style);
	for (size_t i = 0; i < s->n_vms; i++)
		add_vm(&t, &s->vms[i]);
	add_errors(&t, NULL, s->errors, s->n_errors);
	return table_finish(&t);
}

static char *append_notes(char *text, char *const *notes, size_t n_notes, bool utf8)
{
	for (size_t i = 0; text && i < n_notes; i++) {
		_cleanup_free_ char *safe = escape_text(notes[i], utf8);
		char *longer = xasprintf("%snote: %s\n", text, safe);

		free(text);
		text = longer;
	}
	return text;
}

char *table_changes(const struct changes *c, char *const *notes, size_t n_notes,
		    const struct table_style *style)
{
	struct table t;

	table_init(&t, change_columns, ARRAY_SIZE(change_columns), style);
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i];
		scols_line *line = add_line(&t, NULL);

		set(&t, line, COL_TARGET, change->target);
		setf(&t, line, COL_PID, "%d", (int)change->pid);
		set(&t, line, COL_SETTING, change->setting);
		set_int(&t, line, COL_BEFORE, change->before, "");
		set_int(&t, line, COL_AFTER, change->after, "");
		set(&t, line, COL_APPLIED, change->applied ? "yes" : "no");
	}
	return append_notes(table_finish(&t), notes, n_notes, style->utf8);
}
