// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <string.h>

#include "table_parts.h"
#include "util.h"

enum { COL_TARGET, COL_PID, COL_SETTING, COL_BEFORE, COL_AFTER, COL_APPLIED, COL_OF_WORKER, COL_OF_TID };

static const struct column change_columns[] = {
	[COL_TARGET] = { "TARGET", 0, 34 },
	[COL_PID] = { "PID", SCOLS_FL_RIGHT, 0 },
	[COL_SETTING] = { "SETTING", 0, 0 },
	[COL_BEFORE] = { "BEFORE", SCOLS_FL_RIGHT, 0 },
	[COL_AFTER] = { "AFTER", SCOLS_FL_RIGHT, 0 },
	[COL_APPLIED] = { "APPLIED", 0, 0 },
	/* Only where a worker is concerned. */
	[COL_OF_WORKER] = { "WORKER", SCOLS_FL_RIGHT, 0 },
	[COL_OF_TID] = { "TID", SCOLS_FL_RIGHT, 0 },
};

enum { COL_CHECK, COL_OK, COL_REASON };

static const struct column check_columns[] = {
	[COL_CHECK] = { "CHECK", SCOLS_FL_TREE, 32 },
	[COL_OK] = { "OK", 0, 0 },
	[COL_REASON] = { "REASON", SCOLS_FL_WRAP, 0 },
};

char *table_changes(const struct changes *c, char *const *notes, size_t n_notes,
		    const struct table_style *style)
{
	bool workers = false;
	struct table t;
	char *text;

	for (size_t i = 0; i < c->n; i++)
		workers |= c->items[i].concerns_worker;
	table_init(&t, change_columns, workers ? ARRAY_SIZE(change_columns) : COL_OF_WORKER, style);
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i];
		struct libscols_line *line = add_line(&t, NULL);

		put_cell(&t, line, COL_TARGET, change->target);
		put_int_cell(&t, line, COL_PID, change->pid ? change->pid : UNKNOWN, "");
		put_cell(&t, line, COL_SETTING, change->setting);
		if (change->before_text || change->after_text) {
			put_cell(&t, line, COL_BEFORE, change->before_text ? change->before_text : "-");
			put_cell(&t, line, COL_AFTER, change->after_text ? change->after_text : "-");
		} else {
			put_int_cell(&t, line, COL_BEFORE, change->before, "");
			put_int_cell(&t, line, COL_AFTER, change->after, "");
		}
		if (change->concerns_worker) {
			put_int_cell(&t, line, COL_OF_WORKER, change->worker_id, "");
			put_int_cell(&t, line, COL_OF_TID, change->worker_tid, "");
		}
		put_cell(&t, line, COL_APPLIED, change->applied ? "yes" : "no");
	}
	text = table_finish(&t);
	for (size_t i = 0; i < n_notes; i++)
		add_below(&text, style->utf8, "note: %s", notes[i]);
	return text;
}

static size_t longest_name(const struct check_list *list)
{
	size_t longest = 0;

	for (size_t i = 0; i < list->n; i++)
		if (strlen(list->items[i].name) > longest)
			longest = strlen(list->items[i].name);
	return longest;
}

/* What the first column, at its widest where VMs have names, and " yes " leave of the terminal. */
static size_t reason_width(const struct check *c, const struct table_style *style)
{
	size_t names = c->n_vms ? check_columns[COL_CHECK].most : longest_name(&c->host);
	size_t taken = names + strlen(" yes ");

	return (size_t)style->width > taken + 20 ? (size_t)style->width - taken : 0;
}

static void add_checks(struct table *t, struct libscols_line *parent, const struct check_list *list,
		       size_t width)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct check_item *item = &list->items[i];
		struct libscols_line *line = add_line(t, parent);

		put_cell(t, line, COL_CHECK, item->name);
		put_cell(t, line, COL_OK, item->ok == CHECK_UNKNOWN ? "-" : item->ok ? "yes" : "no");
		put_wrapped_cell(t, line, COL_REASON, item->reason, width);
	}
}

char *table_check(const struct check *c, const struct table_style *style)
{
	size_t width = reason_width(c, style);
	struct table t;

	table_init(&t, check_columns, ARRAY_SIZE(check_columns), style);
	add_checks(&t, NULL, &c->host, width);
	for (size_t i = 0; i < c->n_vms; i++) {
		const struct check_vm *vm = &c->vms[i];
		struct libscols_line *line = add_line(&t, NULL);

		if (vm->name)
			put_cell(&t, line, COL_CHECK, vm->name);
		else
			put_cellf(&t, line, COL_CHECK, "%d", (int)vm->pid);
		put_cellf(&t, line, COL_REASON, "pid %d", (int)vm->pid);
		add_checks(&t, line, &vm->list, width);
	}
	return table_finish(&t);
}
