// SPDX-License-Identifier: GPL-2.0-or-later
#include "dot.h"

#include <inttypes.h>

#include "escape.h"
#include "util.h"

/* Contents of a quoted string: quotes and backslashes of a name must not end or change it. */
static void put_name(FILE *f, const char *name)
{
	_cleanup_free_ char *safe = escape_text(name, true);

	for (const char *p = safe; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', f);
		fputc(*p, f);
	}
}

/* Can @b be drawn together with @a, as one of a row of queues that are served alike? */
static bool alike(const struct queue *a, const struct queue *b)
{
	return b->index == a->index + 1 && b->worker_id == a->worker_id &&
	       b->worker_tid == a->worker_tid && b->busyloop_usecs == a->busyloop_usecs;
}

static void put_queue_name(FILE *f, const struct queue *q)
{
	if (*q->name)
		put_name(f, q->name);
	else
		fprintf(f, "%u", q->index);
}

static void put_worker_label(FILE *f, const struct worker *w)
{
	if (w->id != UNKNOWN)
		fprintf(f, "worker %" PRId64, w->id);
	else
		fputs("worker", f);
	if (w->tid != UNKNOWN)
		fprintf(f, "\\ntid %" PRId64, w->tid);
	else
		fputs("\\ntid not known", f);
	if (w->cpus) {
		fputs("\\ncpus ", f);
		put_name(f, w->cpus);
	}
	if (w->queues && !w->n_queues)
		fputs("\\nidle", f);
}

static void put_queues(FILE *f, size_t vm, size_t dev, const struct device *d)
{
	for (size_t i = 0, last; i < d->n_queues; i = last + 1) {
		const struct queue *q = &d->queues[i];

		for (last = i; last + 1 < d->n_queues; last++)
			if (!alike(&d->queues[last], &d->queues[last + 1]))
				break;
		fprintf(f, "    q%zu_%zu_%u [shape=box, label=\"", vm, dev, q->index);
		put_queue_name(f, q);
		if (last > i) {
			fputs(" - ", f);
			put_queue_name(f, &d->queues[last]);
		}
		if (q->busyloop_usecs != UNKNOWN && q->busyloop_usecs != 0)
			fprintf(f, "\\nbusy-loop %" PRId64 " us", q->busyloop_usecs);
		fprintf(f, "\"];\n    d%zu_%zu -> q%zu_%zu_%u;\n", vm, dev, vm, dev, q->index);
		for (size_t k = 0; k < d->n_workers; k++)
			if (q->worker_id != UNKNOWN && d->workers[k].id == q->worker_id)
				fprintf(f, "    q%zu_%zu_%u -> w%zu_%zu_%zu;\n", vm, dev, q->index, vm,
					dev, k);
	}
}

static void put_device(FILE *f, size_t vm, size_t dev, const struct device *d)
{
	fprintf(f, "    d%zu_%zu [shape=component, label=\"", vm, dev);
	put_name(f, d->id);
	fprintf(f, "\\nfd %d", d->fd);
	if (d->tap) {
		fputs("\\n", f);
		put_name(f, d->tap);
	}
	fprintf(f, "\"];\n    vm%zu -> d%zu_%zu;\n", vm, vm, dev);
	for (size_t k = 0; k < d->n_workers; k++) {
		fprintf(f, "    w%zu_%zu_%zu [shape=ellipse, label=\"", vm, dev, k);
		put_worker_label(f, &d->workers[k]);
		fputs("\"];\n", f);
		/* What serves no queue has no edge from one. */
		if (d->workers[k].queues && !d->workers[k].n_queues)
			fprintf(f, "    d%zu_%zu -> w%zu_%zu_%zu [style=dashed];\n", vm, dev, vm, dev, k);
	}
	put_queues(f, vm, dev, d);
}

/* Threads of which it is not known whose they are. */
static bool is_drawn(const struct vm *vm, int64_t tid)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		for (size_t k = 0; k < vm->devices[i].n_workers; k++)
			if (vm->devices[i].workers[k].tid == tid)
				return true;
	return false;
}

static void put_vm(FILE *f, size_t i, const struct vm *vm)
{
	fprintf(f, "  subgraph cluster%zu {\n    vm%zu [shape=box3d, label=\"", i, i);
	if (vm->name) {
		put_name(f, vm->name);
		fputs("\\n", f);
	}
	fprintf(f, "pid %d\"];\n", (int)vm->pid);
	for (size_t d = 0; d < vm->n_devices; d++)
		put_device(f, i, d, &vm->devices[d]);
	for (size_t t = 0; t < vm->n_threads; t++) {
		const struct worker *w = &vm->threads[t];

		if (is_drawn(vm, w->tid))
			continue;
		fprintf(f, "    t%zu_%zu [shape=ellipse, style=dotted, label=\"", i, t);
		put_name(f, w->comm);
		fprintf(f, "\\ntid %" PRId64 "\"];\n", w->tid);
		fprintf(f, "    vm%zu -> t%zu_%zu [style=dotted];\n", i, i, t);
	}
	fputs("  }\n", f);
}

char *dot_state(const struct state *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int failed;

	if (!f)
		return NULL;
	fputs("digraph vhost {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n", f);
	for (size_t i = 0; i < s->n_vms; i++)
		put_vm(f, i, &s->vms[i]);
	fputs("}\n", f);
	failed = ferror(f) | fclose(f);
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}
