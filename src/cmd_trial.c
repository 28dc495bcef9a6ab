// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "command.h"
#include "json_trial.h"
#include "output.h"
#include "sampler.h"
#include "scan.h"
#include "trial_report.h"
#include "util.h"
#include "value.h"

struct options {
	const char *seconds, *baseline, *source;
	bool keep, force;
};

static const struct option_spec option_table[] = {
	{ "for", 0, OPTION_STRING, "SECS", "how long to try, and to measure; it must be given",
	  offsetof(struct options, seconds), 0 },
	{ "baseline", 0, OPTION_STRING, "SECS", "how long to measure before (default: as long)",
	  offsetof(struct options, baseline), 0 },
	{ "keep", 0, OPTION_FLAG, NULL, "do not put back what was there before",
	  offsetof(struct options, keep), 0 },
	{ "force", 'f', OPTION_FLAG, NULL, "allow a busy-loop timeout of more than 10 ms",
	  offsetof(struct options, force), 0 },
	OPTION_SOURCE(struct options),
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

/* A rate of less than this says little, and spread takes several. */
#define SLICE_NS 500000000
#define MOST_SLICES 20

struct run {
	struct context *ctx;
	const struct options *o;
	int64_t ns[SIDES];
	enum source source;
	struct stopper stopper;
	struct sampler sampler;
	struct trial trial;
	struct measure measure;
	struct trial_report report;
	bool kept;		/* what was set stays */
};

static int parse(struct run *r, struct error *e)
{
	struct trial *t = &r->trial;

	if (!r->o->seconds)
		return error_set(e, STATUS_USAGE, 0, "trial", "say how long with --for SECS");
	if (value_parse_interval(r->o->seconds, &r->ns[SIDE_TRIAL], e) ||
	    value_parse_interval(r->o->baseline ? r->o->baseline : r->o->seconds, &r->ns[SIDE_BASELINE], e) ||
	    source_parse(r->o->source, &r->source, e))
		return -1;
	for (int i = 1; i < r->ctx->argc; i++) {
		struct trial_setting *s = ARRAY_ADD(t->settings, t->n_settings);

		if (trial_parse(r->ctx->argv[i], s, e))
			return -1;
		for (size_t k = 0; k + 1 < t->n_settings; k++)
			if (t->settings[k].kind == s->kind)
				return error_set(e, STATUS_USAGE, 0, NULL, "'%s' is there already",
						 r->ctx->argv[i]);
		if (s->kind == TRIAL_BUSYLOOP && !r->o->force && value_check_usecs(s->value, e))
			return -1;
	}
	return 0;
}

/* One side: rates over slices of equal length. A signal ends it; a slice cut short does not count. */
static int measure(struct run *r, enum side side, struct error *e)
{
	struct stat_sample last, now;
	int64_t slices = r->ns[side] / SLICE_NS, next;
	int ret;

	slices = slices < 2 ? 2 : slices > MOST_SLICES ? MOST_SLICES : slices;
	if (sampler_take(&r->sampler, &last, e))
		return -1;
	if (side == SIDE_BASELINE)
		output_source(r->ctx, &last.state, &r->sampler.why);
	next = clock_ns();
	for (int64_t i = 0; i < slices; i++) {
		struct rates rates;

		next += r->ns[side] / slices;
		if (sampler_wait(&r->sampler, next, &r->stopper))
			break;
		ret = sampler_take(&r->sampler, &now, e);
		if (ret) {
			sample_free(&last);
			return -1;
		}
		rates_make(&last, &now, &rates);
		measure_add(&r->measure, side, &rates);
		rates_free(&rates);
		sample_free(&last);
		last = now;
	}
	r->report.source = last.state.source;
	memcpy(r->report.kernel, last.state.kernel, sizeof(r->report.kernel));
	sample_free(&last);
	return 0;
}

/* With -v, what touched the VM by the trial itself. */
static void tell_log(struct run *r)
{
	const struct vm vm = { .pid = r->trial.pid, .name = r->trial.name };

	if (vm.pid)
		output_log(r->ctx, &vm, &r->trial.log);
}

/* So that even who kills this process has it at hand. */
static void tell_remedy(struct run *r)
{
	_cleanup_free_ char *remedy = trial_remedy(&r->trial);

	if (remedy && r->ctx->verbosity >= 0) {
		fprintf(r->ctx->err, "vhostctl: trial: should it be killed, put back with: %s\n", remedy);
		fflush(r->ctx->err);
	}
}

/* Of an error, not a note: nothing else says how. Too long for the error's own line. */
static void tell_left(struct run *r)
{
	_cleanup_free_ char *remedy = trial_remedy_left(&r->trial);

	if (remedy) {
		fprintf(r->ctx->err, "vhostctl: trial: what is left can be put back with: %s\n", remedy);
		fflush(r->ctx->err);
	}
}

static void note(struct run *r, const char *text)
{
	r->report.notes[r->report.n_notes++] = text;
}

static int try(struct run *r, struct error *e)
{
	size_t planned = r->trial.n_undos;
	struct error second = ERROR_INIT;
	int ret;

	if (trial_set(&r->trial, e)) {
		if (e->status == STATUS_ROLLBACK)
			tell_left(r);
		return -1;
	}
	/* Somebody changed more of it during the baseline. */
	if (r->trial.n_undos > planned)
		tell_remedy(r);
	if (!r->trial.n_undos)
		note(r, "nothing was to be changed: the values were there before");
	sampler_forget(&r->sampler);
	ret = measure(r, SIDE_TRIAL, e);
	if (r->o->keep && ret == 0 && !r->stopper.got) {
		note(r, "the new values were kept");
		r->kept = true;
		return 0;
	}
	if (trial_put_back(&r->trial, &second)) {
		*e = second;
		tell_left(r);
		return -1;
	}
	r->report.put_back = true;
	return ret;
}

static int print(struct run *r, struct error *e)
{
	struct trial_report *report = &r->report;
	bool closed;

	report->settings = r->ctx->argv + 1;
	report->n_settings = (size_t)(r->ctx->argc - 1);
	report->trial = &r->trial;
	report->measure = &r->measure;
	report->interrupted = r->stopper.got ? stopper_name(r->stopper.got) : NULL;
	return output_stream(r->ctx, r->ctx->format == FORMAT_TABLE
			     ? trial_table(report, r->ctx->utf8, r->ctx->width)
			     : json_trial(report, r->ctx->format == FORMAT_PRETTY),
			     &r->stopper, &closed, e);
}

/* What was measured until then is worth having, but a script must not take it for a whole trial. */
static int finish(struct run *r, struct error *e)
{
	if (print(r, e))
		return -1;
	if (!r->stopper.got)
		return 0;
	return error_set(e, STATUS_FAILED, EINTR, "trial", "ended by %s; %s", stopper_name(r->stopper.got),
			 r->report.put_back ? "what was set has been put back" :
			 r->kept ? "the new values were kept" : "nothing had been set");
}

static int run_trial(struct run *r, struct error *e)
{
	struct state kernel = { 0 };

	if (trial_plan(&r->trial, r->ctx->argv[0], e))
		return -1;
	if (r->ctx->dry_run) {
		scan_kernel(&kernel);
		return output_changes(r->ctx, kernel.kernel, &r->trial.changes, NULL, 0, e);
	}
	if (sampler_open(&r->sampler, r->ctx->argv[0], r->source, e))
		return -1;
	r->sampler.tell = output_asked;
	r->sampler.arg = r->ctx;
	if (r->sampler.start_time != r->trial.start_time)
		return error_set(e, STATUS_NOT_FOUND, ESRCH, NULL, "the VM is gone");
	tell_remedy(r);
	if (measure(r, SIDE_BASELINE, e))
		return -1;
	if (!r->stopper.got && try(r, e))
		return -1;
	return finish(r, e);
}

static int run(struct context *ctx, struct error *e)
{
	struct run r = { .ctx = ctx, .o = ctx->options };
	int ret = parse(&r, e);

	if (ret == 0)
		ret = stopper_start(&r.stopper, e);
	if (ret == 0) {
		ret = run_trial(&r, e);
		tell_log(&r);
		sampler_close(&r.sampler);
		stopper_end(&r.stopper);
	}
	measure_free(&r.measure);
	trial_free(&r.trial);
	return ret ? error_target(e, "%s", ctx->argv[0]) : 0;
}

const struct command cmd_trial = {
	.name = "trial",
	.operands = "TARGET SETTING...",
	.summary = "measure, set, measure, put back: both sides next to each other",
	.details = "SETTING is busyloop=USECS, rx-frames=N, or workers=per-queue or N. What was before is\n"
		   "put back at the end, and also on an error, SIGINT, SIGTERM, SIGHUP or SIGQUIT. Should\n"
		   "the program be killed, the command that it printed first puts it back.",
	.min_operands = 2,
	.max_operands = -1,
	.changes = true,
	.options = option_table,
	.options_size = sizeof(struct options),
	.run = run,
};
