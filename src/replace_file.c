// SPDX-License-Identifier: GPL-2.0-or-later
#include "replace_file.h"

#include <errno.h>
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

int replace_file(const char *path, const char *text, struct error *e)
{
	const char *base = strrchr(path, '/');
	int dir_len = base ? (int)(base + 1 - path) : 0;
	_cleanup_free_ char *new = xasprintf("%.*s.%s.XXXXXX", dir_len, path, path + dir_len);
	int fd = mkstemp(new);

	if (fd < 0) {
		error_errno(e, errno, "write the file", "its directory must be there and writable");
		return error_target(e, "%s", path);
	}
	/* mkstemp() makes it the owner's alone, and the umask is not ours to change. */
	if (fchmod(fd, 0644) || !write_all(fd, text)) {
		error_errno(e, errno, "write the file", NULL);
		close(fd);
	} else if (close(fd) || rename(new, path)) {
		error_errno(e, errno, "write the file", NULL);
	} else {
		return 0;
	}
	unlink(new);
	return error_target(e, "%s", path);
}
