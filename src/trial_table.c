// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "escape.h"
#include "rates_table.h"
#include "trial_report.h"
#include "util.h"

static const char *number(double value, char text[24])
{
	return rates_number(value, 100000, text);
}

static void add_line(FILE *f, const char *line, bool utf8, int width)
{
	_cleanup_free_ char *safe = escape_text(line, utf8);

	fprintf(f, "%.*s\n", width ? utf8_fit(safe, width) : (int)strlen(safe), safe);
}

/* The VM is the same in all lines. */
static const char *part(const struct metric *m)
{
	const char *slash = strchr(m->target, '/');

	return slash ? slash + 1 : "VM";
}

static void add_metric(FILE *f, const struct metric *m, bool utf8, int width)
{
	const struct series *a = &m->sides[SIDE_BASELINE], *b = &m->sides[SIDE_TRIAL];
	char n[4][24], ratio[24];
	_cleanup_free_ char *line = NULL;

	if (!a->n && !b->n)
		return;
	if (isnan(metric_ratio(m)))
		strcpy(ratio, "-");
	else
		snprintf(ratio, sizeof(ratio), "%.2f", metric_ratio(m));
	line = xasprintf("%-15.15s %-18.18s %8s %8s  %8s %8s %6s", part(m), m->name,
			 number(series_mean(a), n[0]), number(series_stddev(a), n[1]),
			 number(series_mean(b), n[2]), number(series_stddev(b), n[3]), ratio);
	add_line(f, line, utf8, width);
}

char *trial_table(const struct trial_report *r, bool utf8, int width)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	add_line(f, r->trial->text, utf8, width);
	for (size_t i = 0; i < r->n_settings; i++)
		add_line(f, r->settings[i], utf8, width);
	add_line(f, r->put_back ? "put back" : "not put back", utf8, width);
	add_line(f, "PART            METRIC             BASELINE   STDDEV     TRIAL   STDDEV  RATIO", utf8,
		 width);
	for (size_t i = 0; i < r->measure->n_metrics; i++)
		add_metric(f, &r->measure->metrics[i], utf8, width);
	for (size_t i = 0; i < r->n_notes; i++)
		fprintf(f, "note: %s\n", r->notes[i]);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
