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

/* @value as "12.3", "12345" or "1.23M"; "-" for NAN. Below @tenths it has tenths. Returns @text. */
const char *rates_number(double value, double tenths, char text[24]);

/* To be freed. */
char *rates_table(const struct rates *r, const struct rates_style *style);

#endif
