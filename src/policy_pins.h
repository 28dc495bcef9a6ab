/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The step that sets the cpus of a device's workers. */
#ifndef POLICY_PINS_H
#define POLICY_PINS_H

#include "policy_deal.h"
#include "policy_plan.h"

extern const struct step_type step_pins;

/*
 * wp->pins: the workers that serve queues once wp->spread is carried out, and are wanted on cpus on
 * which they are not. @ids: those of the elements of the list of workers, if it is one.
 */
int plan_pins(struct session *s, const struct device_wants *w, struct worker_plan *wp, const int64_t *ids,
	      struct error *e);

#endif
