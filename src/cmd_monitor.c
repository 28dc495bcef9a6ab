// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"
#include "json_event.h"
#include "monitor.h"
#include "output.h"
#include "util.h"
#include "value.h"

struct options {
	const char *interval;
};

static const struct option_spec option_table[] = {
	{ "interval", 0, OPTION_STRING, "SECS", "how often to look for new processes (default: 1)",
	  offsetof(struct options, interval), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

struct stream {
	struct context *ctx;
	struct monitor *monitor;
	struct stopper *stopper;
	struct error *e;
	bool failed;
};

static void print(const struct event *event, void *arg)
{
	struct stream *s = arg;
	bool closed;

	if (s->failed || s->monitor->closed)
		return;
	s->failed = output_stream(s->ctx, s->ctx->format == FORMAT_TABLE
				  ? event_text(event, s->ctx->utf8) : json_event(event),
				  s->stopper, &closed, s->e) < 0;
	/* A disk that is full ends it as a reader that has gone does, but not quietly. */
	s->monitor->closed |= closed || s->failed;
}

static int run(struct context *ctx, struct error *e)
{
	const struct options *o = ctx->options;
	struct monitor m = { .tell = print, .interval_ns = 1000000000, .close_fd = STDOUT_FILENO };
	struct error failure = ERROR_INIT;
	struct stopper stopper;
	struct stream stream = { .ctx = ctx, .monitor = &m, .stopper = &stopper, .e = &failure };
	int ret;

	m.arg = &stream;
	if (o->interval && value_parse_interval(o->interval, &m.interval_ns, e))
		return error_target(e, "--interval");
	if (stopper_start(&stopper, e))
		return -1;
	ret = monitor_run(&m, &stopper, e);
	stopper_end(&stopper);
	if (ret == 0 && stream.failed) {
		*e = failure;
		ret = -1;
	}
	return ret;
}

const struct command cmd_monitor = {
	.name = "monitor",
	.operands = "",
	.summary = "one line for each VM, device or tap that comes, goes or changes",
	.details = "Ends at a signal, or when the reader of its output has gone. No thread is stopped.",
	.max_operands = 0,
	.options = option_table,
	.options_size = sizeof(struct options),
	.run = run,
};
