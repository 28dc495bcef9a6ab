// SPDX-License-Identifier: GPL-2.0-or-later
#include "btf_offsets.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "btf_cache.h"
#include "util.h"

static const char operation[] = "read the kernel's types";

/* Structs without a name that one is searched for within another: a bound, not a measure. */
#define MOST_STRUCTS 4096

struct wanted {
	const char *name, *module, *type, *path;
	int bytes;
	bool needed;
};

/* In the order of struct snap_layout. */
static const struct wanted table[] = {
#define SNAP_FIELD(name, module, type, path, bytes, needed) { #name, module, type, path, bytes, needed },
	SNAP_OFFSETS(SNAP_FIELD)
#undef SNAP_FIELD
};

/* A struct or union of that name: the module's own first, since the kernel can have another one. */
static int find_type(const struct btf *btf, const char *name)
{
	const struct btf *base = btf__base_btf(btf);
	__u32 n = btf__type_cnt(btf);

	for (__u32 id = base ? btf__type_cnt(base) : 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (btf_is_composite(t) && !strcmp(btf__name_by_offset(btf, t->name_off), name))
			return (int)id;
	}
	return base ? find_type(base, name) : -1;
}

static __u32 skip_modifiers(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	int most = 32; /* as libbpf has it: a cycle of them would have no end */

	while (t && (btf_is_mod(t) || btf_is_typedef(t)) && most--) {
		id = t->type;
		t = btf__type_by_id(btf, id);
	}
	return id;
}

/*
 * Member @name of a struct, or of one without a name inside of it. Offsets in bits. @steps: how many
 * structs may be looked into, since types that hold each other would have no end of them.
 */
static bool find_member(const struct btf *btf, __u32 id, const char *name, size_t len, __u32 *bits,
			__u32 *type, unsigned int *steps)
{
	const struct btf_type *t = btf__type_by_id(btf, skip_modifiers(btf, id));
	const struct btf_member *m;

	if (!t || !btf_is_composite(t) || !*steps)
		return false;
	--*steps;
	m = btf_members(t);
	for (__u32 i = 0; i < btf_vlen(t); i++) {
		const char *have = btf__name_by_offset(btf, m[i].name_off);
		__u32 at = btf_member_bit_offset(t, i);

		if (have && *have) {
			if (strlen(have) != len || strncmp(have, name, len))
				continue;
			*bits += at;
			*type = m[i].type;
			return !btf_member_bitfield_size(t, i);
		}
		*bits += at;
		if (find_member(btf, m[i].type, name, len, bits, type, steps))
			return true;
		*bits -= at;
	}
	return false;
}

/* The member at "a.b" of the type @id: its offset in bytes, or SNAP_ABSENT. */
static __s32 find_path(const struct btf *btf, __u32 id, const char *path, __u32 *type)
{
	__u32 bits = 0;

	for (;;) {
		size_t len = strcspn(path, ".");
		unsigned int steps = MOST_STRUCTS;

		if (!find_member(btf, id, path, len, &bits, type, &steps))
			return SNAP_ABSENT;
		if (!path[len])
			break;
		path += len + 1;
		id = *type;
	}
	return bits % 8 || bits / 8 > INT32_MAX ? SNAP_ABSENT : (__s32)(bits / 8);
}

static __s32 offset_of(const struct btf *btf, const struct wanted *w, __u32 *type)
{
	int id = btf ? find_type(btf, w->type) : -1;
	__s32 offset = id < 0 ? SNAP_ABSENT : find_path(btf, (__u32)id, w->path, type);

	/* A member that changed its size is another one than the program knows how to read. */
	if (offset != SNAP_ABSENT && w->bytes && btf__resolve_size(btf, *type) != w->bytes)
		return SNAP_ABSENT;
	return offset;
}

static __s32 worker_kind(const struct btf *btf, __u32 type)
{
	const struct btf_type *t = btf__type_by_id(btf, skip_modifiers(btf, type));
	bool pointer = t && btf_is_ptr(t);
	const char *name;

	if (pointer)
		t = btf__type_by_id(btf, skip_modifiers(btf, t->type));
	name = t ? btf__name_by_offset(btf, t->name_off) : NULL;
	if (name && pointer && !strcmp(name, "task_struct"))
		return SNAP_WORKER_TASK;
	if (name && !strcmp(name, "vhost_worker"))
		return pointer ? SNAP_WORKER_POINTER : SNAP_WORKER_EMBEDDED;
	return SNAP_WORKER_NONE;
}

static __s32 array_length(const struct btf *btf, __u32 type)
{
	const struct btf_type *t = btf__type_by_id(btf, skip_modifiers(btf, type));

	return t && btf_is_array(t) ? (__s32)btf_array(t)->nelems : 0;
}

static int missing(const struct wanted *w, struct error *e)
{
	return error_set(e, STATUS_UNSUPPORTED, 0, operation,
			 "this kernel's struct %s has no %s as this program knows it", w->type, w->path);
}

/* All members of one module. What it lacks is fatal in the kernel itself and in vhost. */
static int read_module(const struct btf *btf, const char *module, bool fatal, struct snap_layout *at,
		       struct error *e)
{
	__s32 *values = (__s32 *)at;
	bool whole = true;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct wanted *w = &table[i];
		__u32 type = 0;

		if (strcmp(w->module, module))
			continue;
		values[i] = offset_of(btf, w, &type);
		if (values[i] == SNAP_ABSENT && w->needed) {
			if (fatal)
				return missing(w, e);
			whole = false;
		}
		if (values[i] != SNAP_ABSENT && &values[i] == &at->dev_worker)
			at->dev_worker_kind = worker_kind(btf, type);
		if (values[i] != SNAP_ABSENT && &values[i] == &at->xa_node_slots)
			at->xa_node_n_slots = array_length(btf, type);
	}
	for (size_t i = 0; !whole && i < ARRAY_SIZE(table); i++)
		if (!strcmp(table[i].module, module))
			values[i] = SNAP_ABSENT;
	return 0;
}

/* Members that are of use together only. */
static void settle(struct snap_layout *at)
{
	bool slots = at->xa_node_n_slots > 0 && !(at->xa_node_n_slots & (at->xa_node_n_slots - 1));

	if (at->xarray_head == SNAP_ABSENT || at->xa_node_shift == SNAP_ABSENT || !slots ||
	    at->worker_dev == SNAP_ABSENT)
		at->dev_worker_xa = SNAP_ABSENT;
}

static struct btf *parse(const char *btf_dir, const char *module, struct btf *base)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", btf_dir, module);

	if (access(path, R_OK))
		return NULL;
	return base ? btf__parse_split(path, base) : btf__parse(path, NULL);
}

static int quiet(enum libbpf_print_level level __attribute__((unused)),
		 const char *format __attribute__((unused)), va_list ap __attribute__((unused)))
{
	return 0;
}

int btf_offsets_read(const char *btf_dir, struct snap_layout *at, struct error *e)
{
	struct btf *base;
	int ret = 0;

	libbpf_set_print(quiet); /* what it would print is told by the error */
	memset(at, 0xff, sizeof(*at));
	at->dev_worker_kind = SNAP_WORKER_NONE;
	at->xa_node_n_slots = 0;
	base = parse(btf_dir, "vmlinux", NULL);
	if (!base)
		return error_set(e, STATUS_UNSUPPORTED, errno, operation, "%s/vmlinux: %s", btf_dir,
				 strerror(errno));
	for (size_t i = 0; btf_modules[i] && ret == 0; i++) {
		struct btf *own = i ? parse(btf_dir, btf_modules[i], base) : NULL;
		bool vhost = !strcmp(btf_modules[i], "vhost");

		if (vhost && !own && find_type(base, "vhost_dev") < 0)
			ret = error_set(e, STATUS_UNSUPPORTED, 0, operation,
					"no type information of vhost: it is not loaded, or has none");
		else
			ret = read_module(own ? own : base, btf_modules[i], !i || vhost, at, e);
		btf__free(own);
	}
	btf__free(base);
	settle(at);
	return ret;
}
