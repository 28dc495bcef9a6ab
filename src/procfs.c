// SPDX-License-Identifier: GPL-2.0-or-later
#include "procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"
#include "util.h"

bool proc_is_shortage(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == EAGAIN;
}

int proc_read(int dirfd, const char *path, size_t max, struct proc_text *text)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	_cleanup_free_ char *buf = NULL;
	size_t len = 0, room = 0;

	*text = (struct proc_text){ 0 };
	if (fd < 0)
		return -1;
	/* Sizes are not known beforehand; one byte past @max tells a longer file. */
	while (len <= max) {
		ssize_t got;

		if (len == room) {
			room = room ? room * 2 : 2048;
			if (room > max + 1)
				room = max + 1;
			buf = xrealloc(buf, room + 1);
		}
		got = read(fd, buf + len, room - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	text->truncated = len > max;
	text->len = text->truncated ? max : len;
	buf[text->len] = '\0';
	text->data = STEAL_PTR(buf);
	return 0;
}

char *proc_readlink(int dirfd, const char *path)
{
	/* The kernel gives at most a page for a link of /proc. */
	char buf[4096];
	ssize_t len = readlinkat(dirfd, path, buf, sizeof(buf) - 1);

	if (len < 0)
		return NULL;
	buf[len] = '\0';
	return xstrdup(buf);
}

const char *proc_next_line(const char *buf, size_t len, size_t *pos, size_t *line_len)
{
	const char *line, *end;

	if (*pos >= len)
		return NULL;
	line = buf + *pos;
	end = memchr(line, '\n', len - *pos);
	*line_len = end ? (size_t)(end - line) : len - *pos;
	*pos += *line_len + 1;
	return line;
}

bool proc_number(const char *s, size_t len, uint64_t max, uint64_t *value)
{
	uint64_t v = 0;

	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned int digit = (unsigned char)s[i] - '0';

		if (digit > 9 || v > max / 10 || v * 10 > max - digit)
			return false;
		v = v * 10 + digit;
	}
	*value = v;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* A number in @base (8, 10 or 16) at *p; moves *p past it. False if there is none or it overflows. */
static bool take_number(const char **p, const char *end, unsigned int base, uint64_t *value)
{
	const char *start = *p;
	uint64_t v = 0;

	for (; *p < end; (*p)++) {
		int digit = hex_digit(**p);

		if (digit < 0 || (unsigned int)digit >= base)
			break;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
	}
	*value = v;
	return *p > start;
}

static bool take_char(const char **p, const char *end, char c)
{
	if (*p >= end || **p != c)
		return false;
	(*p)++;
	return true;
}

/* Fields of stat that follow the comm, numbered as in proc_pid_stat(5). */
enum { STAT_STATE = 3, STAT_PPID = 4, STAT_FLAGS = 9, STAT_UTIME = 14,
       STAT_STIME = 15, STAT_NICE = 19, STAT_START_TIME = 22,
       STAT_POLICY = 41, STAT_GUEST_TIME = 43 };

static bool stat_field(struct proc_stat *st, int number, const char *s, size_t len)
{
	bool negative = len && *s == '-';
	uint64_t v;

	if (number == STAT_STATE) {
		st->state = *s;
		return len == 1;
	}
	if (!proc_number(s + negative, len - negative, UINT64_MAX, &v))
		return false;
	switch (number) {
	case STAT_PPID:
		st->ppid = (pid_t)v;
		return v <= INT32_MAX && !negative;
	case STAT_FLAGS:
		st->flags = (unsigned int)v;
		return v <= UINT32_MAX && !negative;
	case STAT_UTIME:
		st->user_ticks = v;
		return !negative;
	case STAT_STIME:
		st->system_ticks = v;
		return !negative;
	case STAT_NICE:
		st->nice = negative ? -(int)(v & 0xff) : (int)(v & 0xff);
		return v <= 20;
	case STAT_START_TIME:
		st->start_time = v;
		return !negative;
	case STAT_POLICY:
		st->policy = (unsigned int)v;
		return v <= UINT32_MAX && !negative;
	case STAT_GUEST_TIME:
		st->guest_ticks = v;
		return !negative;
	default:
		return true;
	}
}

int proc_parse_stat(const char *buf, size_t len, struct proc_stat *st)
{
	const char *end = buf + len, *p = buf, *comm, *close;
	size_t comm_len;
	uint64_t pid;

	memset(st, 0, sizeof(*st));
	if (!take_number(&p, end, 10, &pid) || pid > INT32_MAX ||
	    !take_char(&p, end, ' ') || !take_char(&p, end, '('))
		return -1;
	st->pid = (pid_t)pid;
	comm = p;
	/* A comm may hold ")", blanks and newlines; what follows it holds no ")". */
	close = memrchr(comm, ')', (size_t)(end - comm));
	if (!close)
		return -1;
	comm_len = (size_t)(close - comm);
	if (comm_len >= sizeof(st->comm) || memchr(comm, '\0', comm_len))
		return -1;
	memcpy(st->comm, comm, comm_len);
	p = close + 1;
	for (int number = STAT_STATE; number <= STAT_GUEST_TIME; number++) {
		const char *field;

		if (!take_char(&p, end, ' '))
			return -1;
		field = p;
		while (p < end && *p != ' ' && *p != '\n')
			p++;
		if (p == field || !stat_field(st, number, field, (size_t)(p - field)))
			return -1;
	}
	return 0;
}

int proc_read_stat(int dirfd, const char *path, struct proc_stat *st)
{
	_cleanup_proc_text_ struct proc_text text;

	if (proc_read(dirfd, path, 4096, &text))
		return -1;
	if (proc_parse_stat(text.data, text.len, st)) {
		errno = EBADMSG;
		return -1;
	}
	return 0;
}

const char *proc_field(const char *buf, size_t len, const char *name, size_t *value_len)
{
	size_t name_len = strlen(name), pos = 0, line_len;
	const char *line;

	while ((line = proc_next_line(buf, len, &pos, &line_len))) {
		size_t skip = name_len + 1;

		if (line_len < skip || memcmp(line, name, name_len) || line[name_len] != ':')
			continue;
		while (skip < line_len && (line[skip] == ' ' || line[skip] == '\t'))
			skip++;
		*value_len = line_len - skip;
		return line + skip;
	}
	return NULL;
}

int64_t proc_field_number(const char *buf, size_t len, const char *name, int base)
{
	size_t value_len;
	const char *value = proc_field(buf, len, name, &value_len), *p = value;
	uint64_t v;

	if (!value || !take_number(&p, value + value_len, (unsigned int)base, &v) || v > INT64_MAX)
		return UNKNOWN;
	if (p < value + value_len && *p != ' ' && *p != '\t')
		return UNKNOWN;
	return (int64_t)v;
}

char *proc_field_string(const char *buf, size_t len, const char *name)
{
	size_t value_len;
	const char *value = proc_field(buf, len, name, &value_len);

	return value ? xstrndup(value, value_len) : NULL;
}

bool proc_is_ending(int pid_fd)
{
	struct proc_stat st;

	if (proc_read_stat(pid_fd, "stat", &st))
		return errno == ESRCH || errno == ENOENT;
	return st.flags & PROC_PF_EXITING;
}

int64_t proc_has_capability(unsigned int capability)
{
	_cleanup_proc_text_ struct proc_text status = { 0 };
	int64_t all;

	if (proc_read(AT_FDCWD, "/proc/self/status", 1 << 16, &status))
		return UNKNOWN;
	all = proc_field_number(status.data, status.len, "CapEff", 16);
	return all == UNKNOWN ? UNKNOWN : all >> capability & 1;
}

/* A line of /proc/PID/cgroup: HIERARCHY:CONTROLLERS:PATH, where only PATH may hold further colons. */
struct cgroup_line {
	const char *controllers, *path;
	size_t controllers_len, path_len;
	bool unified;
};

static bool next_cgroup(const char *buf, size_t len, size_t *pos, struct cgroup_line *l)
{
	const char *line;
	size_t line_len;

	while ((line = proc_next_line(buf, len, pos, &line_len))) {
		const char *end = line + line_len, *c = memchr(line, ':', line_len);
		const char *p = c ? memchr(c + 1, ':', (size_t)(end - c - 1)) : NULL;

		if (!p)
			continue;
		*l = (struct cgroup_line){ c + 1, p + 1, (size_t)(p - c - 1), (size_t)(end - p - 1),
					   line_len >= 3 && !memcmp(line, "0::", 3) };
		return true;
	}
	return false;
}

char *proc_parse_cgroup_v2(const char *buf, size_t len)
{
	struct cgroup_line l;
	size_t pos = 0;

	while (next_cgroup(buf, len, &pos, &l))
		if (l.unified)
			return xstrndup(l.path, l.path_len);
	return NULL;
}

char *proc_parse_cgroup(const char *buf, size_t len)
{
	char *unified = proc_parse_cgroup_v2(buf, len);
	struct cgroup_line l;
	size_t pos = 0;

	if (unified || !next_cgroup(buf, len, &pos, &l))
		return unified;
	return xstrndup(l.path, l.path_len);
}

static bool has_word(const char *list, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	for (size_t at = 0, n; at < len; at += n + 1) {
		const char *comma = memchr(list + at, ',', len - at);

		n = comma ? (size_t)(comma - list) - at : len - at;
		if (n == word_len && !memcmp(list + at, word, n))
			return true;
	}
	return false;
}

char *proc_parse_cgroup_v1(const char *buf, size_t len, const char *controller)
{
	struct cgroup_line l;
	size_t pos = 0;

	while (next_cgroup(buf, len, &pos, &l))
		if (has_word(l.controllers, l.controllers_len, controller))
			return xstrndup(l.path, l.path_len);
	return NULL;
}

int proc_parse_schedstat(const char *buf, size_t len, int64_t *run_ns, int64_t *wait_ns)
{
	const char *p = buf, *end = buf + len;
	uint64_t run, wait;

	if (!take_number(&p, end, 10, &run) || !take_char(&p, end, ' ') ||
	    !take_number(&p, end, 10, &wait) || !take_char(&p, end, ' ') ||
	    run > INT64_MAX || wait > INT64_MAX)
		return -1;
	*run_ns = (int64_t)run;
	*wait_ns = (int64_t)wait;
	return 0;
}

bool proc_in_first_ns(const char *path, uint64_t first)
{
	struct stat st;

	return stat(path, &st) || st.st_ino == first;
}

int64_t proc_parse_ns(const char *link)
{
	const char *p = strchr(link, '['), *end = link + strlen(link);
	uint64_t v;

	if (!p || !take_char(&p, end, '[') || !take_number(&p, end, 10, &v) || v > INT64_MAX ||
	    !take_char(&p, end, ']') || p != end)
		return UNKNOWN;
	return (int64_t)v;
}

static bool take_permissions(const char **p, const char *end, struct proc_map *map)
{
	const char *s = *p;

	if (end - s < 5 || s[4] != ' ' || (s[0] != 'r' && s[0] != '-') ||
	    (s[1] != 'w' && s[1] != '-') || (s[2] != 'x' && s[2] != '-') ||
	    (s[3] != 'p' && s[3] != 's'))
		return false;
	map->read = s[0] == 'r';
	map->write = s[1] == 'w';
	map->exec = s[2] == 'x';
	map->shared = s[3] == 's';
	*p += 5;
	return true;
}

int proc_parse_map(const char *line, size_t len, struct proc_map *map)
{
	const char *p = line, *end = line + len;
	uint64_t major, minor;

	memset(map, 0, sizeof(*map));
	if (!take_number(&p, end, 16, &map->start) || !take_char(&p, end, '-') ||
	    !take_number(&p, end, 16, &map->end) || !take_char(&p, end, ' ') ||
	    !take_permissions(&p, end, map) ||
	    !take_number(&p, end, 16, &map->offset) || !take_char(&p, end, ' ') ||
	    !take_number(&p, end, 16, &major) || !take_char(&p, end, ':') ||
	    !take_number(&p, end, 16, &minor) || !take_char(&p, end, ' ') ||
	    !take_number(&p, end, 10, &map->inode) || map->start >= map->end)
		return -1;
	/* The path is padded to a column; the kernel writes its newlines as \012. */
	while (p < end && *p == ' ')
		p++;
	map->path = p;
	map->path_len = (size_t)(end - p);
	return 0;
}

const char *proc_policy_name(unsigned int policy)
{
	/* include/uapi/linux/sched.h; 4 was never used */
	static const char *const names[] = { "other", "fifo", "rr",	  "batch",
					     "",      "idle", "deadline", "ext" };

	return policy < ARRAY_SIZE(names) ? names[policy] : "";
}
