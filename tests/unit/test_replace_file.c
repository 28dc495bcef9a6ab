// SPDX-License-Identifier: GPL-2.0-or-later
/* The file that "stat --output" writes: replaced whole, but what it is stays. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replace_file.h"
#include "stopper.h"
#include "util.h"

static char dir[] = "/tmp/vhostctl-replace.XXXXXX";
static struct stopper stopper;

static void assert_holds(const char *path, const char *text)
{
	char buf[64] = "";
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, buf, sizeof(buf) - 1), strlen(text));
	assert_string_equal(buf, text);
	close(fd);
}

static void mode_and_owner(void **state)
{
	struct error e = ERROR_INIT;
	struct stat before, after;

	(void)state;
	assert_int_equal(replace_file("file", "one", &stopper, &e), 0);
	assert_int_equal(stat("file", &before), 0);
	assert_int_equal(before.st_mode & 07777, 0644);
	assert_int_equal(chmod("file", 0600), 0);
	if (!getuid())
		assert_int_equal(chown("file", 65534, 65534), 0);
	assert_int_equal(stat("file", &before), 0);
	assert_int_equal(replace_file("file", "two", &stopper, &e), 0);
	assert_int_equal(stat("file", &after), 0);
	assert_true(after.st_mode == before.st_mode && after.st_uid == before.st_uid &&
		    after.st_gid == before.st_gid && after.st_ino != before.st_ino);
	assert_holds("file", "two");
}

static void symbolic_link(void **state)
{
	struct error e = ERROR_INIT;
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("sub", 0700), 0);
	assert_int_equal(replace_file("sub/target", "one", &stopper, &e), 0);
	assert_int_equal(symlink("sub/target", "link"), 0);
	assert_int_equal(replace_file("link", "two", &stopper, &e), 0);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_holds("sub/target", "two");
	assert_int_equal(symlink("sub/none/there", "dangling"), 0);
	assert_int_equal(replace_file("dangling", "three", &stopper, &e), -1);
	assert_int_equal(lstat("dangling", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void pipe_and_directory(void **state)
{
	struct error e = ERROR_INIT;
	struct stat st;
	char buf[8] = "";
	int fd;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	fd = open("fifo", O_RDWR);
	assert_int_equal(replace_file("fifo", "one", &stopper, &e), 0);
	assert_int_equal(read(fd, buf, sizeof(buf) - 1), 3);
	assert_string_equal(buf, "one");
	close(fd);
	/* One without a reader is not waited for. */
	assert_int_equal(replace_file("fifo", "two", &stopper, &e), -1);
	assert_int_equal(e.errnum, ENXIO);
	assert_int_equal(lstat("fifo", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(mkdir("directory", 0700), 0);
	assert_int_equal(replace_file("directory", "one", &stopper, &e), -1);
	assert_int_equal(replace_file("/dev/null", "one", &stopper, &e), 0);
	assert_int_equal(lstat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* Of a pipe that is full, where the reader does not read. */
static void signal_ends_a_write(void **state)
{
	_cleanup_free_ char *text = xcalloc(1 << 20, 1);
	struct error e = ERROR_INIT;
	int fd;

	(void)state;
	memset(text, 'x', (1 << 20) - 1);
	assert_int_equal(mkfifo("full", 0600), 0);
	fd = open("full", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(raise(SIGTERM), 0);
	assert_int_equal(replace_file("full", text, &stopper, &e), 0);
	assert_int_equal(stopper.got, SIGTERM);
	close(fd);
}

int main(void)
{
	struct error e = ERROR_INIT;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mode_and_owner),
		cmocka_unit_test(symbolic_link),
		cmocka_unit_test(pipe_and_directory),
		cmocka_unit_test(signal_ends_a_write),
	};
	_cleanup_free_ char *remove = NULL;
	int ret;

	if (!mkdtemp(dir) || chdir(dir) || stopper_start(&stopper, &e))
		return 1;
	ret = cmocka_run_group_tests_name("replace_file", tests, NULL, NULL);
	remove = xasprintf("rm -rf %s", dir);
	return system(remove) ? 1 : ret;
}
