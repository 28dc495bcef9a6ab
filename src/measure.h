/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates over several slices of time, before something was set and after: mean, spread, ratio. Pure. */
#ifndef MEASURE_H
#define MEASURE_H

#include "rates.h"

struct series {
	unsigned int n;		/* slices in which the rate was known */
	double sum, squares, min, max;
};

enum side { SIDE_BASELINE, SIDE_TRIAL, SIDES };

struct metric {
	char *target;		/* "vm1/net0/tx" */
	const char *name;	/* "packets_per_s" */
	struct series sides[SIDES];
};

struct measure {
	struct metric *metrics;
	size_t n_metrics;
	double seconds[SIDES];
};

/* One slice more. */
void measure_add(struct measure *m, enum side side, const struct rates *r);
void measure_free(struct measure *m);

/* NAN when there are none; of the standard deviation, when there are less than two. */
double series_mean(const struct series *s);
double series_stddev(const struct series *s);
/* Trial by baseline; NAN when one is not known or the baseline 0. */
double metric_ratio(const struct metric *m);

#endif
