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
	int flags;
	size_t most;	/* characters of a cell on a terminal; 0: any number */
};

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

enum { COL_TARGET, COL_PID, COL_SETTING, COL_BEFORE, COL_AFTER, COL_APPLIED, COL_OF_WORKER, COL_OF_TID };

static const struct column change_columns[] = {
	[COL_TARGET] = { "TARGET", 0, 34 },
	[COL_PID] = { "PID", SCOLS_FL_RIGHT, 0 },
	[COL_SETTING] = { "SETTING", 0, 0 },
	[COL_BEFORE] = { "BEFORE", SCOLS_FL_RIGHT, 0 },
	[COL_AFTER] = { "AFTER", SCOLS_FL_RIGHT, 0 },
	[COL_APPLIED] = { "APPLIED", 0, 0 },
	/* Only where a worker is concerned. */
	[COL_OF_WORKER] = { "WORKER", SCOLS_FL_RIGHT, 0 },
	[COL_OF_TID] = { "TID", SCOLS_FL_RIGHT, 0 },
};

enum { COL_CHECK, COL_OK, COL_REASON };

static const struct column check_columns[] = {
	[COL_CHECK] = { "CHECK", SCOLS_FL_TREE, 32 },
	[COL_OK] = { "OK", 0, 0 },
	[COL_REASON] = { "REASON", SCOLS_FL_WRAP, 0 },
};

struct table {
	scols_table *scols;
	const struct column *columns;
	const struct table_style *style;
	bool failed;	/* libsmartcols fails for want of memory only */
};

static void table_init(struct table *t, const struct column *columns, size_t n,
		       const struct table_style *style)
{
	*t = (struct table){ .scols = scols_new_table(), .columns = columns, .style = style };
	t->failed = !t->scols;
	for (size_t i = 0; i < n && !t->failed; i++) {
		struct libscols_column *c = scols_table_new_column(t->scols, columns[i].name, 0,
								   columns[i].flags);

		t->failed = !c;
		if (c && columns[i].flags & SCOLS_FL_WRAP) /* where set_wrapped() broke it */
			scols_column_set_wrapfunc(c, scols_wrapnl_chunksize,
						  scols_wrapnl_nextchunk, NULL);
	}
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
	char *text = NULL, *lines = NULL;

	if (!t->failed && scols_print_table_to_string(t->scols, &text) == 0)
		lines = xasprintf("%s\n", text);
	free(text);
	scols_unref_table(t->scols);
	return lines;
}

static scols_line *add_line(struct table *t, scols_line *parent)
{
	scols_line *line = t->failed ? NULL : scols_table_new_line(t->scols, parent);

	t->failed |= !line;
	return line;
}

/* Leave @most characters of the escaped @text, of which the last says that more was there. */
static void cut(char *text, size_t most)
{
	uint32_t code;
	char *at = text;

	for (size_t i = 0; i + 1 < most && *at; i++)
		at += utf8_decode(at, &code);
	if (*at && at[utf8_decode(at, &code)])
		strcpy(at, "~");
}

static void set(struct table *t, scols_line *line, size_t column, const char *text)
{
	_cleanup_free_ char *safe = escape_text(text, t->style->utf8);

	if (t->style->width && t->columns[column].most)
		cut(safe, t->columns[column].most);
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

static void set_ring(struct table *t, scols_line *line, const struct ring *r)
{
	if (r->known && !r->set_up)
		set(t, line, COL_DETAILS, "not set up");
	else if (r->known)
		setf(t, line, COL_DETAILS, "%u entries, %" PRId64 " pending%s", r->size, ring_pending(r),
		     r->backend ? "" : ", no backend");
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
		if (q->busyloop_usecs == 0)
			set(t, line, COL_BUSYLOOP, "off");
		else
			set_int(t, line, COL_BUSYLOOP, q->busyloop_usecs, "us");
		set_int(t, line, COL_WORKER, q->worker_id, "");
		set_int(t, line, COL_TID, q->worker_tid, "");
		set(t, line, COL_CPUS, w && w->cpus ? w->cpus : "-");
		set_ring(t, line, &q->ring);
	}
}

static void add_worker(struct table *t, scols_line *parent, const struct vm *vm,
		       const struct worker *w)
{
	scols_line *line = add_line(t, parent);

	set(t, line, COL_NAME, *w->comm ? w->comm : w->queues ? "worker" : "");
	set_int(t, line, COL_WORKER, w->id, "");
	set_int(t, line, COL_TID, w->tid, "");
	set(t, line, COL_CPUS, w->cpus ? w->cpus : "-");
	setf(t, line, COL_DETAILS, "%s%s%s%s%s%s",
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

static void add_device(struct table *t, scols_line *parent, const struct vm *vm,
		       const struct device *d)
{
	scols_line *line = add_line(t, parent);
	const char *mode = worker_mode_name(d->worker_mode);
	_cleanup_free_ char *inside = inside_text(vm, &d->inside);
	_cleanup_free_ char *details = xasprintf("%s%s%s%s%s%s%s", d->tap ? d->tap : "",
						 d->tap ? ", " : "", inside, mode ? mode : "",
						 mode ? " workers, " : "", d->path ? d->path : "-",
						 d->n_errors ? ", error" : "");

	set(t, line, COL_NAME, d->id);
	setf(t, line, COL_FD, "%d", d->fd);
	set(t, line, COL_DETAILS, details);
	add_queues(t, line, vm, d);
	for (size_t i = 0; i < d->n_workers; i++)
		if (!serves_shown_queue(d, d->workers[i].tid) && !has_shown_queue(d, d->workers[i].id))
			add_worker(t, line, vm, &d->workers[i]);
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
	details = xasprintf("%s%s, rx-frames %s%s%s%s%s%s", tap->macvtap ? "macvtap" : "tap",
			    tap->vhost == UNKNOWN ? "" : tap->vhost ? ", vhost" : ", no vhost", frames,
			    *tap->operstate ? ", " : "", tap->operstate,
			    tap->master ? ", in " : "", tap->master ? tap->master : "",
			    tap->n_errors ? ", error" : "");
	set(t, line, COL_NAME, *tap->ifname ? tap->ifname : "-");
	set(t, line, COL_FD, fds);
	set(t, line, COL_DETAILS, details);
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

	if (vm->name)
		set(t, line, COL_NAME, vm->name);
	else
		setf(t, line, COL_NAME, "%d", (int)vm->pid);
	setf(t, line, COL_DETAILS, "pid %d%s%s", (int)vm->pid, *vm->comm ? ", " : "", vm->comm);
	for (size_t i = 0; i < vm->n_devices; i++)
		add_device(t, line, vm, &vm->devices[i]);
	for (size_t i = 0; i < vm->n_taps; i++)
		add_tap(t, line, &vm->taps[i]);
	for (size_t i = 0; i < vm->n_threads; i++)
		if (!shown(vm, vm->threads[i].tid))
			add_worker(t, line, vm, &vm->threads[i]);
}

/* A line below the table, as wide as it likes: sentences do not fit in cells. */
__attribute__((format(printf, 3, 4)))
static void add_below(char **text, bool utf8, const char *fmt, ...)
{
	_cleanup_free_ char *line = NULL, *safe = NULL, *longer = NULL;
	va_list ap;

	if (!*text)
		return;
	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = NULL;
	va_end(ap);
	safe = escape_text(line ? line : "out of memory", utf8);
	longer = xasprintf("%s%s\n", *text, safe);
	free(*text);
	*text = STEAL_PTR(longer);
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

char *table_changes(const struct changes *c, char *const *notes, size_t n_notes,
		    const struct table_style *style)
{
	bool workers = false;
	struct table t;
	char *text;

	for (size_t i = 0; i < c->n; i++)
		workers |= c->items[i].concerns_worker;
	table_init(&t, change_columns, workers ? ARRAY_SIZE(change_columns) : COL_OF_WORKER, style);
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i];
		scols_line *line = add_line(&t, NULL);

		set(&t, line, COL_TARGET, change->target);
		set_int(&t, line, COL_PID, change->pid ? change->pid : UNKNOWN, "");
		set(&t, line, COL_SETTING, change->setting);
		if (change->before_text || change->after_text) {
			set(&t, line, COL_BEFORE, change->before_text ? change->before_text : "-");
			set(&t, line, COL_AFTER, change->after_text ? change->after_text : "-");
		} else {
			set_int(&t, line, COL_BEFORE, change->before, "");
			set_int(&t, line, COL_AFTER, change->after, "");
		}
		if (change->concerns_worker) {
			set_int(&t, line, COL_OF_WORKER, change->worker_id, "");
			set_int(&t, line, COL_OF_TID, change->worker_tid, "");
		}
		set(&t, line, COL_APPLIED, change->applied ? "yes" : "no");
	}
	text = table_finish(&t);
	for (size_t i = 0; i < n_notes; i++)
		add_below(&text, style->utf8, "note: %s", notes[i]);
	return text;
}

/* Escaped @text into lines of at most @width, broken at blanks; 0: one line. */
static void set_wrapped(struct table *t, scols_line *line, size_t column, const char *text,
			size_t width)
{
	_cleanup_free_ char *safe = escape_text(text, t->style->utf8);
	char *start = safe, *blank = NULL;

	for (char *p = safe; width && *p; p++) {
		if (*p == ' ')
			blank = p;
		if ((size_t)(p - start) < width || !blank)
			continue;
		*blank = '\n';
		start = blank + 1;
		blank = NULL;
	}
	if (line)
		t->failed |= scols_line_set_data(line, column, safe) != 0;
}

static size_t longest_name(const struct check_list *list)
{
	size_t longest = 0;

	for (size_t i = 0; i < list->n; i++)
		if (strlen(list->items[i].name) > longest)
			longest = strlen(list->items[i].name);
	return longest;
}

/* What the first column, at its widest where VMs have names, and " yes " leave of the terminal. */
static size_t reason_width(const struct check *c, const struct table_style *style)
{
	size_t names = c->n_vms ? check_columns[COL_CHECK].most : longest_name(&c->host);
	size_t taken = names + strlen(" yes ");

	return (size_t)style->width > taken + 20 ? (size_t)style->width - taken : 0;
}

static void add_checks(struct table *t, scols_line *parent, const struct check_list *list,
		       size_t width)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct check_item *item = &list->items[i];
		scols_line *line = add_line(t, parent);

		set(t, line, COL_CHECK, item->name);
		set(t, line, COL_OK, item->ok == CHECK_UNKNOWN ? "-" : item->ok ? "yes" : "no");
		set_wrapped(t, line, COL_REASON, item->reason, width);
	}
}

char *table_check(const struct check *c, const struct table_style *style)
{
	size_t width = reason_width(c, style);
	struct table t;

	table_init(&t, check_columns, ARRAY_SIZE(check_columns), style);
	add_checks(&t, NULL, &c->host, width);
	for (size_t i = 0; i < c->n_vms; i++) {
		const struct check_vm *vm = &c->vms[i];
		scols_line *line = add_line(&t, NULL);

		if (vm->name)
			set(&t, line, COL_CHECK, vm->name);
		else
			setf(&t, line, COL_CHECK, "%d", (int)vm->pid);
		setf(&t, line, COL_REASON, "pid %d", (int)vm->pid);
		add_checks(&t, line, &vm->list, width);
	}
	return table_finish(&t);
}
