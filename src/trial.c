// SPDX-License-Identifier: GPL-2.0-or-later
/* What is to be tried, and what it takes to put it back: by pid, fd and index, which do not change hands. */
#include "trial.h"

#include <string.h>

#include "coalesce.h"
#include "options.h"
#include "trial_steps.h"
#include "util.h"
#include "value.h"
#include "vhost.h"

static int bad_setting(const char *text, struct error *e)
{
	return error_set(e, STATUS_USAGE, 0, NULL,
			 "'%s' is no setting; there are busyloop=USECS, rx-frames=N and "
			 "workers=per-queue or N", text);
}

static int parse_workers(const char *text, uint32_t *count, struct error *e)
{
	uint64_t n = 0;

	if (strcmp(text, "per-queue") && (parse_uint(text, VHOST_SCSI_WORKERS_MAX, &n) || !n))
		return error_set(e, STATUS_USAGE, 0, NULL,
				 "workers=%s is neither per-queue nor a number from 1 to %d", text,
				 VHOST_SCSI_WORKERS_MAX);
	*count = (uint32_t)n;
	return 0;
}

int trial_parse(const char *text, struct trial_setting *s, struct error *e)
{
	const char *value = strchr(text, '=');

	if (!value)
		return bad_setting(text, e);
	value++;
	if (!strncmp(text, "busyloop=", 9)) {
		s->kind = TRIAL_BUSYLOOP;
		return value_parse_usecs(value, &s->value, e);
	}
	if (!strncmp(text, "rx-frames=", 10)) {
		s->kind = TRIAL_RX_FRAMES;
		return coalesce_parse(value, &s->value, e);
	}
	if (strncmp(text, "workers=", 8))
		return bad_setting(text, e);
	s->kind = TRIAL_WORKERS;
	return parse_workers(value, &s->value, e);
}

static const struct {
	int (*plan)(struct trial *t, const struct trial_setting *s, struct error *e);
	int (*set)(struct trial *t, const struct trial_setting *s, struct error *e);
	int (*put_back)(struct trial *t, struct error *e);
} steps[TRIAL_KINDS] = {
	[TRIAL_BUSYLOOP] = { trial_plan_busyloop, trial_set_busyloop, trial_put_back_busyloop },
	[TRIAL_RX_FRAMES] = { trial_plan_frames, trial_set_frames, trial_put_back_frames },
	[TRIAL_WORKERS] = { trial_plan_workers, trial_set_workers, trial_put_back_workers },
};

static int fix_target(struct trial *t, const char *text, struct error *e)
{
	struct selection sel = { 0 };
	struct state state = { 0 };
	int ret = target_find(&text, 1, &state, &sel, e);

	for (size_t i = 0; ret == 0 && i < sel.n; i++) {
		*ARRAY_ADD(t->fixed, t->n_fixed) = target_fixed(&sel.items[i]);
		t->pid = sel.items[i].vm->pid;
		if (sel.items[i].vm->name && !t->name)
			t->name = xstrdup(sel.items[i].vm->name);
		t->start_time = sel.items[i].vm->start_time;
	}
	selection_free(&sel);
	state_free(&state);
	return ret;
}

int trial_plan(struct trial *t, const char *text, struct error *e)
{
	int ret = fix_target(t, text, e);

	t->text = xstrdup(text);
	for (size_t i = 0; ret == 0 && i < t->n_settings; i++)
		ret = steps[t->settings[i].kind].plan(t, &t->settings[i], e);
	if (ret == 0)
		ret = trial_note_devices(t, e);
	return ret ? error_target(e, "%s", text) : 0;
}

int trial_set(struct trial *t, struct error *e)
{
	struct error second = ERROR_INIT;
	int ret = trial_check_devices(t, false, e) ? -1 : 0;

	changes_free(&t->changes);
	for (size_t i = 0; ret == 0 && i < t->n_settings; i++)
		ret = steps[t->settings[i].kind].set(t, &t->settings[i], e);
	if (ret == 0)
		return 0;
	error_target(e, "%s", t->text);
	if (trial_put_back(t, &second) == 0)
		return -1;
	return error_append(e, second.status, "; %s", second.message);
}

static bool is_gone(const struct trial *t)
{
	return vm_has_ended(t->pid, t->start_time);
}

static int left(const struct trial *t, const struct error *why, struct error *e)
{
	error_set(e, STATUS_ROLLBACK, why->errnum, "put back", "%s", why->message);
	return error_target(e, "%s", t->text);
}

/* Each kind is tried, whatever became of the others; but nothing on devices that could not be looked at. */
int trial_put_back(struct trial *t, struct error *e)
{
	struct error own = ERROR_INIT;
	int looked;
	bool failed;

	owner_be_patient();
	looked = trial_check_devices(t, true, &own);
	failed = looked && !is_gone(t);
	if (failed)
		left(t, &own, e);
	/* The VM takes its devices with it, but not each tap. */
	for (size_t i = t->n_settings; i > 0; i--) {
		enum trial_kind kind = t->settings[i - 1].kind;

		if ((kind != TRIAL_RX_FRAMES && looked < 0) || steps[kind].put_back(t, &own) == 0 ||
		    (kind != TRIAL_RX_FRAMES && is_gone(t)))
			continue;
		failed = true;
		left(t, &own, e);
	}
	return failed ? -1 : 0;
}

/* Undo @k is served by the command of undo @i: of one device, with one value. */
static bool is_served(const struct trial *t, size_t i, size_t k)
{
	return t->undos[k].kind == t->undos[i].kind && t->undos[k].fd == t->undos[i].fd &&
	       t->undos[k].value == t->undos[i].value;
}

/* What is there to be put back; with @left, only what was set and is so still. */
static bool counts(const struct trial_undo *u, bool left)
{
	return !left || trial_is_due(u);
}

static char *queue_list(const struct trial *t, size_t i, bool left)
{
	char *text = xasprintf("%u", t->undos[i].queue);

	for (size_t k = i + 1; k < t->n_undos; k++) {
		char *longer;

		if (!is_served(t, i, k) || !counts(&t->undos[k], left))
			continue;
		longer = xasprintf("%s,%u", text, t->undos[k].queue);
		free(text);
		text = longer;
	}
	return text;
}

static bool in_earlier_list(const struct trial *t, size_t i, bool left)
{
	for (size_t k = 0; k < i; k++)
		if (is_served(t, i, k) && counts(&t->undos[k], left))
			return true;
	return false;
}

/* Workers that were made meanwhile serve nothing once the queues are back. */
static char *command(const struct trial *t, size_t i, bool left)
{
	const struct trial_undo *u = &t->undos[i];
	_cleanup_free_ char *queues = queue_list(t, i, left);
	bool last = !left;

	switch (u->kind) {
	case TRIAL_BUSYLOOP:
		return xasprintf("vhostctl -q busyloop set --force %d/fd%d/%s %u", (int)t->pid, u->fd, queues,
				 u->value);
	case TRIAL_RX_FRAMES:
		return xasprintf("vhostctl -q coalesce set %d/fd%d %u", (int)t->pid, u->fd, u->value);
	default:
		break;
	}
	for (size_t k = i + 1; k < t->n_undos; k++)
		last &= t->undos[k].kind != u->kind || t->undos[k].fd != u->fd || in_earlier_list(t, k, left);
	if (!last)
		return xasprintf("vhostctl -q worker attach %d/fd%d/%s %u", (int)t->pid, u->fd, queues,
				 u->value);
	return xasprintf("vhostctl -q worker attach %d/fd%d/%s %u && vhostctl -q worker free --idle %d/fd%d",
			 (int)t->pid, u->fd, queues, u->value, (int)t->pid, u->fd);
}

/* Takes both; @all can be NULL. */
static char *join(char *all, const char *by, char *one)
{
	char *longer;

	if (!all)
		return one;
	longer = xasprintf("%s%s%s", all, by, one);
	free(all);
	free(one);
	return longer;
}

char *trial_remedy(const struct trial *t)
{
	char *all = NULL;

	for (size_t i = 0; i < t->n_undos; i++)
		if (!in_earlier_list(t, i, false))
			all = join(all, " && ", command(t, i, false));
	return all;
}

char *trial_remedy_left(const struct trial *t)
{
	char *all = NULL;

	for (size_t i = 0; i < t->n_undos; i++)
		if (counts(&t->undos[i], true) && !in_earlier_list(t, i, true))
			all = join(all, "; ", command(t, i, true));
	for (size_t i = 0; i < t->n_made; i++)
		all = join(all, "; ", xasprintf("vhostctl -q worker free %d/fd%d %u", (int)t->pid,
						t->made[i].fd, t->made[i].id));
	return all;
}

void trial_free(struct trial *t)
{
	for (size_t i = 0; i < t->n_fixed; i++)
		free(t->fixed[i]);
	free(t->fixed);
	free(t->text);
	free(t->name);
	free(t->settings);
	free(t->undos);
	free(t->made);
	for (size_t i = 0; i < t->n_devices; i++)
		free(t->devices[i].tids);
	free(t->devices);
	for (size_t i = 0; i < t->n_spaces; i++)
		netns_close(&t->spaces[i]);
	free(t->spaces);
	changes_free(&t->changes);
	*t = (struct trial){ 0 };
}
