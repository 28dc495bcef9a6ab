// SPDX-License-Identifier: GPL-2.0-or-later
/* Offsets out of type information made here, and the cache that keeps them. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "btf_cache.h"
#include "unit.h"
#include "util.h"

#ifdef HAVE_SNAPSHOT
#include <bpf/btf.h>

#include "btf_offsets.h"
#endif

static char dir[] = "/tmp/test_btf.XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	_cleanup_free_ char *command = xasprintf("rm -rf %s", dir);

	(void)state;
	return system(command);
}

static struct snap_layout layout(void)
{
	struct snap_layout at;
	__s32 *values = (__s32 *)&at;

	for (size_t i = 0; i < sizeof(at) / sizeof(*values); i++)
		values[i] = i % 5 ? (__s32)i * 8 : -1;
	return at;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	fchmod(fd, mode);
	close(fd);
}

static char *read_file(const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	char *text = xcalloc(1, 65536);
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && read(fd, text, 65535) > 0);
	close(fd);
	return text;
}

static void cache(void **state)
{
	struct snap_layout at = layout(), back;

	(void)state;
	memset(&back, 0, sizeof(back));
	assert_int_equal(btf_cache_load(dir, "6.12 abc", &back), -1);
	assert_int_equal(btf_cache_store(dir, "6.12 abc", &at), 0);
	assert_int_equal(btf_cache_load(dir, "6.12 abc", &back), 0);
	assert_memory_equal(&at, &back, sizeof(at));
	assert_int_equal(btf_cache_load(dir, "6.12 abd", &back), -1);
	assert_int_equal(btf_cache_load(dir, "6.12", &back), -1);
	assert_int_equal(btf_cache_load("/nonexistent", "6.12 abc", &back), -1);
}

/* Each byte changed, in turn, and each length short of all. */
static void cache_damaged(void **state)
{
	struct snap_layout at = layout(), back;
	_cleanup_free_ char *text = NULL;
	size_t len;

	(void)state;
	assert_int_equal(btf_cache_store(dir, "k", &at), 0);
	text = read_file("offsets");
	len = strlen(text);
	for (size_t i = 0; i < len; i++) {
		text[i] ^= 1;
		write_file("offsets", text, 0644);
		text[i] ^= 1;
		assert_int_equal(btf_cache_load(dir, "k", &back), -1);
	}
	for (size_t i = 0; i < len; i++) {
		_cleanup_free_ char *part = strndup(text, i);

		write_file("offsets", part, 0644);
		assert_int_equal(btf_cache_load(dir, "k", &back), -1);
	}
	write_file("offsets", text, 0644);
	assert_int_equal(btf_cache_load(dir, "k", &back), 0);
}

static void cache_foreign(void **state)
{
	_cleanup_free_ char *file = xasprintf("%s/offsets", dir);
	_cleanup_free_ char *other = xasprintf("%s/other", dir);
	struct snap_layout at = layout(), back;

	(void)state;
	assert_int_equal(btf_cache_store(dir, "k", &at), 0);
	assert_int_equal(chmod(file, 0664), 0);
	assert_int_equal(btf_cache_load(dir, "k", &back), -1);
	assert_int_equal(chmod(file, 0646), 0);
	assert_int_equal(btf_cache_load(dir, "k", &back), -1);
	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(btf_cache_load(dir, "k", &back), -1);
	assert_int_equal(btf_cache_store(dir, "k", &at), -1);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(btf_cache_load(dir, "k", &back), 0);
	if (!geteuid()) {
		assert_int_equal(chown(file, 12345, 0), 0);
		assert_int_equal(btf_cache_load(dir, "k", &back), geteuid() ? 0 : -1);
		assert_int_equal(chown(file, 0, 0), 0);
	}
	assert_int_equal(rename(file, other), 0);
	assert_int_equal(symlink("other", file), 0);
	assert_int_equal(btf_cache_load(dir, "k", &back), -1);
	assert_int_equal(btf_cache_store(dir, "k", &at), 0); /* which replaces it */
	assert_int_equal(btf_cache_load(dir, "k", &back), 0);
	unlink(other);
}

static void cache_key(void **state)
{
	_cleanup_free_ char *a = NULL, *b = NULL, *c = NULL;

	(void)state;
	write_file("vhost", "1234", 0644);
	a = btf_cache_key(dir);
	write_file("vhost", "5678", 0644);
	b = btf_cache_key(dir);
	write_file("vhost", "12345", 0644);
	c = btf_cache_key(dir);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	assert_null(strchr(a, '\n'));
}

#ifdef HAVE_SNAPSHOT
/* Types as a kernel of the kind @workers (SNAP_WORKER_*) has them, small and with other offsets. */
struct types {
	struct btf *btf;
	int ptr, u8, u16, u32, u64, name;
	__u32 at;
};

static void begin(struct types *t, const char *name)
{
	assert_true(btf__add_struct(t->btf, name, 4096) > 0);
	t->at = 8; /* no offset is 0, which a zeroed layout would have as well */
}

static void member(struct types *t, const char *name, int type, __u32 bytes)
{
	assert_int_equal(btf__add_field(t->btf, name, type, t->at * 8, 0), 0);
	t->at += bytes;
}

static void base_types(struct types *t)
{
	int array;

	t->u8 = btf__add_int(t->btf, "unsigned char", 1, 0);
	t->u16 = btf__add_int(t->btf, "unsigned short", 2, 0);
	t->u32 = btf__add_int(t->btf, "unsigned int", 4, 0);
	t->u64 = btf__add_int(t->btf, "unsigned long", 8, 0);
	t->ptr = btf__add_ptr(t->btf, 0);
	t->name = btf__add_array(t->btf, t->u32, t->u8, 16);
	array = btf__add_array(t->btf, t->u32, t->ptr, 16);
	begin(t, "xa_node");
	member(t, "shift", t->u8, 8);
	member(t, "slots", array, 128);
}

static void kernel_types(struct types *t)
{
	int inner, dev_t = btf__add_typedef(t->btf, "dev_t", t->u32);

	begin(t, "file");
	member(t, "f_inode", t->ptr, 8);
	member(t, "private_data", t->ptr, 8);
	begin(t, "inode");
	member(t, "i_rdev", dev_t, 4);
	begin(t, "task_struct");
	member(t, "pid", t->u32, 4);
	member(t, "tgid", t->u32, 4);
	member(t, "comm", t->name, 16);
	/* As since 5.x: all of an mm_struct is in a struct without a name. */
	inner = btf__add_struct(t->btf, "", 64);
	btf__add_field(t->btf, "owner", t->ptr, 16 * 8, 0);
	begin(t, "mm_struct");
	t->at = 32;
	member(t, "", inner, 64);
	begin(t, "vhost_task");
	member(t, "task", t->ptr, 8);
	begin(t, "xarray");
	member(t, "xa_head", t->ptr, 8);
	begin(t, "socket");
	member(t, "file", t->ptr, 8);
	inner = btf__add_struct(t->btf, "possible_net", 8);
	btf__add_field(t->btf, "net", t->ptr, 0, 0);
	begin(t, "net_device");
	member(t, "name", t->name, 16);
	member(t, "ifindex", t->u32, 8);
	member(t, "nd_net", inner, 8);
	inner = btf__add_struct(t->btf, "ns_common", 8);
	btf__add_field(t->btf, "inum", t->u32, 32, 0);
	begin(t, "net");
	member(t, "ns", inner, 8);
}

static void vhost_dev_types(struct types *t, int workers)
{
	int task = btf__find_by_name_kind(t->btf, "task_struct", BTF_KIND_STRUCT);
	int worker = btf__add_struct(t->btf, "vhost_worker", 64);
	int xarray = btf__find_by_name_kind(t->btf, "xarray", BTF_KIND_STRUCT);

	btf__add_field(t->btf, "vtsk", t->ptr, 64, 0);
	btf__add_field(t->btf, "dev", t->ptr, 128, 0);
	btf__add_field(t->btf, "id", t->u32, 192, 0);
	task = btf__add_ptr(t->btf, task);
	if (workers == SNAP_WORKER_POINTER)
		worker = btf__add_ptr(t->btf, worker);
	begin(t, "vhost_dev");
	member(t, "mm", t->ptr, 8);
	member(t, "vqs", t->ptr, 8);
	member(t, "nvqs", t->u32, 8);
	if (workers == SNAP_WORKER_NONE)
		member(t, "worker_xa", xarray, 16);
	else
		member(t, "worker", workers == SNAP_WORKER_TASK ? task : worker, 64);
}

static void vhost_types(struct types *t, int workers, int busyloop)
{
	int call;

	vhost_dev_types(t, workers);
	call = btf__add_struct(t->btf, "vhost_vring_call", 16);
	btf__add_field(t->btf, "ctx", t->ptr, 64, 0);
	begin(t, "vhost_virtqueue");
	member(t, "dev", t->ptr, 8);
	member(t, "num", t->u32, 8);
	member(t, "desc", t->ptr, 8);
	member(t, "kick", t->ptr, 8);
	member(t, "call_ctx", call, 16);
	member(t, "last_avail_idx", t->u16, 2);
	member(t, "avail_idx", t->u16, 2);
	member(t, "last_used_idx", t->u16, 2);
	t->at += 2;
	member(t, "private_data", t->ptr, 8);
	member(t, "acked_features", t->u64, 8);
	member(t, "busyloop_timeout", busyloop, 8);
	if (workers == SNAP_WORKER_NONE)
		member(t, "worker", t->ptr, 8);
}

static void save(const struct btf *btf, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	__u32 size;
	const void *data = btf__raw_data(btf, &size);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

/* @modular: vhost's types in a file of its own, split on the kernel's. */
static void make_btf(int workers, bool modular, bool wide_busyloop)
{
	struct types t = { .btf = btf__new_empty() };
	struct btf *base = t.btf;

	base_types(&t);
	kernel_types(&t);
	if (modular)
		t.btf = btf__new_empty_split(base);
	vhost_types(&t, workers, wide_busyloop ? t.u64 : t.u32);
	save(base, "vmlinux");
	if (modular) {
		save(t.btf, "vhost");
		btf__free(t.btf);
	} else {
		_cleanup_free_ char *path = xasprintf("%s/vhost", dir);

		unlink(path);
	}
	btf__free(base);
}

static void offsets(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	for (int modular = 0; modular < 2; modular++) {
		struct snap_layout at;

		make_btf(SNAP_WORKER_NONE, modular, false);
		if (btf_offsets_read(dir, &at, &e))
			fail_msg("%s", e.message);
		assert_int_equal(at.file_inode, 8);
		assert_int_equal(at.file_private, 16);
		assert_int_equal(at.mm_owner, 48);		/* through a nameless struct */
		assert_int_equal(at.net_device_net, 32);	/* nd_net.net */
		assert_int_equal(at.net_inum, 12);		/* ns.inum */
		assert_int_equal(at.vq_call, 48);		/* call_ctx.ctx */
		assert_int_equal(at.xa_node_n_slots, 16);
		assert_int_equal(at.dev_worker_xa, 32);
		assert_int_equal(at.dev_worker, SNAP_ABSENT);
		assert_int_equal(at.dev_worker_kind, SNAP_WORKER_NONE);
		assert_int_equal(at.worker_id, 24);
		assert_int_equal(at.worker_kthread, SNAP_ABSENT);
		assert_int_equal(at.dev_fork_owner, SNAP_ABSENT);
		assert_int_equal(at.net_dev, SNAP_ABSENT);	/* vhost_net is not loaded */
		assert_int_equal(at.tfile_socket, SNAP_ABSENT);
	}
}

static void worker_kinds(void **state)
{
	struct error e = ERROR_INIT;
	struct snap_layout at;

	(void)state;
	for (int kind = SNAP_WORKER_TASK; kind <= SNAP_WORKER_EMBEDDED; kind++) {
		make_btf(kind, true, false);
		assert_int_equal(btf_offsets_read(dir, &at, &e), 0);
		assert_int_equal(at.dev_worker_kind, kind);
		assert_int_equal(at.dev_worker, 32);
		assert_int_equal(at.dev_worker_xa, SNAP_ABSENT);
		assert_int_equal(at.vq_worker, SNAP_ABSENT);
	}
}

/* A member of another size is another member; no types, or something else in their place, is said. */
static void not_as_known(void **state)
{
	struct error e = ERROR_INIT;
	struct snap_layout at;

	(void)state;
	make_btf(SNAP_WORKER_NONE, true, true);
	assert_int_equal(btf_offsets_read(dir, &at, &e), -1);
	assert_int_equal(e.status, STATUS_UNSUPPORTED);
	assert_non_null(strstr(e.message, "busyloop_timeout"));
	make_btf(SNAP_WORKER_NONE, true, false);
	write_file("vhost", "nonsense", 0644);
	assert_int_equal(btf_offsets_read(dir, &at, &e), -1);
	assert_non_null(strstr(e.message, "no type information of vhost"));
	write_file("vmlinux", "nonsense", 0644);
	assert_int_equal(btf_offsets_read(dir, &at, &e), -1);
	assert_int_equal(btf_offsets_read("/nonexistent", &at, &e), -1);
	assert_non_null(strstr(e.message, "/nonexistent/vmlinux"));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cache), cmocka_unit_test(cache_damaged),
		cmocka_unit_test(cache_foreign), cmocka_unit_test(cache_key),
#ifdef HAVE_SNAPSHOT
		cmocka_unit_test(offsets), cmocka_unit_test(worker_kinds), cmocka_unit_test(not_as_known),
#endif
	};

	return cmocka_run_group_tests_name("btf", tests, set_up, tear_down);
}
