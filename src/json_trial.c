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
	json_t *o = json_document(r->kernel);

	put_string(o, "source", r->source);
	put_string(o, "target", r->trial->text);
	put_int(o, "pid", r->trial->pid);
	put(o, "settings", JSON_LIST(i, r->n_settings, json_text(r->settings[i])));
	put(o, "changes", JSON_LIST(i, r->trial->changes.n, json_change(&r->trial->changes.items[i])));
	put(o, "put_back", json_boolean(r->put_back));
	put_string(o, "interrupted", r->interrupted);
	put_real(o, "baseline_seconds", r->measure->seconds[SIDE_BASELINE], 3);
	put_real(o, "trial_seconds", r->measure->seconds[SIDE_TRIAL], 3);
	put(o, "metrics", JSON_LIST(i, r->measure->n_metrics, metric_json(&r->measure->metrics[i])));
	put(o, "notes", JSON_LIST(i, r->n_notes, json_text(r->notes[i])));
	return json_finish(o, pretty);
}
