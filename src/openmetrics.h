/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sample as one OpenMetrics exposition: counters as they are, for a time series database. */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include "sample.h"

/* @rings: to count the entries of rings, too; NULL: without. To be freed. */
char *openmetrics(const struct stat_sample *s, const struct ring_bases *rings);

#endif
