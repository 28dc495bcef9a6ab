// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "coalesce.h"
#include "command.h"
#include "cut.h"
#include "output.h"
#include "scan.h"
#include "target.h"
#include "util.h"

/* What the operands name: a tap or all taps of a VM, or an interface by itself. */
struct place {
	struct state state;
	struct vm *vm;
	struct vm_ref ref;
	int tap_fd;		/* which of its taps; -1: all */
	const char *asked;	/* the interface's name as it was asked for; NULL: by another name */
	const char *ifname;	/* without VM */
	int netns_fd;
};

#define PLACE_INIT ((struct place){ .ref = VM_REF_INIT, .tap_fd = -1, .netns_fd = -1 })

static void place_free(struct place *p)
{
	vm_release(&p->ref);
	if (p->netns_fd >= 0)
		close(p->netns_fd);
	state_free(&p->state);
}

/* "dev IFNAME [netns NAME|PID]": the first @n operands. */
static int find_dev(struct context *ctx, int n, struct place *p, struct error *e)
{
	if ((n != 2 && n != 4) || (n == 4 && strcmp(ctx->argv[2], "netns")))
		return error_set(e, STATUS_USAGE, 0, NULL, "it is: dev IFNAME [netns NAME|PID]");
	p->ifname = ctx->argv[1];
	scan_kernel(&p->state);
	p->netns_fd = n == 4 ? netns_find(ctx->argv[3], e) : netns_own(e);
	return p->netns_fd < 0 ? -1 : 0;
}

/* Once the files of one name are told apart, the name must mean one interface still. */
static int check_one(const struct place *p, const char *ifname, struct error *e)
{
	const struct tap *named = NULL;
	size_t n = 0;

	for (size_t i = 0; i < p->vm->n_taps; i++)
		if (!strcmp(p->vm->taps[i].ifname, ifname)) {
			named = named ? named : &p->vm->taps[i];
			n++;
		}
	if (n < 2)
		return 0;
	return error_set(e, STATUS_NOT_FOUND, 0, NULL,
			 "the VM has %zu taps of this name, in as many network namespaces; name one by a "
			 "file of it, as fd%d", n, named->fds[0]);
}

/* The scan puts files together by name: which tap a file is of is known when they are told apart. */
static int find_vm(struct context *ctx, struct place *p, struct error *e)
{
	char ifname[sizeof(((struct tap *)NULL)->ifname)] = "";
	struct target_tap t;

	if (target_find_tap(ctx->argv[0], &p->state, &p->vm, &t, e))
		return -1;
	p->asked = t.ifname;
	if (t.tap) {
		p->tap_fd = t.fd >= 0 ? t.fd : t.tap->fds[0];
		memcpy(ifname, t.tap->ifname, sizeof(ifname));
	}
	if (vm_hold(&p->ref, p->vm->pid, p->vm->start_time, e))
		return -1;
	taps_regroup(&p->ref, p->vm);
	return t.tap && t.fd < 0 ? check_one(p, ifname, e) : 0;
}

/* A VM can be called "dev": without an interface after it, it is one. */
static int find(struct context *ctx, int n, struct place *p, struct error *e)
{
	int ret;

	if (n > 1 && !strcmp(ctx->argv[0], "dev"))
		return find_dev(ctx, n, p, e) ? error_target(e, "%s", ctx->argv[1]) : 0;
	if (n > 1)
		ret = error_set(e, STATUS_USAGE, 0, NULL, "one operand too many: '%s'", ctx->argv[1]);
	else
		ret = find_vm(ctx, p, e);
	return ret ? error_target(e, "%s", ctx->argv[0]) : 0;
}

/* With -v: what was touched, and by which way the kernel was asked. */
static void tell(struct context *ctx, const char *target, const struct tap_visit *v)
{
	_cleanup_free_ char *text = NULL;

	if (ctx->verbosity < 1 || !v->ethnl.ifindex)
		return;
	text = xasprintf("%s: interface %d (%s) of network namespace %lld, by %s", target, v->link.ifindex,
			 v->link.ifname, (long long)v->ns.inode,
			 v->ethnl.by_ioctl ? "the ethtool ioctl" : "ethtool netlink");
	output_remark(ctx, text);
}

static int get_dev(struct context *ctx, struct place *p, struct error *e)
{
	struct tap_visit v = TAP_VISIT_INIT;
	int ret = tap_visit_named(p->netns_fd, p->ifname, &v, tap_get_rx_frames, NULL, e);

	if (ret) {
		error_target(e, "%s", p->ifname);
	} else {
		struct tap *t = ARRAY_ADD(p->state.taps, p->state.n_taps);

		tap_init(t);
		tap_take_facts(t, &v);
	}
	tell(ctx, p->ifname, &v);
	tap_visit_end(&v);
	return ret ? -1 : output_state(ctx, &p->state, e);
}

/* Leave of the VM the tap that was named, and the devices that are known to drive it. */
static void cut_to_tap(struct vm *vm, int fd)
{
	const struct tap *named = tap_with_fd(vm, fd);
	struct tap one = *named;
	size_t n = 0;

	for (size_t i = 0; i < vm->n_devices; i++) {
		if (tap_of_device(vm, &vm->devices[i]) == named)
			vm->devices[n++] = vm->devices[i];
		else
			device_free(&vm->devices[i]);
	}
	vm->n_devices = n;
	for (size_t i = 0; i < vm->n_taps; i++)
		if (&vm->taps[i] != named)
			tap_free(&vm->taps[i]);
	vm->taps[0] = one;
	vm->n_taps = 1;
}

/* Of a tap that was named, an error is the command's; of a whole VM, it is also on the tap's row. */
static int get_vm(struct context *ctx, struct place *p, struct error *e)
{
	struct selection sel = { 0 };
	struct error own = ERROR_INIT;
	int ret;

	*ARRAY_ADD(sel.items, sel.n) = (struct selected){ .vm = p->vm };
	if (p->tap_fd >= 0)
		cut_to_tap(p->vm, p->tap_fd);
	ret = taps_read(p->vm, &own);
	if (ret && p->tap_fd >= 0) {
		selection_free(&sel);
		*e = own;
		return error_target(e, "%s", ctx->argv[0]);
	}
	state_cut(&p->state, &sel);
	if (output_state(ctx, &p->state, e))
		return -1;
	if (ret)
		*e = own;
	return ret ? error_target(e, "%s", ctx->argv[0]) : 0;
}

static int run_get(struct context *ctx, struct error *e)
{
	struct place p = PLACE_INIT;
	int ret = find(ctx, ctx->argc, &p, e);

	if (ret == 0)
		ret = p.vm ? get_vm(ctx, &p, e) : get_dev(ctx, &p, e);
	place_free(&p);
	return ret;
}

/* A VM named as a whole will do when it has one tap. */
static struct tap *one_tap(struct place *p, struct error *e)
{
	if (p->tap_fd >= 0)
		return tap_with_fd(p->vm, p->tap_fd);
	if (p->vm->n_taps == 1)
		return &p->vm->taps[0];
	error_set(e, STATUS_NOT_FOUND, 0, NULL, p->vm->n_taps ? "it has %zu taps; name one, as VM/%s"
							      : "it has no tap",
		  p->vm->n_taps, p->vm->n_taps ? p->vm->taps[0].ifname : "");
	return NULL;
}

/* As one types it. */
static char *set_target(const struct context *ctx, const struct place *p, const struct tap_visit *v)
{
	_cleanup_free_ char *vm = NULL;

	if (!p->vm && ctx->argc == 5)
		return xasprintf("dev %s netns %s", p->ifname, ctx->argv[3]);
	if (!p->vm)
		return xasprintf("dev %s", p->ifname);
	vm = target_name(p->vm, NULL, NULL);
	return xasprintf("%s/%s", vm, v->link.ifname);
}

static int visit(struct place *p, struct coalesce *c, struct tap_visit *v, struct error *e)
{
	const struct tap *t;

	if (!p->vm)
		return tap_visit_named(p->netns_fd, p->ifname, v, coalesce_set, c, e);
	t = one_tap(p, e);
	if (!t)
		return -1;
	c->expected = p->asked;
	if (vm_recheck(&p->ref, e))
		return -1;
	/* Whichever namespace it is in, the driver has no coalescing. */
	if (t->macvtap && t->ifindex == UNKNOWN)
		return error_set(e, STATUS_UNSUPPORTED, 0, "set rx-frames",
				 "a macvtap has no rx-frames coalescing");
	return tap_visit(&p->ref, t, v, coalesce_set, c, e);
}

static int set(struct context *ctx, struct place *p, struct coalesce *c, struct tap_visit *v,
	       struct error *e)
{
	struct changes changes = { 0 };
	char *target;
	int ret;

	if (find(ctx, ctx->argc - 1, p, e))
		return -1;
	ret = visit(p, c, v, e);
	tell(ctx, p->vm ? ctx->argv[0] : p->ifname, v);
	if (ret && c->sent)
		error_append(e, e->status, "; rx-frames may be %u already, and was %lld", c->frames,
			     (long long)c->before);
	if (ret)
		return error_target(e, "%s", p->vm ? ctx->argv[0] : p->ifname);
	target = set_target(ctx, p, v);
	if (c->before != c->after)
		*ARRAY_ADD(changes.items, changes.n) = (struct change){
			.target = target, .pid = p->vm ? p->vm->pid : 0, .setting = "rx_frames",
			.before = c->before, .after = c->after, .applied = !c->dry_run };
	else
		free(target);
	ret = output_changes(ctx, p->state.kernel, &changes, NULL, 0, e);
	changes_free(&changes);
	return ret;
}

static int run_set(struct context *ctx, struct error *e)
{
	struct coalesce c = { .dry_run = ctx->dry_run };
	struct tap_visit v = TAP_VISIT_INIT;
	struct place p = PLACE_INIT;
	int ret;

	if (coalesce_parse(ctx->argv[ctx->argc - 1], &c.frames, e))
		return error_target(e, "%s", ctx->argv[ctx->argc > 2]);
	ret = set(ctx, &p, &c, &v, e);
	tap_visit_end(&v);
	place_free(&p);
	return ret;
}

static const char details[] =
	"TARGET is VM, VM/TAP, or \"dev IFNAME [netns NAME|PID]\" for a tap by itself. The tap is\n"
	"found in whichever network namespace it is, by the VM's file of it.";

static const struct command cmd_get = {
	.name = "get",
	.operands = "TARGET...",
	.summary = "read the rx-frames coalescing of taps",
	.details = details,
	.min_operands = 1,
	.max_operands = 4,
	.run = run_get,
};

static const struct command cmd_set = {
	.name = "set",
	.operands = "TARGET... N",
	.summary = "set the rx-frames coalescing of a tap: 0 to 64, 0 is off",
	.details = details,
	.min_operands = 2,
	.max_operands = 5,
	.changes = true,
	.whole = true,
	.run = run_set,
};

static const struct command *const subcommands[] = { &cmd_get, &cmd_set, NULL };

const struct command cmd_coalesce = {
	.name = "coalesce",
	.summary = "rx-frames coalescing of taps",
	.sub = subcommands,
};
