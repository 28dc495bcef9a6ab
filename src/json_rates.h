/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates, and what a trial measured, as JSON text like json.h's. */
#ifndef JSON_RATES_H
#define JSON_RATES_H

#include <stdbool.h>

#include "rates.h"

char *json_rates(const struct rates *r, bool pretty);

#endif
