// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample.h"

#include "util.h"

void sample_free(struct stat_sample *s)
{
	for (size_t i = 0; s->counts && i < s->state.n_vms; i++) {
		free(s->counts[i].threads);
		free(s->counts[i].rings);
		free(s->counts[i].tap_at_ns);
	}
	free(s->counts);
	state_free(&s->state);
	*s = (struct stat_sample){ 0 };
}

static struct ring_base *base_of(const struct ring_bases *b, const struct vm *vm, const struct ring_count *r)
{
	for (size_t i = 0; i < b->n; i++) {
		struct ring_base *base = &b->items[i];

		if (base->pid == vm->pid && base->start_time == vm->start_time && base->from.fd == r->fd &&
		    base->from.index == r->index)
			return base;
	}
	return NULL;
}

static void update(struct ring_bases *b, const struct vm *vm, const struct ring_count *r)
{
	struct ring_base *base = base_of(b, vm, r);

	if (base && ring_entries(&base->from.total, &r->total, 0, -1) >= 0) {
		base->fresh = false;
		base->seen = true;
		return;
	}
	if (!base)
		base = ARRAY_ADD(b->items, b->n);
	*base = (struct ring_base){ .pid = vm->pid, .start_time = vm->start_time, .from = *r,
				    .seen = true, .fresh = true };
}

void ring_bases_update(struct ring_bases *b, const struct stat_sample *s)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		b->items[i].seen = false;
	for (size_t i = 0; i < s->state.n_vms; i++)
		for (size_t k = 0; k < s->counts[i].n_rings; k++)
			update(b, &s->state.vms[i], &s->counts[i].rings[k]);
	for (size_t i = 0; i < b->n; i++)
		if (b->items[i].seen)
			b->items[n++] = b->items[i];
	b->n = n;
}

int64_t ring_bases_entries(const struct ring_bases *b, const struct vm *vm, const struct ring_count *now)
{
	const struct ring_base *base = base_of(b, vm, now);

	return base && !base->fresh ? ring_entries(&base->from.total, &now->total, 0, -1) : -1;
}

void ring_bases_free(struct ring_bases *b)
{
	free(b->items);
	*b = (struct ring_bases){ 0 };
}
