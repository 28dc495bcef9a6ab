/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trial came to; its text for people. */
#ifndef TRIAL_REPORT_H
#define TRIAL_REPORT_H

#include <stdbool.h>

#include "measure.h"
#include "trial.h"

struct trial_report {
	char kernel[65];
	const char *source;
	char **settings;		/* as they were typed */
	size_t n_settings;
	const struct trial *trial;
	const struct measure *measure;
	bool put_back;
	const char *interrupted;	/* by which signal; NULL: not */
	const char *notes[4];
	size_t n_notes;
};

/* Both sides next to each other, in lines of at most @width columns (0: any). To be freed. */
char *trial_table(const struct trial_report *r, bool utf8, int width);

#endif
