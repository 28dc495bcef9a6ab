// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Type information, and the cache of what was found in it. The first byte chooses: a text as the cache's file
 * would have it, or a graph of types, which need not make sense but is what the library takes for one.
 */
#include "../../src/btf_cache.c"
#define parse parse_module
#include "../../src/btf_offsets.c"
#undef parse
#include "fuzz.h"

static const char *const names[] = {
	"", "file", "task_struct", "vhost_dev", "vhost_worker", "worker", "pid", "f_inode", "nd_net", "net",
	"ns", "inum", "xa_node", "slots", "vq", "dev",
};

static __u32 type_id(struct input *in)
{
	return take_byte(in) % 64;
}

static const char *name(struct input *in)
{
	return names[take_byte(in) % ARRAY_SIZE(names)];
}

static void add_struct(struct btf *btf, struct input *in)
{
	uint8_t members = take_byte(in) % 8;

	if (btf__add_struct(btf, name(in), take_byte(in)) < 0)
		return;
	for (uint8_t i = 0; i < members; i++) {
		const char *member = name(in);
		__u32 type = type_id(in), at = take_byte(in) * 4u;

		if (btf__add_field(btf, member, (int)type, at, take_byte(in) % 4 == 3 ? 3 : 0))
			break;
	}
}

static void add_type(struct btf *btf, struct input *in)
{
	const char *name_ = name(in);
	int type = (int)type_id(in);

	switch (take_byte(in) % 8) {
	case 0: btf__add_int(btf, *name_ ? name_ : "int", 1u << take_byte(in) % 4, 0); break;
	case 1: btf__add_ptr(btf, type); break;
	case 2: btf__add_array(btf, type, type, take_byte(in)); break;
	case 3: btf__add_typedef(btf, *name_ ? name_ : "t", type); break;
	case 4: btf__add_const(btf, type); break;
	case 5: btf__add_volatile(btf, type); break;
	default: add_struct(btf, in);
	}
}

static void graph(struct input *in)
{
	struct btf *btf = btf__new_empty();
	struct snap_layout at;
	struct error e = ERROR_INIT;

	CHECK(btf);
	memset(&at, 0xff, sizeof(at));
	while (in->left && btf__type_cnt(btf) < 64)
		add_type(btf, in);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		__u32 type = 0;
		__s32 offset = offset_of(btf, &table[i], &type);

		CHECK(offset >= SNAP_ABSENT);
		worker_kind(btf, type);
		CHECK(array_length(btf, type) >= 0);
	}
	for (__u32 id = 0; id < 64; id++) {
		__u32 type = 0;

		CHECK(find_path(btf, id, "worker.dev.pid", &type) >= SNAP_ABSENT);
		skip_modifiers(btf, id);
	}
	read_module(btf, "vhost", true, &at, &e);
	settle(&at);
	btf__free(btf);
}

static void cache(struct input *in)
{
	_cleanup_free_ char *text = NULL;
	struct snap_layout at;
	size_t len;

	text = take_rest(in, &len);
	if (parse(text, &at) == 0)
		for (size_t i = 0; i < sizeof(at) / sizeof(__s32); i++)
			CHECK(((__s32 *)&at)[i] >= SNAP_ABSENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	if (take_byte(&in) & 1)
		cache(&in);
	else
		graph(&in);
	return 0;
}
