// SPDX-License-Identifier: GPL-2.0-or-later
/* Where policies are: files, standard input, a directory of them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "policy.h"
#include "procfs.h"
#include "util.h"

static const char *const operation = "read the policy";

static int cannot_read(const char *path, int errnum, struct error *e)
{
	/* No such file is no such policy, not no such VM. */
	enum status status = error_status(errnum) == STATUS_DENIED ? STATUS_DENIED : STATUS_USAGE;

	error_set(e, status, errnum, operation, "%s", strerror(errnum));
	return error_target(e, "%s", path);
}

static int check_text(const char *path, const struct proc_text *text, struct error *e)
{
	if (text->truncated)
		error_set(e, STATUS_USAGE, EFBIG, operation, "it is larger than %d KiB, more than any policy "
			  "needs", POLICY_BYTES_MAX / 1024);
	else if (!text->len)
		error_set(e, STATUS_USAGE, 0, operation, "it is empty");
	else
		return 0;
	return error_target(e, "%s", path);
}

/* Not a FIFO without a writer, nor a device: opening or reading those can wait for ever. */
static int open_file(const char *path, struct error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return cannot_read(path, errno, e);
	/* Once it is open, what is in a FIFO may be waited for: bash's <(command) is one. */
	if (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) &&
	    fcntl(fd, F_SETFL, O_RDONLY) == 0)
		return fd;
	close(fd);
	error_set(e, STATUS_USAGE, 0, operation, "it is no regular file");
	return error_target(e, "%s", path);
}

static int read_fd(int fd, const char *name, struct policy *p, struct error *e)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	size_t room = 1 << 16;

	text.data = xcalloc(room + 1, 1);
	for (;;) {
		ssize_t n = read(fd, text.data + text.len, room - text.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cannot_read(name, errno, e);
		if (n == 0)
			break;
		text.len += (size_t)n;
		text.truncated = text.len > POLICY_BYTES_MAX;
		if (text.truncated)
			break;
		if (text.len == room) {
			room *= 2;
			text.data = xrealloc(text.data, room + 1);
		}
	}
	if (check_text(name, &text, e) < 0)
		return -1;
	return policy_parse(name, text.data, text.len, p, e);
}

int policy_read(const char *path, struct policy *p, struct error *e)
{
	_cleanup_close_ int fd = -1;

	if (!strcmp(path, "-"))
		return read_fd(STDIN_FILENO, "standard input", p, e);
	fd = open_file(path, e);
	return fd < 0 ? -1 : read_fd(fd, path, p, e);
}

static int is_policy(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && !strcmp(dot, ".json");
}

/* By their bytes, whatever the locale is. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_all(const char *dir, size_t *found, struct policy *p, struct error *e)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_policy, by_name), ret = 0;

	if (n < 0)
		return errno == ENOENT ? 0 : cannot_read(dir, errno, e);
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, names[i]->d_name);

		if (ret == 0)
			ret = policy_read(path, p, e);
		free(names[i]);
	}
	free(names);
	*found += (size_t)n;
	return ret;
}

int policy_read_dir(const char *dir, struct policy *p, struct error *e)
{
	_cleanup_free_ char *file = xasprintf("%s/policy.json", dir), *more = xasprintf("%s/policy.d", dir);
	size_t found = 0;

	if (policy_read(file, p, e) == 0)
		found++;
	else if (e->errnum != ENOENT)
		return -1;
	if (read_all(more, &found, p, e) < 0)
		return -1;
	if (found)
		return 0;
	error_set(e, STATUS_USAGE, ENOENT, operation, "there is none, nor a %s/*.json; name a FILE, or write "
		  "one: 'vhostctl save --all >%s'", more, file);
	return error_target(e, "%s", file);
}
