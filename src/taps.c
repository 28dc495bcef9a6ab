// SPDX-License-Identifier: GPL-2.0-or-later
#include "taps.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "device.h"
#include "util.h"

/* A tap that moves faster than this many attempts is not to be caught. */
#define ATTEMPTS 8
/* Of one VM. A process can hold thousands, each in a namespace of its own, to keep us busy. */
#define MOST_TAPS 1024

static const char operation[] = "find the tap";

/* What the file says of its interface now. */
struct look {
	char ifname[IFNAMSIZ];
	unsigned char mac[6];
	int64_t netns;
};

/* The namespace, as an fd. A macvtap's file does not tell: its scan looked in ours only. */
static int netns_of(int file, bool macvtap, struct error *e)
{
	int fd;

	if (macvtap)
		return netns_own(e);
	fd = ioctl(file, TUNGETDEVNETNS);
	if (fd >= 0)
		return fd;
	if (errno == EBADFD)
		return error_set(e, STATUS_NOT_FOUND, ENODEV, operation, "the interface is gone");
	return error_errno(e, errno, operation,
			   errno == EPERM ? "it takes CAP_NET_ADMIN in its network namespace" : NULL);
}

/* *netns_fd is to be closed. The borrowed file is closed again here, before anything else. */
static int look_at_file(const struct vm_ref *ref, int vm_fd, bool macvtap, struct look *l, int *netns_fd,
		struct error *e)
{
	_cleanup_close_ int file = device_borrow_fd(ref, vm_fd, macvtap ? ROLE_MACVTAP : ROLE_TUN, e);
	struct ifreq ifr = { 0 };

	if (file < 0)
		return -1;
	if (ioctl(file, TUNGETIFF, &ifr)) {
		if (errno == EBADFD || errno == ENOLINK)
			return error_set(e, STATUS_NOT_FOUND, ENODEV, operation, "the interface is gone");
		return error_errno(e, errno, operation, NULL);
	}
	memcpy(l->ifname, ifr.ifr_name, sizeof(l->ifname));
	l->ifname[IFNAMSIZ - 1] = '\0';
	memset(&ifr, 0, sizeof(ifr));
	if (ioctl(file, SIOCGIFHWADDR, &ifr))
		return error_errno(e, errno, operation, NULL);
	memcpy(l->mac, ifr.ifr_hwaddr.sa_data, sizeof(l->mac));
	*netns_fd = netns_of(file, macvtap, e);
	if (*netns_fd < 0)
		return -1;
	l->netns = netns_inode(*netns_fd);
	return 0;
}

bool tap_is_gone(const struct error *e)
{
	return e->status == STATUS_NOT_FOUND && e->errnum != ESRCH;
}

/*
 * A queue that the VM disables has no interface for as long, and it may have closed one: any of the
 * files will do.
 */
static int look(const struct vm_ref *ref, const struct tap *t, struct look *l, int *netns_fd,
		struct error *e)
{
	for (size_t i = 0; i < t->n_fds; i++) {
		if (!look_at_file(ref, t->fds[i], t->macvtap, l, netns_fd, e))
			return 0;
		if (!tap_is_gone(e))
			break;
	}
	return -1;
}

int tap_where(const struct vm_ref *ref, const struct tap *t, struct tap_place *p, struct error *e)
{
	struct look l = { .netns = UNKNOWN };

	*p = (struct tap_place){ .netns_fd = -1 };
	if (look(ref, t, &l, &p->netns_fd, e))
		return -1;
	memcpy(p->ifname, l.ifname, sizeof(p->ifname));
	memcpy(p->mac, l.mac, sizeof(p->mac));
	p->netns = l.netns;
	return 0;
}

/* Without the namespace's fd: only to compare. */
static int look_again(const struct vm_ref *ref, const struct tap *t, struct look *l, struct error *e)
{
	_cleanup_close_ int netns_fd = -1;

	return look(ref, t, l, &netns_fd, e);
}

static bool same_look(const struct look *a, const struct look *b)
{
	return a->netns == b->netns && !strcmp(a->ifname, b->ifname) &&
	       !memcmp(a->mac, b->mac, sizeof(a->mac));
}

/* Names can be exchanged between two answers of the kernel; addresses are not, then. */
static bool is_of(const struct link *link, const struct look *l, bool macvtap)
{
	return (macvtap ? link_is_macvtap(link) : link_is_tun(link)) &&
	       !strcmp(link->ifname, l->ifname) && !memcmp(link->mac, l->mac, sizeof(l->mac));
}

static void start_facts(struct tap_visit *v)
{
	tap_free(&v->facts);
	tap_init(&v->facts);
}

static void note_identity(struct tap_visit *v)
{
	v->ethnl = (struct ethnl){ .ns = &v->ns, .ifindex = v->link.ifindex };
	v->facts.ifindex = v->link.ifindex;
	v->facts.netns = v->ns.inode;
	v->facts.macvtap = link_is_macvtap(&v->link);
	memcpy(v->facts.ifname, v->link.ifname, sizeof(v->facts.ifname));
}

static int enter(struct tap_visit *v, int netns_fd, int64_t inode, struct error *e)
{
	if (v->ns.route >= 0 && v->ns.inode == inode)
		return 0;
	netns_close(&v->ns);
	return netns_open(&v->ns, netns_fd, e);
}

/* 1 to try again. */
static int attempt(const struct vm_ref *ref, const struct tap *t, struct tap_visit *v, tap_act act,
		   void *arg, struct error *e)
{
	_cleanup_close_ int netns_fd = -1;
	struct look before = { .netns = UNKNOWN }, after = { .netns = UNKNOWN };
	int acted;

	start_facts(v);
	if (look(ref, t, &before, &netns_fd, e) ||
	    enter(v, netns_fd, before.netns, e))
		return -1;
	if (link_read(&v->ns, 0, before.ifname, &v->link, &v->facts, e))
		return e->errnum == ENODEV ? 1 : -1;
	if (!is_of(&v->link, &before, t->macvtap))
		return 1;
	note_identity(v);
	acted = act ? act(v, arg, e) : 0;
	if (acted && e->errnum != ENODEV)
		return -1;
	if (look_again(ref, t, &after, e))
		return -1;
	return acted || !same_look(&before, &after) ? 1 : 0;
}

int tap_visit(const struct vm_ref *ref, const struct tap *t, struct tap_visit *v, tap_act act,
	      void *arg, struct error *e)
{
	/* The kernel tells no macvtap's namespace: one that is not in ours has no index here. */
	if (t->macvtap && t->ifindex == UNKNOWN)
		return error_set(e, STATUS_UNSUPPORTED, 0, operation,
				 "the kernel does not tell which network namespace a macvtap is in, and "
				 "it is not in ours");
	for (int i = 0; i < ATTEMPTS; i++) {
		int ret = attempt(ref, t, v, act, arg, e);

		if (ret <= 0)
			return ret;
	}
	return error_set(e, STATUS_FAILED, EAGAIN, operation,
			 "it was moved or renamed each of the %d times it was looked for%s; try again",
			 ATTEMPTS, t->macvtap ? ", or is in another network namespace" : "");
}

int tap_visit_named(int netns_fd, const char *ifname, struct tap_visit *v, tap_act act, void *arg,
		    struct error *e)
{
	start_facts(v);
	/* The kernel would call a longer one out of range. */
	if (strlen(ifname) >= IFNAMSIZ)
		return error_set(e, STATUS_NOT_FOUND, ENODEV, operation,
				 "there is no such interface: a name has at most %d characters",
				 IFNAMSIZ - 1);
	if (enter(v, netns_fd, netns_inode(netns_fd), e) ||
	    link_read(&v->ns, 0, ifname, &v->link, &v->facts, e))
		return -1;
	if (!link_is_tun(&v->link) && !link_is_macvtap(&v->link))
		return error_set(e, STATUS_UNSUPPORTED, 0, operation, "it is no tap%s%s",
				 v->link.kind[0] ? " but of kind " : "", v->link.kind);
	note_identity(v);
	return act(v, arg, e);
}

int tap_visit_index(struct tap_visit *v, int ifindex, tap_act act, void *arg, struct error *e)
{
	start_facts(v);
	if (link_read(&v->ns, ifindex, NULL, &v->link, &v->facts, e))
		return -1;
	if (!link_is_tun(&v->link))
		return error_set(e, STATUS_NOT_FOUND, ENODEV, operation, "the interface is gone");
	note_identity(v);
	return act(v, arg, e);
}

void tap_visit_end(struct tap_visit *v)
{
	netns_close(&v->ns);
	tap_free(&v->facts);
	*v = TAP_VISIT_INIT;
}

int tap_get_rx_frames(struct tap_visit *v, void *unused, struct error *e)
{
	(void)unused;
	if (ethnl_get_rx_frames(&v->ethnl, &v->facts.rx_frames, e))
		return -1;
	if (v->facts.rx_frames != UNKNOWN && link_is_tun(&v->link))
		v->facts.rx_frames_max = TAP_RX_FRAMES_MAX;
	return 0;
}

void tap_take_facts(struct tap *t, struct tap_visit *v)
{
	struct tap old = *t;

	*t = v->facts;
	tap_init(&v->facts);
	t->path = old.path;
	t->fds = old.fds;
	t->n_fds = old.n_fds;
	t->vhost = old.vhost;
	t->inside = old.inside;
	t->errors = old.errors;
	t->n_errors = old.n_errors;
	free(old.master);
	free(old.alias);
}

/* A tap of its own for the file of @t at @i. */
static void split(struct vm *vm, struct tap *t, size_t i, const char *ifname)
{
	struct tap other;

	tap_init(&other);
	memcpy(other.ifname, ifname, sizeof(other.ifname));
	other.path = t->path ? xstrdup(t->path) : NULL;
	other.vhost = t->vhost;
	*ARRAY_ADD(other.fds, other.n_fds) = t->fds[i];
	memmove(&t->fds[i], &t->fds[i + 1], (t->n_fds - i - 1) * sizeof(*t->fds));
	t->n_fds--;
	*ARRAY_ADD(vm->taps, vm->n_taps) = other;
}

static void merge(struct vm *vm, size_t into, size_t from)
{
	struct tap *a = &vm->taps[into], *b = &vm->taps[from];

	for (size_t i = 0; i < b->n_fds; i++)
		*ARRAY_ADD(a->fds, a->n_fds) = b->fds[i];
	tap_free(b);
	memmove(b, b + 1, (vm->n_taps - from - 1) * sizeof(*b));
	vm->n_taps--;
}

/* Files that look like the first of the same tap, or cannot be looked at, stay with it. */
static void split_tap(const struct vm_ref *ref, struct vm *vm, size_t index, const struct look *first)
{
	struct error ignored;

	for (size_t i = 1; i < vm->taps[index].n_fds;) {
		struct tap *t = &vm->taps[index];
		_cleanup_close_ int netns_fd = -1;
		struct look l = { .netns = UNKNOWN };

		if (look_at_file(ref, t->fds[i], false, &l, &netns_fd, &ignored) || same_look(&l, first))
			i++;
		else
			split(vm, t, i, l.ifname);
	}
}

/* netns is UNKNOWN where there was no answer. */
static struct look look_or_unknown(const struct vm_ref *ref, const struct tap *t)
{
	struct look l = { .netns = UNKNOWN };
	struct error ignored;

	if (t->macvtap || look_again(ref, t, &l, &ignored))
		l.netns = UNKNOWN;
	return l;
}

void taps_regroup(const struct vm_ref *ref, struct vm *vm)
{
	_cleanup_free_ struct look *looks = NULL;
	size_t n = 0;

	/* Those split off come to the end, and each is looked at in its turn. */
	for (size_t i = 0; i < vm->n_taps; i++) {
		*ARRAY_ADD(looks, n) = look_or_unknown(ref, &vm->taps[i]);
		if (looks[i].netns != UNKNOWN)
			split_tap(ref, vm, i, &looks[i]);
		for (size_t k = 0; k < i && looks[i].netns != UNKNOWN; k++)
			if (same_look(&looks[k], &looks[i])) {
				merge(vm, k, i--);
				n--;
				break;
			}
	}
}

static bool has_fd(const struct tap *t, int64_t fd)
{
	for (size_t i = 0; i < t->n_fds; i++)
		if (t->fds[i] == fd)
			return true;
	return false;
}

struct tap *tap_of_device(struct vm *vm, const struct device *d)
{
	struct tap *found = NULL;

	for (size_t i = 0; i < vm->n_taps; i++)
		if (d->inside.known && d->inside.tap_fd != UNKNOWN && has_fd(&vm->taps[i], d->inside.tap_fd))
			return &vm->taps[i];
	for (size_t i = 0; d->tap && i < vm->n_taps; i++) {
		if (strcmp(vm->taps[i].ifname, d->tap) != 0)
			continue;
		if (found) /* of one name in two network namespaces */
			return NULL;
		found = &vm->taps[i];
	}
	return found;
}

/* Devices are paired by the name that the scan saw. */
static void rename_pairs(struct vm *vm, const char *from, const char *to)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		if (!strcmp(vm->taps[i].ifname, from))
			return;
	for (size_t i = 0; i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];

		if (!d->tap || strcmp(d->tap, from))
			continue;
		free(d->tap);
		d->tap = xstrdup(to);
	}
}

static int read_tap(const struct vm_ref *ref, struct vm *vm, struct tap *t, struct tap_visit *v,
		    struct error *e)
{
	char before[sizeof(t->ifname)];

	if (tap_visit(ref, t, v, tap_get_rx_frames, NULL, e)) {
		*ARRAY_ADD(t->errors, t->n_errors) = *e;
		return -1;
	}
	memcpy(before, t->ifname, sizeof(before));
	tap_take_facts(t, v);
	if (strcmp(before, t->ifname))
		rename_pairs(vm, before, t->ifname);
	return 0;
}

int taps_read(struct vm *vm, struct error *e)
{
	struct tap_visit v = TAP_VISIT_INIT;
	struct vm_ref ref = VM_REF_INIT;
	int ret = 0;

	if (!vm->n_taps)
		return 0;
	if (vm_hold(&ref, vm->pid, vm->start_time, e)) {
		for (size_t i = 0; i < vm->n_taps; i++)
			errors_add(&vm->taps[i].errors, &vm->taps[i].n_errors, e, 1);
		return -1;
	}
	taps_regroup(&ref, vm);
	for (size_t i = 0; i < vm->n_taps; i++) {
		struct error own = ERROR_INIT;

		if (i == MOST_TAPS) {
			error_set(ARRAY_ADD(vm->errors, vm->n_errors), STATUS_FAILED, 0, operation,
				  "it has more than %d; the rest was not looked for", MOST_TAPS);
			break;
		}
		if (!read_tap(&ref, vm, &vm->taps[i], &v, &own) || ret)
			continue;
		*e = own;
		ret = -1;
	}
	tap_visit_end(&v);
	vm_release(&ref);
	return ret;
}
