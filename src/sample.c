// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample.h"

#include <stdlib.h>

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
