// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"
#include "json_rates.h"
#include "live.h"
#include "openmetrics.h"
#include "options.h"
#include "output.h"
#include "rates_table.h"
#include "replace_file.h"
#include "sampler.h"
#include "util.h"
#include "value.h"

struct options {
	bool all, openmetrics;
	const char *output, *source;
};

static const struct option_spec option_table[] = {
	{ "all", 'a', OPTION_FLAG, NULL, "every VM of this host, instead of TARGET",
	  offsetof(struct options, all), 0 },
	{ "openmetrics", 0, OPTION_FLAG, NULL, "counters for a time series database, instead of rates",
	  offsetof(struct options, openmetrics), 0 },
	{ "output", 'o', OPTION_STRING, "FILE", "write each document to FILE, in place of the one before",
	  offsetof(struct options, output), 0 },
	OPTION_SOURCE(struct options),
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

#define DEFAULT_INTERVAL_NS 1000000000

struct run {
	struct context *ctx;
	const struct options *o;
	const char *target;	/* NULL: all */
	int64_t interval_ns;
	uint64_t count;		/* documents; 0: until a signal */
	struct sampler sampler;
	struct stopper stopper;
	struct live live;	/* f is NULL when there is none */
	bool closed;
};

/* TARGET [INTERVAL [COUNT]], without TARGET if --all. */
static int parse(struct run *r, struct error *e)
{
	struct context *ctx = r->ctx;
	char **rest = ctx->argv + !r->o->all;
	int n = ctx->argc - !r->o->all;

	if (n < 0)
		return error_set(e, STATUS_USAGE, 0, "stat",
				 "name a TARGET, or --all for every VM of this host");
	r->target = r->o->all ? NULL : ctx->argv[0];
	if (n > 2)
		return error_set(e, STATUS_USAGE, 0, "stat",
				 "one operand too many: '%s'; with --all there is no TARGET", rest[2]);
	r->interval_ns = DEFAULT_INTERVAL_NS;
	r->count = n ? 0 : 1;
	if (n && value_parse_interval(rest[0], &r->interval_ns, e))
		return -1;
	if (n > 1 && (parse_uint(rest[1], UINT32_MAX, &r->count) || !r->count))
		return error_set(e, STATUS_USAGE, 0, "stat", "'%s' is no number of documents", rest[1]);
	return 0;
}

static int write_out(struct run *r, char *text, struct error *e)
{
	int ret;

	if (!r->o->output || !text)
		return output_stream(r->ctx, text, &r->stopper, &r->closed, e);
	ret = replace_file(r->o->output, text, &r->stopper, e);
	free(text);
	return ret;
}

static int draw(struct run *r, const struct rates *rates, struct error *e)
{
	struct rates_style style = { .utf8 = r->ctx->utf8 };
	_cleanup_free_ char *text = NULL;

	live_measure(&r->live);
	style.width = r->live.width;
	style.height = r->live.height;
	text = rates_table(rates, &style);
	if (!text)
		return error_errno(e, ENOMEM, "make the document", NULL);
	return live_draw(&r->live, text) ? error_errno(e, errno, "write standard output", NULL) : 0;
}

static int write_rates(struct run *r, const struct stat_sample *from, const struct stat_sample *to,
		       struct error *e)
{
	struct rates_style style = { .utf8 = r->ctx->utf8, .width = r->o->output ? 0 : r->ctx->width };
	struct rates rates;
	int ret;

	rates_make(from, to, &rates);
	if (r->live.f)
		ret = draw(r, &rates, e);
	else if (r->ctx->format == FORMAT_TABLE)
		ret = write_out(r, rates_table(&rates, &style), e);
	else
		ret = write_out(r, json_rates(&rates, r->ctx->format == FORMAT_PRETTY), e);
	rates_free(&rates);
	return ret;
}

/* Counters are as they are at once; only more than one document can tell how far rings have come. */
static int metrics(struct run *r, const struct stat_sample *first, struct error *e)
{
	struct stat_sample now = { 0 };
	struct ring_bases rings = { 0 };
	int64_t next = clock_ns();
	int ret;

	ring_bases_update(&rings, first);
	ret = write_out(r, openmetrics(first, r->count == 1 ? NULL : &rings), e);

	for (uint64_t n = 1; ret == 0 && !r->closed && n != r->count; n++) {
		next += r->interval_ns;
		if (sampler_wait(&r->sampler, next, &r->stopper))
			break;
		sample_free(&now);
		ret = sampler_take(&r->sampler, &now, e);
		if (ret == 0) {
			ring_bases_update(&rings, &now);
			ret = write_out(r, openmetrics(&now, &rings), e);
		}
	}
	ring_bases_free(&rings);
	sample_free(&now);
	return ret;
}

static int rates(struct run *r, struct stat_sample *last, struct error *e)
{
	int64_t next = clock_ns();
	int ret = 0;

	for (uint64_t n = 0; ret == 0 && !r->closed && (!r->count || n < r->count); n++) {
		struct stat_sample now = { 0 };

		next += r->interval_ns;
		if (sampler_wait(&r->sampler, next, &r->stopper))
			break;
		ret = sampler_take(&r->sampler, &now, e);
		if (ret == 0)
			ret = write_rates(r, last, &now, e);
		sample_free(last);
		*last = now;
	}
	return ret;
}

static int sample(struct run *r, struct error *e)
{
	struct stat_sample first;
	int ret;

	if (sampler_take(&r->sampler, &first, e))
		return -1;
	output_source(r->ctx, &first.state, &r->sampler.why);
	if (r->o->openmetrics)
		output_errors(r->ctx, &first.state);
	if (r->ctx->format == FORMAT_TABLE && r->ctx->width && r->count != 1 && !r->o->output &&
	    !r->o->openmetrics && !r->ctx->quiet)
		live_start(&r->live, r->ctx->out);
	ret = r->o->openmetrics ? metrics(r, &first, e) : rates(r, &first, e);
	if (r->live.f)
		live_end(&r->live);
	sample_free(&first);
	return ret;
}

static int run(struct context *ctx, struct error *e)
{
	struct run r = { .ctx = ctx, .o = ctx->options };
	enum source source;
	int ret;

	if (parse(&r, e) || source_parse(r.o->source, &source, e))
		return r.target || !e->operation[0]
			? error_target(e, "%s", r.target ? r.target : "stat") : -1;
	if (stopper_start(&r.stopper, e))
		return -1;
	ret = sampler_open(&r.sampler, r.target, source, e);
	r.sampler.tell = output_asked;
	r.sampler.arg = ctx;
	if (ret == 0)
		ret = sample(&r, e);
	sampler_close(&r.sampler);
	stopper_end(&r.stopper);
	return ret ? error_target(e, "%s", r.target ? r.target : "stat") : 0;
}

const struct command cmd_stat = {
	.name = "stat",
	.operands = "TARGET [INTERVAL] [COUNT]",
	.summary = "CPU of workers, progress of queues, packets and drops of taps, by the second",
	.details = "INTERVAL is in seconds, such as 1, 0.5 or 500ms; with it there is a document for each,\n"
		   "COUNT of them or until a signal. No thread is stopped where the kernel snapshot works;\n"
		   "else one is, once, and what only the snapshot tells is null. With --table on a\n"
		   "terminal the view is live.",
	.min_operands = 0,
	.max_operands = 3,
	.options = option_table,
	.options_size = sizeof(struct options),
	.run = run,
};
