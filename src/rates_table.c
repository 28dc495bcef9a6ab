// SPDX-License-Identifier: GPL-2.0-or-later
#include "rates_table.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "escape.h"
#include "util.h"

/* Lines gather in a stream that is memory; each is cut to the terminal. */
struct lines {
	FILE *f;
	const struct rates_style *style;
	int n;
};

__attribute__((format(printf, 2, 3)))
static void add(struct lines *l, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char *safe = NULL;
	int len;
	va_list ap;

	if (l->style->height && l->n >= l->style->height)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	safe = escape_text(text ? text : "out of memory", l->style->utf8);
	len = l->style->width ? utf8_fit(safe, l->style->width) : (int)strlen(safe);
	while (len && safe[len - 1] == ' ')
		len--;
	fprintf(l->f, "%.*s\n", len, safe);
	l->n++;
}

const char *rates_number(double value, double tenths, char text[24])
{
	static const char units[] = " kMGT";
	size_t unit = 0;

	if (!isfinite(value)) {
		strcpy(text, "-");
		return text;
	}
	if (value < 100000) {
		snprintf(text, 24, value < tenths ? "%.1f" : "%.0f", value);
		return text;
	}
	while (value >= 1000 && unit + 2 < sizeof(units)) {
		value /= 1000;
		unit++;
	}
	snprintf(text, 24, "%.2f%c", value, units[unit]);
	return text;
}

static const char *number(double value, char text[24])
{
	return rates_number(value, 1000, text);
}

static const char *integer(int64_t value, char text[24])
{
	if (value == UNKNOWN)
		strcpy(text, "-");
	else
		snprintf(text, 24, "%lld", (long long)value);
	return text;
}

/* The part's name in a column of its own. A VM can have any name: @most columns of it. */
static void add_row(struct lines *l, const char *name, const char *a, const char *b, const char *c,
		    const char *d, const char *e, const char *rest)
{
	add(l, "%-16.16s %8s %8s %8s %8s %8s  %s", name, a, b, c, d, e, rest);
}

static void add_workers(struct lines *l, const struct vm_rate *r)
{
	char n[6][24], name[64];

	if (r->n_workers)
		add_row(l, " WORKER", "TID", "CPU%", "WAIT%", "SWITCH/s", "ns/ENTRY", "");
	for (size_t i = 0; i < r->n_workers; i++) {
		const struct worker_rate *w = &r->workers[i];

		if (*w->device)
			snprintf(name, sizeof(name), " %s %s", w->device, integer(w->id, n[0]));
		else
			snprintf(name, sizeof(name), " %.40s", w->comm);
		add_row(l, name, integer(w->tid, n[1]), number(w->cpu_percent, n[2]),
			number(w->wait_percent, n[3]),
			number(w->voluntary_per_s + w->involuntary_per_s, n[4]),
			number(w->ns_per_entry, n[5]), w->spinning == 1 ? "spinning" : "");
	}
}

static void add_queues(struct lines *l, const struct vm_rate *r)
{
	char n[5][24], name[64];
	bool first = true;

	for (size_t d = 0; d < r->n_devices; d++)
		for (size_t i = 0; i < r->devices[d].n_queues; i++) {
			const struct queue_rate *q = &r->devices[d].queues[i];

			if (first)
				add_row(l, " QUEUE", "PACKET/s", "ENTRY/s", "PENDING", "BUSYLOOP",
					"WORKER", "");
			first = false;
			if (*q->name)
				snprintf(name, sizeof(name), " %s/%s", r->devices[d].id, q->name);
			else
				snprintf(name, sizeof(name), " %s/%u", r->devices[d].id, q->index);
			add_row(l, name, number(q->packets_per_s, n[0]), number(q->entries_per_s, n[1]),
				integer(q->pending, n[2]), integer(q->busyloop_usecs, n[3]),
				integer(q->worker_tid, n[4]), "");
		}
}

static void add_taps(struct lines *l, const struct vm_rate *r)
{
	char n[5][24], name[64];

	if (r->n_taps)
		add_row(l, " TAP", "FROM VM/s", "TO VM/s", "B FROM/s", "B TO/s", "DROP/s", "");
	for (size_t i = 0; i < r->n_taps; i++) {
		const struct tap_rate *t = &r->taps[i];

		snprintf(name, sizeof(name), " %s", *t->ifname ? t->ifname : "-");
		add_row(l, name, number(t->rx_packets_per_s, n[0]), number(t->tx_packets_per_s, n[1]),
			number(t->rx_bytes_per_s, n[2]), number(t->tx_bytes_per_s, n[3]),
			number(t->rx_dropped_per_s + t->tx_dropped_per_s, n[4]), "");
	}
}

static void add_errors(struct lines *l, const struct error *errors, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(l, "error: %s%s%s", errors[i].operation, *errors[i].operation ? ": " : "",
		    errors[i].message);
}

static void add_vm(struct lines *l, const struct vm_rate *r)
{
	char n[3][24];

	add(l, "%.32s (pid %d)  CPU %s%%, workers %s%%", r->name ? r->name : "VM", (int)r->pid,
	    number(r->cpu_percent, n[0]), number(r->worker_cpu_percent, n[1]));
	add_workers(l, r);
	add_taps(l, r);
	add_queues(l, r);
	for (size_t i = 0; i < r->n_devices; i++)
		add_errors(l, r->devices[i].errors, r->devices[i].n_errors);
	for (size_t i = 0; i < r->n_taps; i++)
		add_errors(l, r->taps[i].errors, r->taps[i].n_errors);
	add_errors(l, r->errors, r->n_errors);
}

char *rates_table(const struct rates *r, const struct rates_style *style)
{
	struct lines l = { .style = style };
	time_t at = (time_t)r->time;
	char *text = NULL, clock[32];
	size_t size;
	struct tm tm;

	l.f = open_memstream(&text, &size);
	if (!l.f)
		return NULL;
	if (!localtime_r(&at, &tm) || !strftime(clock, sizeof(clock), "%H:%M:%S", &tm))
		clock[0] = '\0';
	add(&l, "%s  over %.1f s  source %s", clock, r->seconds, r->source ? r->source : "-");
	if (!r->n_vms)
		add(&l, "no VMs");
	for (size_t i = 0; i < r->n_vms; i++)
		add_vm(&l, &r->vms[i]);
	add_errors(&l, r->errors, r->n_errors);
	if (fclose(l.f)) {
		free(text);
		return NULL;
	}
	return text;
}
