/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates as a table for people, of lines no wider than the terminal. */
#ifndef RATES_TABLE_H
#define RATES_TABLE_H

#include <stdbool.h>

#include "rates.h"

struct rates_style {
	bool utf8;
	int width;	/* columns; 0: any */
	int height;	/* lines, of which those past it are not made; 0: any */
};

/* To be freed. */
char *rates_table(const struct rates *r, const struct rates_style *style);

#endif
