/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jansson's values as text, for the files that make them: json.c, policy_print.c. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* Pure ASCII with a newline at its end, to be freed; NULL if jansson could not. Takes @document. */
char *json_text(json_t *document, bool pretty);

#endif
