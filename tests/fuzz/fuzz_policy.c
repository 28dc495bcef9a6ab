// SPDX-License-Identifier: GPL-2.0-or-later
/* Policy documents: what is taken can be written, and that is taken for the same. */
#include "fuzz.h"
#include "policy.h"

/* The document as this program writes it; NULL when it is none, and the error then says why. */
static char *written(const char *json, size_t len)
{
	struct error e = ERROR_INIT;
	struct policy p = { 0 };
	char *text = NULL;

	if (policy_parse("p", json, len, &p, &e)) {
		CHECK(e.status == STATUS_USAGE && *e.message);
	} else {
		text = policy_text(&p, false);
		CHECK(text);
	}
	policy_free(&p);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	_cleanup_free_ char *json = NULL, *once = NULL, *twice = NULL;
	size_t len;

	json = take_rest(&in, &len);
	once = written(json, len);
	if (!once)
		return 0;
	twice = written(once, strlen(once));
	CHECK(twice && !strcmp(once, twice));
	return 0;
}
