// SPDX-License-Identifier: GPL-2.0-or-later
#include "coalesce.h"

#include <errno.h>
#include <string.h>

#include "procfs.h"

static const char operation[] = "set rx-frames";

int coalesce_parse(const char *text, uint32_t *frames, struct error *e)
{
	uint64_t number;

	if (!proc_number(text, strlen(text), TAP_RX_FRAMES_MAX, &number))
		return error_set(e, STATUS_USAGE, 0, operation,
				 "'%s' is no number from 0 to %d; of more the kernel silently makes %d", text,
				 TAP_RX_FRAMES_MAX, TAP_RX_FRAMES_MAX);
	*frames = (uint32_t)number;
	return 0;
}

/* Between the scan and now another interface may have got the name that was asked for. */
static int check_name(const struct tap_visit *v, const struct coalesce *c, struct error *e)
{
	if (!c->expected || !strcmp(c->expected, v->link.ifname))
		return 0;
	return error_set(e, STATUS_NOT_FOUND, 0, operation,
			 "it has just been renamed to %s; nothing was changed", v->link.ifname);
}

int coalesce_set(struct tap_visit *v, void *coalesce, struct error *e)
{
	struct coalesce *c = coalesce;
	int64_t now;

	if ((!c->sent && check_name(v, c, e)) || ethnl_get_rx_frames(&v->ethnl, &now, e))
		return -1;
	if (now == UNKNOWN)
		return error_set(e, STATUS_UNSUPPORTED, 0, operation,
				 "this interface has no rx-frames coalescing%s",
				 v->facts.macvtap ? ", as no macvtap has" : "");
	if (!c->sent)	/* in a second attempt it may be what the first one set */
		c->before = now;
	c->after = c->dry_run ? c->frames : now;
	if (c->dry_run || now == c->frames)
		return 0;
	if (ethnl_set_rx_frames(&v->ethnl, c->frames, e)) {
		c->sent |= e->errnum == ETIMEDOUT;
		return -1;
	}
	c->sent = true;
	if (ethnl_get_rx_frames(&v->ethnl, &c->after, e))
		return -1;
	if (c->after == c->frames)
		return 0;
	return error_set(e, STATUS_FAILED, 0, operation,
			 "it reads back as %lld, not %u; something else sets it at the same time",
			 (long long)c->after, c->frames);
}
