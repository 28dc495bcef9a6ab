/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sample as one OpenMetrics exposition: counters as they are, for a time series database. */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include "sample.h"

/* @rings: how far rings have come since @rings was taken, as a counter; NULL: without. To be freed. */
char *openmetrics(const struct stat_sample *s, const struct stat_sample *rings);

#endif
