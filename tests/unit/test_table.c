// SPDX-License-Identifier: GPL-2.0-or-later
#include <locale.h>
#include <string.h>
#include <wchar.h>

#include "samples.h"
#include "table.h"
#include "unit.h"

static const struct table_style ascii = { .utf8 = false, .width = 0 };
static const struct table_style narrow = { .utf8 = true, .width = 80 };

static char *render(struct state s, const struct table_style *style)
{
	char *text = table_state(&s, style);

	state_free(&s);
	return text;
}

/* Blanks at the ends of lines are smartcols's business. */
static void assert_lines(const char *text, const char *const *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(text, "\n"), used = len;

		while (used > 0 && text[used - 1] == ' ')
			used--;
		if (strlen(lines[i]) != used || strncmp(text, lines[i], used) != 0)
			fail_msg("'%.*s' is not '%s'", (int)used, text, lines[i]);
		assert_int_equal(text[len], '\n');
		text += len + 1;
	}
	assert_string_equal(text, "");
}

static void test_full(void **state)
{
	static const char *const lines[] = {
		"NAME              FD BUSYLOOP WORKER TID CPUS DETAILS",
		"vm1                                           pid 188, qemu-system-x86",
		"|-net0             8                          tap0, task workers, /dev/vhost-net",
		"| |-rx                   33us      0 191 0-1",
		"| `-tx                   50us      0 191 0-1",
		"|-scsi0           11                          /dev/vhost-scsi, error",
		"| |-ctl                     -      0 200 -",
		"| |-event                   -      1 201 -",
		"| |-req0                    -      2 202 -",
		"| |-req1                    -      3 203 -",
		"| `-req2-req127             -      0 200 -",
		"|-tap0          3,13                          tap, vhost, rx-frames 0, up, in br0",
		"`-vhost-188                        - 195 0-1  thread, other",
		("error: vm1/scsi0: read the workers: Operation not permitted; "
		 "another tracer holds the VM: pid 4242"),
	};
	_cleanup_free_ char *text = render(sample_full(), &ascii);

	(void)state;
	assert_lines(text, lines, ARRAY_SIZE(lines));
}

static void test_unknown(void **state)
{
	static const char *const lines[] = {
		"NAME    FD BUSYLOOP WORKER TID CPUS DETAILS",
		"188                                 pid 188",
		"|-vdpa0  5                          -",
		"| |-0             -      -   - -",
		"| `-                     -   - -    thread",
		"|-net0   6                          -",
		"`--                                 tap, rx-frames -",
		"-                                   tap, rx-frames -",
	};
	_cleanup_free_ char *text = render(sample_unknown(), &ascii);

	(void)state;
	assert_lines(text, lines, ARRAY_SIZE(lines));
}

static void test_empty(void **state)
{
	_cleanup_free_ char *text = render(sample_empty(), &narrow);

	(void)state;
	assert_string_equal(text, "no VMs with vhost devices\n");
}

static void test_changes(void **state)
{
	static char note[] = "scsi0\nignores it";
	static char *const notes[] = { note };
	static const char *const lines[] = {
		"TARGET       PID SETTING        BEFORE AFTER APPLIED",
		"\\x1b/net0/tx 188 busyloop_usecs     33    50 yes",
		"vm1/net0/rx  188 busyloop_usecs      -    50 no",
		"dev tap0       - rx_frames           0    64 yes",
		"note: scsi0\\nignores it",
	};
	struct changes c = sample_changes("\x1b/net0/tx");
	_cleanup_free_ char *text = table_changes(&c, notes, 1, &ascii);

	(void)state;
	changes_free(&c);
	assert_lines(text, lines, ARRAY_SIZE(lines));
}

static void test_worker_changes(void **state)
{
	static const char *const lines[] = {
		"TARGET         PID SETTING   BEFORE AFTER APPLIED WORKER TID",
		"vm1/scsi0      188 worker         -     1 yes          1 250",
		"vm1/scsi0/req0 188 worker_id      0     1 yes          1   -",
		"vm1/scsi0      188 cpus         0-1     1 yes          1 250",
	};
	struct changes c = sample_worker_changes();
	_cleanup_free_ char *text = table_changes(&c, NULL, 0, &ascii);

	(void)state;
	changes_free(&c);
	assert_lines(text, lines, ARRAY_SIZE(lines));
}

static void test_check(void **state)
{
	static const struct table_style style = { .utf8 = false, .width = 70 };
	static const char *const lines[] = {
		"CHECK         OK  REASON",
		"vhost_net     yes",
		"worker_ioctls no  this kernel is 6.1; workers can be made since 6.5,",
		"                  and only the device of a VM that runs can tell",
		"ptrace        -   \\x1b[2K",
	};
	struct check c = sample_check();
	_cleanup_free_ char *text = NULL;
	struct check_list host = c.host;

	(void)state;
	strcpy(host.items[2].reason, "\x1b[2K");
	text = table_check(&(struct check){ .host = host }, &style);
	check_free(&c);
	assert_lines(text, lines, ARRAY_SIZE(lines));
}

/* Only printable characters and newlines. */
static void assert_safe(const char *text, bool utf8)
{
	for (const char *p = text; *p; p++) {
		unsigned char byte = (unsigned char)*p;

		if (byte != '\n' && (byte < ' ' || byte == 0x7f))
			fail_msg("control byte 0x%02x", byte);
		assert_true(utf8 || byte < 0x80);
	}
	assert_true(mbstowcs(NULL, text, 0) != (size_t)-1);
	assert_null(strstr(text, "\xe2\x80\xae")); /* right-to-left override */
	assert_null(strstr(text, "\xc2\x9b"));	   /* CSI */
}

/* Every sample in every style. */
static void test_safe(void **state)
{
	static const struct table_style styles[] = {
		{ false, 0 }, { false, 80 }, { true, 0 }, { true, 80 }, { true, 20 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples) * ARRAY_SIZE(styles); i++) {
		const struct table_style *style = &styles[i % ARRAY_SIZE(styles)];
		_cleanup_free_ char *text = render(samples[i / ARRAY_SIZE(styles)].make(), style);
		assert_safe(text, style->utf8);
	}
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++) {
		struct check c = sample_check();
		_cleanup_free_ char *text = table_check(&c, &styles[i]);

		assert_safe(text, styles[i].utf8);
		check_free(&c);
	}
}


/* No line of the tree is wider than the terminal; sentences below it may be. */
static void test_width(void **state)
{
	struct state s = sample_hostile();
	struct vm *vm = &s.vms[0];
	_cleanup_free_ char *text = NULL;

	(void)state;
	free(vm->name);
	vm->name = xcalloc(3000, 1);
	memset(vm->name, 'n', 2999);
	for (int fd = 100; fd < 400; fd++)
		*ARRAY_ADD(vm->taps[0].fds, vm->taps[0].n_fds) = fd;
	text = render(s, &narrow);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		wchar_t wide[8192];

		if (mbstowcs(wide, line, 8192) > 80 && strncmp(line, "error: ", 7) != 0)
			fail_msg("too wide: %s", line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_worker_changes),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_width),
	};

	if (!setlocale(LC_ALL, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
