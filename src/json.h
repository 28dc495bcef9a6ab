/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model as JSON text, a newline at its end. The keys are a contract with
 * scripts: the schema only grows. The text is pure ASCII (\u escapes), so that
 * no name in it can drive a terminal.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>

#include "check.h"
#include "state.h"

/* To be freed by the caller; NULL when jansson could not make it. */
char *json_state(const struct state *s, bool pretty);
char *json_changes(const char *kernel, const struct changes *c, char *const *notes,
		   size_t n_notes, bool pretty);
char *json_check(const struct check *c, bool pretty);

#endif
