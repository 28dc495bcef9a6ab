// SPDX-License-Identifier: GPL-2.0-or-later
/* An error's words, also when a VM's names are longer than there is room for. */
#include <errno.h>
#include <string.h>

#include "error.h"
#include "sentences.h"
#include "unit.h"

static char long_name[2000];

static void assert_cut(const char *text, size_t size)
{
	assert_int_equal(strlen(text), size - 1);
	assert_string_equal(text + size - 4, "...");
}

static void what_is_cut_says_so(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(error_set(&e, STATUS_USAGE, 0, "look", "no %s", long_name), -1);
	assert_cut(e.message, sizeof(e.message));
	error_append(&e, STATUS_USAGE, "; more");
	assert_cut(e.message, sizeof(e.message));
	error_target(&e, "%s", long_name);
	assert_cut(e.target, sizeof(e.target));
}

static void what_fits_is_whole(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	error_errno(&e, EACCES, "look", "be root");
	assert_string_equal(e.message, "Permission denied; be root");
	error_append(&e, STATUS_ROLLBACK, "; and %.*s", (int)sizeof(e.message) - 33, long_name);
	assert_int_equal(strlen(e.message), sizeof(e.message) - 1);
	assert_int_equal(e.message[sizeof(e.message) - 2], 'x');
	assert_int_equal(e.status, STATUS_ROLLBACK);
	error_target(&e, "vm1");
	error_target(&e, "vm2");
	assert_string_equal(e.target, "vm1");
}

static void sentences_are_whole(void **state)
{
	struct sentences s = { 0 };

	(void)state;
	sentences_add(&s, "%s", long_name);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.items[0], long_name);
	sentences_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_cut_says_so),
		cmocka_unit_test(what_fits_is_whole),
		cmocka_unit_test(sentences_are_whole),
	};
	memset(long_name, 'x', sizeof(long_name) - 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
