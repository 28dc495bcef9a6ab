// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "unit.h"
#include "util.h"

struct values {
	bool force;
	const char *file, *count;
};

static const struct option_spec own_options[] = {
	{ "force", 'f', OPTION_FLAG, NULL, "no questions", offsetof(struct values, force), 0 },
	{ "file", 'F', OPTION_STRING, "FILE", "a file", offsetof(struct values, file), 0 },
	{ "count", 0, OPTION_STRING, "N", "how many", offsetof(struct values, count), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

static int no_run(struct context *ctx, struct error *e)
{
	(void)ctx;
	(void)e;
	return 0;
}

static const struct command get = {
	.name = "get", .operands = "TARGET", .summary = "read", .min_operands = 1,
	.max_operands = 1, .run = no_run,
};
static const struct command put = {
	.name = "put", .operands = "TARGET N", .summary = "write", .min_operands = 2,
	.max_operands = 2, .changes = true, .options = own_options,
	.options_size = sizeof(struct values), .run = no_run,
};
static const struct command *const value_commands[] = { &get, &put, NULL };
static const struct command value = {
	.name = "value", .operands = "", .summary = "values", .sub = value_commands,
};
static const struct command list = {
	.name = "list", .operands = "[VM...]", .summary = "list", .max_operands = -1,
	.run = no_run,
};
static const struct command *const commands[] = { &value, &list, NULL };

/* The words after "vhostctl", split at blanks. */
static int parse(struct context *ctx, struct error *e, const char *line)
{
	static char words[256], *argv[32];
	int argc = 0;

	snprintf(words, sizeof(words), "vhostctl %s", line);
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	*ctx = (struct context){ .commands = commands };
	*e = ERROR_INIT;
	return command_parse(ctx, argc, argv, e);
}

static void test_everywhere(void **state)
{
	static const char *const lines[] = {
		"-t -v --verbose value put vm1 5 --dry-run -f --file x --count 7",
		"value -tvv put -n -f -Fx vm1 --count=7 5",
		"value put vm1 -tvvfn --file=x 5 --count 7",
		"value put --table -v -v --dry-run --force -F x --count 7 -- vm1 5",
		"--pretty value --compact put --tab --dry -vvf --fi x --cou 7 vm1 5",
	};
	struct context ctx;
	struct error e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct values *v;

		if (parse(&ctx, &e, lines[i]) < 0)
			fail_msg("%s: %s", lines[i], e.message);
		v = ctx.options;
		assert_ptr_equal(ctx.command, &put);
		assert_int_equal(ctx.format, FORMAT_TABLE);
		assert_int_equal(ctx.verbosity, 2);
		assert_true(ctx.dry_run);
		assert_true(v->force);
		assert_string_equal(v->file, "x");
		assert_string_equal(v->count, "7");
		assert_int_equal(ctx.argc, 2);
		assert_string_equal(ctx.argv[0], "vm1");
		assert_string_equal(ctx.argv[1], "5");
		free(ctx.options);
	}
}

static void test_double_dash(void **state)
{
	struct context ctx;
	struct error e;

	(void)state;
	assert_int_equal(parse(&ctx, &e, "list -- -t --help"), 0);
	assert_int_equal(ctx.argc, 2);
	assert_string_equal(ctx.argv[0], "-t");
	assert_int_equal(ctx.format, FORMAT_AUTO);
	assert_false(ctx.help);
}

static void test_usage_errors(void **state)
{
	static const struct { const char *line, *target, *message; } cases[] = {
		{ "", "", "no command given; try 'vhostctl --help'" },
		{ "value", "value", "no command given; try 'vhostctl value --help'" },
		{ "lsit", "lsit", "no such command; did you mean 'list'?" },
		{ "value gte", "value gte", "no such command; did you mean 'value get'?" },
		{ "val get", "val", "no such command; did you mean 'value'?" },
		{ "va get", "va", "no such command; try 'vhostctl --help'" },
		{ "value zap", "value zap", "no such command; try 'vhostctl value --help'" },
		{ "get", "get", "no such command; try 'vhostctl --help'" },
		{ "--nope", "", "unknown option --nope; try 'vhostctl --help'" },
		{ "list --nope=3", "list", "unknown option --nope=3; try 'vhostctl list --help'" },
		{ "list --tabel", "list", "unknown option --tabel; did you mean --table?" },
		{ "list --tables=3", "list", "unknown option --tables=3; did you mean --table?" },
		{ "value put a 1 --forec", "value put", "unknown option --forec; did you mean --force?" },
		{ "value get a --forec", "value get",
		  "unknown option --forec; try 'vhostctl value get --help'" },
		{ "list -x", "list", "unknown option -x; try 'vhostctl list --help'" },
		{ "list -tx", "list", "unknown option -x; try 'vhostctl list --help'" },
		{ "list --ver", "list", "ambiguous option --ver; try 'vhostctl list --help'" },
		{ "list --ver=3", "list", "ambiguous option --ver=3; try 'vhostctl list --help'" },
		{ "list --dry-run", "list", "unknown option --dry-run; try 'vhostctl list --help'" },
		{ "list --force", "list", "unknown option --force; try 'vhostctl list --help'" },
		{ "list --table=1", "list",
		  "option --table takes no argument; try 'vhostctl list --help'" },
		{ "value put a 1 --file", "value put",
		  "option --file needs an argument FILE; try 'vhostctl value put --help'" },
		{ "value put a 1 -F", "value put",
		  "option --file needs an argument FILE; try 'vhostctl value put --help'" },
		{ "value put a", "value put",
		  "operands missing, it takes TARGET N; try 'vhostctl value put --help'" },
		{ "value get a b", "value get",
		  "one operand too many: 'b'; try 'vhostctl value get --help'" },
	};
	struct context ctx;
	struct error e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(&ctx, &e, cases[i].line), -1);
		assert_int_equal(e.status, STATUS_USAGE);
		assert_string_equal(e.target, cases[i].target);
		assert_string_equal(e.message, cases[i].message);
		free(ctx.options);
	}
}

/* A word as long as the system allows must not break the line's hint or anything else. */
static void test_long_word(void **state)
{
	char word[5000], *argv[] = { (char[]){ "vhostctl" }, word, NULL };
	struct context ctx = { .commands = commands };
	struct error e = ERROR_INIT;

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(command_parse(&ctx, 2, argv, &e), -1);
	word[0] = word[1] = '-';
	assert_int_equal(command_parse(&ctx, 2, argv, &e), -1);
	assert_non_null(strstr(e.message, "; try 'vhostctl --help'"));
}

static void test_help_needs_no_operands(void **state)
{
	static const struct { const char *line; const struct command *command; } cases[] = {
		{ "--help", NULL }, { "value --help", &value }, { "value put --help", &put },
		{ "--help value put", &put }, { "value -h put", &put },
	};
	struct context ctx;
	struct error e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(&ctx, &e, cases[i].line), 0);
		assert_true(ctx.help);
		assert_ptr_equal(ctx.command, cases[i].command);
		free(ctx.options);
	}
}

static void test_uint(void **state)
{
	static const char *const bad[] = { "", " 1", "+1", "-1", "1 ", "0x10", "1e3", "abc", "1.5",
					   "18446744073709551616", "99999999999999999999999" };
	uint64_t n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_uint(bad[i], UINT64_MAX, &n), -1);
	assert_int_equal(parse_uint("18446744073709551615", UINT64_MAX, &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(parse_uint("010", 10, &n), 0);
	assert_int_equal(n, 10);
	assert_int_equal(parse_uint("11", 10, &n), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everywhere),
		cmocka_unit_test(test_double_dash),
		cmocka_unit_test(test_usage_errors),
		cmocka_unit_test(test_long_word),
		cmocka_unit_test(test_help_needs_no_operands),
		cmocka_unit_test(test_uint),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
