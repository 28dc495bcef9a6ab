// SPDX-License-Identifier: GPL-2.0-or-later
#include "replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "util.h"

static bool write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		left -= (size_t)n;
	}
	return true;
}

static int failed(struct error *e, const char *path)
{
	error_errno(e, errno, "write the file", NULL);
	return error_target(e, "%s", path);
}

/*
 * A device or a pipe is no file that another could stand in for. A pipe that nobody reads is an error:
 * who waits for a reader in open() does not hear the signals that wait, too.
 */
static int write_into(const char *path, const char *text, mode_t mode, struct stopper *stopper,
		      struct error *e)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool written, stopped;

	if (fd < 0 && errno == ENXIO && S_ISFIFO(mode)) {
		error_errno(e, ENXIO, "write the file", "nobody reads it");
		return error_target(e, "%s", path);
	}
	if (fd < 0)
		return failed(e, path);
	written = !stopper_write(stopper, fd, text, &stopped);
	if (close(fd) || !written)
		return failed(e, path);
	return 0;
}

/*
 * Mode and owner of the file before; of a new one, mkstemp() makes it the owner's alone, and the
 * umask is not ours to change. The mode last: chown() takes bits away.
 */
static int dress(int fd, const struct stat *old)
{
	struct stat own;

	if (!old)
		return fchmod(fd, 0644);
	if (fstat(fd, &own))
		return -1;
	if ((own.st_uid != old->st_uid || own.st_gid != old->st_gid) && fchown(fd, old->st_uid, old->st_gid))
		return -1;
	return fchmod(fd, old->st_mode & 07777);
}

static int replace(const char *path, const char *text, const struct stat *old, struct error *e)
{
	const char *base = strrchr(path, '/');
	int dir_len = base ? (int)(base + 1 - path) : 0;
	_cleanup_free_ char *new = xasprintf("%.*s.%s.XXXXXX", dir_len, path, path + dir_len);
	int fd = mkstemp(new);

	if (fd < 0) {
		error_errno(e, errno, "write the file", "its directory must be there and writable");
		return error_target(e, "%s", path);
	}
	if (dress(fd, old) || !write_all(fd, text)) {
		failed(e, path);
		close(fd);
	} else if (close(fd) || rename(new, path)) {
		failed(e, path);
	} else {
		return 0;
	}
	unlink(new);
	return -1;
}

int replace_file(const char *path, const char *text, struct stopper *stopper, struct error *e)
{
	_cleanup_free_ char *target = realpath(path, NULL);
	struct stat old;

	if (!target) {
		/* A symbolic link to nothing stays one: what it names is not made up here. */
		if (errno != ENOENT || !lstat(path, &old))
			return failed(e, path);
		return replace(path, text, NULL, e);
	}
	if (stat(target, &old))
		return failed(e, path);
	return S_ISREG(old.st_mode) ? replace(target, text, &old, e) :
				      write_into(target, text, old.st_mode, stopper, e);
}
