/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model as text for people, through libsmartcols. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>

#include "check.h"
#include "state.h"

struct table_style {
	bool utf8;	/* may use more than ASCII */
	int width;	/* of the terminal; 0: as wide as it needs */
};

/* To be freed by the caller; NULL when libsmartcols could not make it. */
char *table_state(const struct state *s, const struct table_style *style);
char *table_changes(const struct changes *c, char *const *notes, size_t n_notes,
		    const struct table_style *style);
char *table_check(const struct check *c, const struct table_style *style);

#endif
