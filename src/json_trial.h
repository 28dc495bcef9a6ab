/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trial came to, as JSON text like json.h's. */
#ifndef JSON_TRIAL_H
#define JSON_TRIAL_H

#include "trial_report.h"

char *json_trial(const struct trial_report *r, bool pretty);

#endif
