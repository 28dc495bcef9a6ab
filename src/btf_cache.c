// SPDX-License-Identifier: GPL-2.0-or-later
#include "btf_cache.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "procfs.h"
#include "util.h"

const char *const btf_modules[] = {
	"vmlinux", "vhost", "vhost_net", "vhost_scsi", "vhost_vsock", "tun", "tap", NULL,
};

static const char file_name[] = "offsets";

/* FNV-1a, 64 bits: against damage, not against malice, which the file's owner and mode are for. */
#define FNV_START 0xcbf29ce484222325u

static uint64_t fnv(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

/* The members that this program asks for: another version asks for others. */
static uint64_t table_hash(void)
{
	static const char table[] =
#define SNAP_FIELD(name, module, type, path, bytes, needed) #name module type path #bytes #needed
		SNAP_OFFSETS(SNAP_FIELD)
#undef SNAP_FIELD
		"";

	return fnv(FNV_START, table, sizeof(table));
}

static uint64_t hash_file(uint64_t h, const char *path)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };

	return proc_read(AT_FDCWD, path, 1 << 16, &text) ? h : fnv(h, text.data, text.len);
}

char *btf_cache_key(const char *btf_dir)
{
	uint64_t h = hash_file(table_hash(), "/sys/kernel/notes");
	struct utsname uts;

	for (size_t i = 0; btf_modules[i]; i++) {
		_cleanup_free_ char *btf = xasprintf("%s/%s", btf_dir, btf_modules[i]);
		_cleanup_free_ char *notes = xasprintf("/sys/module/%s/notes/.note.gnu.build-id",
						       btf_modules[i]);
		struct stat st;
		int64_t size = stat(btf, &st) ? -1 : st.st_size;

		h = hash_file(fnv(h, &size, sizeof(size)), notes);
	}
	uname(&uts);
	h = fnv(h, uts.version, strlen(uts.version));
	return xasprintf("%s %s %016" PRIx64, uts.release, uts.machine, h);
}

/* What is in @dir is believed only when nobody but root or this user can have put it there. */
static bool trusted(int fd, mode_t type)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == type && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}

static int open_dir(const char *dir)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !trusted(fd, S_IFDIR)) {
		errno = EPERM;
		return -1;
	}
	return STEAL_FD(fd);
}

/* The last line: a sum of what is before it. */
static char *sum_line(const char *text, size_t len)
{
	return xasprintf("sum %016" PRIx64 "\n", fnv(FNV_START, text, len));
}

static char *render(const char *key, const struct snap_layout *at)
{
	const __s32 *values = (const __s32 *)at;
	char *text = xasprintf("vhostctl offsets\n%s\n", key), *longer, *sum;

	for (size_t i = 0; i < sizeof(*at) / sizeof(*values); i++) {
		longer = xasprintf("%s%d\n", text, values[i]);
		free(text);
		text = longer;
	}
	sum = sum_line(text, strlen(text));
	longer = xasprintf("%s%s", text, sum);
	free(text);
	free(sum);
	return longer;
}

/* The numbers at @p, one a line, as many as a layout has and nothing after them. */
static int parse(const char *p, struct snap_layout *at)
{
	__s32 *values = (__s32 *)at;

	for (size_t i = 0; i < sizeof(*at) / sizeof(*values); i++) {
		char *end;
		long v;

		errno = 0;
		v = strtol(p, &end, 10);
		if (errno || end == p || *end != '\n' || v < SNAP_ABSENT || v > INT32_MAX)
			return -1;
		values[i] = (__s32)v;
		p = end + 1;
	}
	return *p ? -1 : 0;
}

int btf_cache_load(const char *dir, const char *key, struct snap_layout *at)
{
	_cleanup_close_ int dir_fd = open_dir(dir);
	_cleanup_close_ int fd = -1;
	_cleanup_proc_text_ struct proc_text text = { 0 };
	_cleanup_free_ char *head = xasprintf("vhostctl offsets\n%s\n", key);
	_cleanup_free_ char *sum = NULL;
	struct snap_layout read;
	char *tail;

	if (dir_fd < 0)
		return -1;
	fd = openat(dir_fd, file_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || !trusted(fd, S_IFREG) || proc_read(dir_fd, file_name, 1 << 16, &text))
		return -1;
	tail = text.truncated ? NULL : strstr(text.data, "sum ");
	if (!tail || strncmp(text.data, head, strlen(head)))
		return -1;
	sum = sum_line(text.data, (size_t)(tail - text.data));
	if (strcmp(tail, sum))
		return -1;
	*tail = '\0';
	if (parse(text.data + strlen(head), &read))
		return -1;
	*at = read;
	return 0;
}

int btf_cache_store(const char *dir, const char *key, const struct snap_layout *at)
{
	_cleanup_free_ char *text = render(key, at);
	_cleanup_free_ char *tmp = xasprintf(".%s-%d", file_name, (int)getpid());
	_cleanup_close_ int dir_fd = -1;
	_cleanup_close_ int fd = -1;
	size_t len = strlen(text);

	if (mkdir(dir, 0755) && errno != EEXIST)
		return -1;
	dir_fd = open_dir(dir);
	if (dir_fd < 0)
		return -1;
	fd = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	/* Whole under its name, or not at all. */
	if (fchmod(fd, 0644) || write(fd, text, len) != (ssize_t)len ||
	    renameat(dir_fd, tmp, dir_fd, file_name)) {
		int saved = errno;

		unlinkat(dir_fd, tmp, 0);
		errno = saved;
		return -1;
	}
	return 0;
}
