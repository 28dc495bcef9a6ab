// SPDX-License-Identifier: GPL-2.0-or-later
/* The graph is what Graphviz itself makes of it: `dot -Tplain` prints nodes and edges back. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dot.h"
#include "samples.h"
#include "unit.h"

/* What "dot -Tplain" says of the graph; NULL when it refuses it. */
static char *render(struct state s)
{
	char in[] = "/tmp/vhostctl-dot-XXXXXX", command[128], *text = dot_state(&s), *out = NULL;
	int fd = mkstemp(in);
	size_t size, n;
	FILE *from, *to;
	char buf[4096];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	free(text);
	state_free(&s);
	snprintf(command, sizeof(command), "dot -Tplain %s", in);
	from = popen(command, "r");
	to = open_memstream(&out, &size);
	assert_true(from && to);
	while ((n = fread(buf, 1, sizeof(buf), from)))
		fwrite(buf, 1, n, to);
	fclose(to);
	n = (size_t)pclose(from);
	unlink(in);
	assert_int_equal(n, 0);
	return out;
}

static void test_full(void **state)
{
	static const char *const parts[] = {
		"\"vm1\\npid 188\"", "\"net0\\nfd 8\\ntap0\"", "\"rx\\nbusy-loop 33 us\"",
		"\"worker 0\\ntid 191\\ncpus 0-1\"", "edge vm0 d0_0 ", "edge d0_0 q0_0_0 ", "edge q0_0_0 w0_0_0 ",
		"edge q0_0_1 w0_0_0 ", "edge d0_1 q0_1_4 ", "\"req2 - req127\"",
	};
	_cleanup_free_ char *text = render(sample_full());

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strstr(text, parts[i]))
			fail_msg("no %s in:\n%s", parts[i], text);
}

static void test_idle_worker(void **state)
{
	struct state s = sample_full();
	struct device *d = &s.vms[0].devices[0];
	struct worker *w = ARRAY_ADD(d->workers, d->n_workers);
	_cleanup_free_ char *text = NULL;

	(void)state;
	w->id = w->tid = w->nice = w->cpu_ns = UNKNOWN;
	w->queues = xcalloc(1, sizeof(*w->queues));
	text = render(s);
	assert_non_null(strstr(text, "\"worker\\ntid not known\\nidle\""));
	assert_non_null(strstr(text, "edge d0_0 w0_0_1 "));
}

/* Names with quotes, backslashes, newlines, bad UTF-8 neither break the graph nor get into it raw. */
static void test_hostile(void **state)
{
	_cleanup_free_ char *text = render(sample_hostile());

	(void)state;
	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || (unsigned char)*p >= ' ');
	assert_non_null(strstr(text, "a\\\\x1b[2J\\\\n"));
}

static void test_empty(void **state)
{
	_cleanup_free_ char *text = render(sample_empty());

	(void)state;
	assert_non_null(strstr(text, "graph "));
	assert_null(strstr(text, "node "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_idle_worker),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests_name("dot", tests, NULL, NULL);
}
