// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_trial.h"

#include "json_parts.h"

static json_t *series_json(const struct series *s)
{
	json_t *o;

	if (!s->n)
		return json_null();
	o = json_object();
	put_real(o, "mean", series_mean(s), 2);
	put_real(o, "stddev", series_stddev(s), 2);
	put_real(o, "min", s->min, 2);
	put_real(o, "max", s->max, 2);
	put_int(o, "slices", s->n);
	return o;
}

static json_t *metric_json(const struct metric *m)
{
	json_t *o = json_object();

	put_string(o, "target", m->target);
	put_string(o, "metric", m->name);
	put(o, "baseline", series_json(&m->sides[SIDE_BASELINE]));
	put(o, "trial", series_json(&m->sides[SIDE_TRIAL]));
	put_real(o, "ratio", metric_ratio(m), 4);
	return o;
}

char *json_trial(const struct trial_report *r, bool pretty)
{
	json_t *o = json_document(r->kernel), *settings = json_array(), *changes = json_array();
	json_t *metrics = json_array(), *notes = json_array();

	for (size_t i = 0; i < r->n_settings; i++)
		json_array_append_new(settings, json_string(r->settings[i]));
	for (size_t i = 0; i < r->trial->changes.n; i++)
		json_array_append_new(changes, json_change(&r->trial->changes.items[i]));
	for (size_t i = 0; i < r->measure->n_metrics; i++)
		json_array_append_new(metrics, metric_json(&r->measure->metrics[i]));
	for (size_t i = 0; i < r->n_notes; i++)
		json_array_append_new(notes, json_string(r->notes[i]));
	put_string(o, "source", r->source);
	put_string(o, "target", r->trial->text);
	put_int(o, "pid", r->trial->pid);
	put(o, "settings", settings);
	put(o, "changes", changes);
	put(o, "put_back", json_boolean(r->put_back));
	put_string(o, "interrupted", r->interrupted);
	put_real(o, "baseline_seconds", r->measure->seconds[SIDE_BASELINE], 3);
	put_real(o, "trial_seconds", r->measure->seconds[SIDE_TRIAL], 3);
	put(o, "metrics", metrics);
	put(o, "notes", notes);
	return json_text(o, pretty);
}
