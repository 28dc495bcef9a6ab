// SPDX-License-Identifier: GPL-2.0-or-later
#include "snapshot.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>

#include "btf_cache.h"
#include "btf_offsets.h"
#include "device.h"
#include "procfs.h"
#include "util.h"

/*
 * A loader that runs in the kernel: this program then needs to know nothing of the kernel's
 * types to load the BPF program, which spares it some 50 ms of parsing.
 */
#include "snapshot.lskel.h"

static const char operation[] = "take a kernel snapshot";

/* Past what 200 VMs of the largest devices come to; a process must not be able to fill our memory. */
#define MOST_BYTES (256u << 20)
#define FIRST_PID_NS 0xEFFFFFFCu

struct stream {
	char *data;
	size_t len, size;
};

struct snapshot_session {
	struct snapshot_bpf *skel;
	bool has[SNAP_KINDS];
	int64_t zcopytx;
};

/* Kernel dev_t: 12 bits of major, 20 of minor. */
static void set_classes(struct snap_class *classes, const struct device_numbers *numbers)
{
	static const __u32 of_vhost[DEVICE_KINDS] = { SNAP_NET, SNAP_SCSI, SNAP_VSOCK, SNAP_KINDS };
	size_t n = 0;

	for (size_t i = 0; i < numbers->n && n < SNAP_CLASSES; i++) {
		const struct device_class *class = numbers->items[i].class;
		__u32 kind = class->role == ROLE_TUN ? SNAP_TUN :
			     class->role == ROLE_MACVTAP ? SNAP_MACVTAP : of_vhost[class->kind];

		if (kind == SNAP_KINDS)
			continue;
		classes[n++] = (struct snap_class){
			.rdev = numbers->items[i].major << 20 | numbers->items[i].minor,
			.mask = class->misc ? ~0u : ~0u << 20,
			.kind = kind,
		};
	}
}

static bool is_locked_down(void)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };

	return !proc_read(AT_FDCWD, "/sys/kernel/security/lockdown", 4096, &text) &&
	       strstr(text.data, "[confidentiality]");
}

/* Why the kernel would not: what it answers (EPERM, EINVAL) says little by itself. */
static int refused(int errnum, struct error *e)
{
	/* What is not known is not said. */
	if (proc_has_capability(CAP_SYS_ADMIN) == 0 &&
	    (proc_has_capability(CAP_BPF) == 0 || proc_has_capability(CAP_PERFMON) == 0))
		return error_set(e, STATUS_DENIED, errnum, operation,
				 "it takes CAP_BPF and CAP_PERFMON");
	if (is_locked_down())
		return error_set(e, STATUS_DENIED, errnum, operation,
				 "the kernel is locked down (confidentiality)");
	return error_errno(e, errnum, operation, "the kernel took no BPF iterator");
}

/* Thread ids are those of the initial pid namespace, whatever namespace we are in. */
static int check_namespace(struct error *e)
{
	if (proc_in_first_ns("/proc/self/ns/pid", FIRST_PID_NS))
		return 0;
	return error_set(e, STATUS_UNSUPPORTED, 0, operation,
			 "its thread ids are those of the host, and this is another pid namespace");
}

static int read_layout(struct snap_layout *at, struct error *e)
{
	_cleanup_free_ char *key = btf_cache_key(BTF_DIR);

	if (!btf_cache_load(BTF_CACHE_DIR, key, at))
		return 0;
	if (btf_offsets_read(BTF_DIR, at, e))
		return -1;
	/* For the next run. One that may not keep it parses each time. */
	(void)btf_cache_store(BTF_CACHE_DIR, key, at);
	return 0;
}

static void set_kinds(struct snapshot_session *s, const struct snap_layout *at)
{
	s->has[SNAP_NET] = at->net_dev != SNAP_ABSENT;
	s->has[SNAP_SCSI] = at->scsi_dev != SNAP_ABSENT;
	s->has[SNAP_VSOCK] = at->vsock_dev != SNAP_ABSENT;
	s->has[SNAP_TUN] = at->tfile_socket != SNAP_ABSENT;
	s->has[SNAP_MACVTAP] = at->tapq_sock != SNAP_ABSENT;
}

static int64_t read_zcopytx(void)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };

	if (proc_read(AT_FDCWD, "/sys/module/vhost_net/parameters/experimental_zcopytx", 64, &text))
		return UNKNOWN;
	return *text.data != '0';
}

static struct snapshot_bpf *load(struct snapshot_session *s, struct error *e)
{
	struct device_numbers numbers;
	struct snap_layout at;
	struct snapshot_bpf *skel;
	int err;

	if (check_namespace(e) || read_layout(&at, e) || device_numbers_read(&numbers, e))
		return NULL;
	set_kinds(s, &at);
	skel = snapshot_bpf__open();
	if (!skel) {
		error_errno(e, ENOMEM, operation, NULL);
		return NULL;
	}
	skel->rodata->at = at;
	set_classes(skel->rodata->classes, &numbers);
	err = snapshot_bpf__load(skel);
	if (err || !skel->rodata || !skel->bss) {
		refused(err ? -err : ENOMEM, e);
		snapshot_bpf__destroy(skel);
		return NULL;
	}
	return skel;
}

static int read_all(int fd, struct stream *st, size_t most, struct error *e)
{
	for (;;) {
		ssize_t n;

		if (st->size - st->len < 65536) {
			st->size += st->size < 65536 ? 1 << 18 : st->size;
			st->data = xrealloc(st->data, st->size);
		}
		n = read(fd, st->data + st->len, st->size - st->len);
		if (n == 0)
			return 0;
		if (n > 0)
			st->len += (size_t)n;
		/* EAGAIN: a million files without a record among them; it goes on from there. */
		else if (errno != EAGAIN && errno != EINTR)
			return error_errno(e, errno, operation, NULL);
		if (st->len > most)
			return error_set(e, STATUS_FAILED, 0, operation, "more than %u MB of it",
					 MOST_BYTES >> 20);
	}
}

/*
 * One pass over the open files of the process @pid (0: of all). By TID: the main thread's table is
 * the process's, and with .pid 6.1 goes over it twice.
 */
static int walk(const struct snapshot_bpf *skel, pid_t pid, struct snapshot *s, struct error *e)
{
	union bpf_iter_link_info info = { .task = { .tid = (__u32)pid } };
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	struct stream st = { 0 };
	_cleanup_close_ int link = -1;
	_cleanup_close_ int iter = -1;
	int ret;

	if (pid) {
		opts.iter_info = &info;
		opts.iter_info_len = sizeof(info);
	}
	link = bpf_link_create(skel->progs.walk.prog_fd, 0, BPF_TRACE_ITER, &opts);
	if (link < 0)
		return refused(errno, e);
	iter = bpf_iter_create(link);
	if (iter < 0)
		return refused(errno, e);
	ret = read_all(iter, &st, MOST_BYTES - s->bytes, e);
	s->bytes += ret ? 0 : st.len;
	if (ret == 0 && snapshot_parse(s, st.data, st.len))
		ret = error_set(e, STATUS_FAILED, 0, operation, "its records are not as expected");
	free(st.data);
	return ret;
}

/* The further pages of @pid's devices; of all of them at once. */
static int walk_on(const struct snapshot_bpf *skel, pid_t pid, unsigned int most, struct snapshot *s,
		   struct error *e)
{
	for (unsigned int from = SNAP_PAGE; from < most; from += SNAP_PAGE) {
		*(volatile __u32 *)&skel->bss->page_from = from;
		if (walk(skel, pid, s, e) < 0)
			return -1;
	}
	return 0;
}

static int walk_pages(const struct snapshot_bpf *skel, struct snapshot *s, struct error *e)
{
	size_t n = s->n_devices;

	/* Records come process by process, so a process's devices are next to each other. */
	for (size_t i = 0, end; i < n; i = end) {
		pid_t pid = (pid_t)s->devices[i].d.pid;
		unsigned int most = 0;

		for (end = i; end < n && s->devices[end].d.pid == (__u32)pid; end++)
			if (snapshot_rest(&s->devices[end]) > most)
				most = snapshot_rest(&s->devices[end]);
		if (walk_on(skel, pid, most, s, e))
			return -1;
	}
	return 0;
}

int snapshot_open(struct snapshot_session **session, struct error *e)
{
	struct snapshot_session *s = xcalloc(1, sizeof(*s));

	*session = NULL;
	s->zcopytx = read_zcopytx();
	s->skel = load(s, e);
	if (!s->skel) {
		free(s);
		return -1;
	}
	*session = s;
	return 0;
}

int snapshot_again(struct snapshot_session *session, pid_t pid, struct snapshot *s, struct error *e)
{
	int ret;

	*s = (struct snapshot){ .zcopytx = session->zcopytx };
	memcpy(s->has, session->has, sizeof(s->has));
	*(volatile __u32 *)&session->skel->bss->page_from = 0;
	ret = walk(session->skel, pid, s, e);
	if (ret == 0)
		ret = walk_pages(session->skel, s, e);
	if (ret)
		snapshot_free(s);
	return ret;
}

void snapshot_close(struct snapshot_session *session)
{
	if (!session)
		return;
	snapshot_bpf__destroy(session->skel);
	free(session);
}

int snapshot_take(pid_t pid, struct snapshot *s, struct error *e)
{
	struct snapshot_session *session;
	int ret;

	*s = (struct snapshot){ 0 };
	if (snapshot_open(&session, e))
		return -1;
	ret = snapshot_again(session, pid, s, e);
	snapshot_close(session);
	return ret;
}
