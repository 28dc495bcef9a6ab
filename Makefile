# SPDX-License-Identifier: GPL-2.0-or-later
#
# Knobs (make VAR=value):
#   CC CFLAGS LDFLAGS   compiler and flags, respected as given
#   BUILD=build         where everything is built; the source tree stays clean
#   SANITIZE=1          AddressSanitizer and UndefinedBehaviorSanitizer
#   KILLPOINTS=1        the kill points of tests/kill compiled in (never in a release)
#   SNAPSHOT=auto       the kernel snapshot: auto (if clang, bpftool and libbpf are there), yes, no
#   DESTDIR= PREFIX=/usr/local   where install puts things; SBINDIR MANDIR DOCDIR COMPLETIONSDIR, too
#   KERNEL="6.12"       the kernels of check-lab: 6.1 6.12 6.18 7.3, or host
#   CASES="tests/cases/…"   the scripts of check-lab, all by default
#   N=2000              kills on victims of check-kill
#   ROUNDS=500 KILLS=300   of check-worker
#   VMS=200 CHURNERS=16    of check-snapshot
#   DEPS=no             install no packages for a check; take what is there
#   V=1                 whole commands instead of one short line each
# `make help` lists the targets.

CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BUILD  ?= build
INSTALL ?= install
PKG_CONFIG ?= pkg-config
# What is missing is of interest to goals that build in this make; demo and check install it first.
BUILDING := $(if $(MAKECMDGOALS),$(filter-out demo check% help clean dist uninstall,$(MAKECMDGOALS)),all)
ifeq ($(shell command -v $(PKG_CONFIG)),)
$(if $(BUILDING),$(info no $(PKG_CONFIG); "make demo" and "make check" install what they need))
override PKG_CONFIG := false
endif

Q   := $(if $(V),,@)
say  = $(if $(V),@:,@echo "  CC $@")

VERSION := 0.1.0
PKGS    := jansson smartcols libmnl libnl-route-3.0
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
           -Wformat=2 -Wundef -Wwrite-strings -Werror=implicit-function-declaration
# The headers of src/uapi use a macro of linux/stddef.h that Debian 12's first 6.1 kernels did not have.
UAPI := -isystem src/uapi -D'__counted_by(m)='
ALL_CPPFLAGS := -D_GNU_SOURCE -DVHOSTCTL_VERSION='"$(VERSION)"' -Isrc $(UAPI) \
           $(shell $(PKG_CONFIG) --cflags $(PKGS)) $(CPPFLAGS)
ALL_CFLAGS := -std=gnu11 $(WARN) $(CFLAGS)
ALL_LDFLAGS := $(LDFLAGS)
LIBS    := $(shell $(PKG_CONFIG) --libs $(PKGS))

ifeq ($(SANITIZE),1)
ALL_CFLAGS  += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ALL_LDFLAGS += -fsanitize=address,undefined
endif
ifeq ($(KILLPOINTS),1)
ALL_CPPFLAGS += -DKILLPOINTS
endif

# The kernel snapshot's BPF program: compiled, and made a header, at build time only.
SNAPSHOT ?= auto
BPF_CLANG ?= $(firstword $(shell command -v clang))
BPFTOOL ?= $(firstword $(shell PATH=$$PATH:/usr/sbin:/sbin command -v bpftool))
ifneq ($(SNAPSHOT),no)
HAVE_LIBBPF := $(shell $(PKG_CONFIG) --exists libbpf && echo libbpf)
SNAPSHOT_LACKS := $(if $(BPF_CLANG),,clang) $(if $(BPFTOOL),,bpftool) $(if $(HAVE_LIBBPF),,libbpf)
ifeq ($(strip $(SNAPSHOT_LACKS)),)
HAVE_SNAPSHOT := 1
else ifeq ($(SNAPSHOT),yes)
$(error SNAPSHOT=yes needs: $(strip $(SNAPSHOT_LACKS)))
else
$(if $(BUILDING),$(info no kernel snapshot in this build: no $(strip $(SNAPSHOT_LACKS))))
endif
endif

SRCS := $(filter-out %.bpf.c,$(wildcard src/*.c))
ifeq ($(HAVE_SNAPSHOT),1)
SRCS := $(filter-out src/snapshot_none.c,$(SRCS))
LIBS += $(shell $(PKG_CONFIG) --libs libbpf)
ALL_CPPFLAGS += -DHAVE_SNAPSHOT $(shell $(PKG_CONFIG) --cflags libbpf)
else
SRCS := $(filter-out src/snapshot.c src/btf_offsets.c,$(SRCS))
endif
OBJS := $(SRCS:src/%.c=$(BUILD)/%.o)
LIB_OBJS := $(filter-out $(BUILD)/main.o,$(OBJS))

all: $(BUILD)/vhostctl ## build the program

$(BUILD)/vhostctl: $(OBJS)
	$(say)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(OBJS) $(LIBS)

# Changed flags rebuild everything: the stamp's content is the flags.
FLAGS_NOW := $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $@

$(BUILD)/%.o: src/%.c $(BUILD)/flags Makefile
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# A system header for the compiler: its warnings are bpftool's.
$(BUILD)/snapshot.o: ALL_CPPFLAGS += -isystem $(BUILD)/bpf
$(BUILD)/snapshot.o: $(BUILD)/bpf/snapshot.lskel.h

$(BUILD)/bpf/snapshot.o: src/snapshot.bpf.c src/snapshot_types.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(BPF_CLANG) -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror -Isrc \
		-idirafter /usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<

$(BUILD)/bpf/snapshot.lskel.h: $(BUILD)/bpf/snapshot.o
	$(BPFTOOL) gen skeleton -L $< name snapshot_bpf > $@.tmp
	mv $@.tmp $@

-include $(wildcard $(BUILD)/*.d)
include tests/tests.mk

SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/vhostctl
COMPLETIONSDIR ?= $(or $(shell $(PKG_CONFIG) --define-variable=datadir=$(PREFIX)/share \
	--variable=completionsdir bash-completion 2>/dev/null),$(PREFIX)/share/bash-completion/completions)

# What is installed, FILE:WHERE. The schemas are for who writes policies or reads documents by program.
INSTALLED := $(BUILD)/vhostctl:$(SBINDIR)/vhostctl \
	$(foreach m,$(wildcard man/*.[1-8]),$(m):$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
	completions/vhostctl.bash:$(COMPLETIONSDIR)/vhostctl README:$(DOCDIR)/README \
	$(foreach e,$(wildcard src/hooks/* src/schema/*),$(e):$(DOCDIR)/examples/$(notdir $(e)))
INSTALLED_TO := $(foreach i,$(INSTALLED),$(DESTDIR)$(lastword $(subst :, ,$(i))))

# A unit names the program where it is installed.
install: all ## install under $(DESTDIR)$(PREFIX)
	@set -e; for i in $(INSTALLED); do \
		from=$${i%%:*} to=$(DESTDIR)$${i#*:}; \
		[ -x $$from ] && mode=755 || mode=644; \
		echo $(INSTALL) -D -m $$mode $$from $$to; \
		case $$from in \
		*.service) sed 's|/usr/local/sbin/|$(SBINDIR)/|' $$from | $(INSTALL) -D -m $$mode /dev/stdin $$to ;; \
		*) $(INSTALL) -D -m $$mode $$from $$to ;; \
		esac; \
	done

# Directories go if they are empty and ours by name or, under DESTDIR, on the way to something of ours.
uninstall: ## remove what install put there
	rm -f $(INSTALLED_TO)
	@for d in $(DOCDIR)/examples $(DOCDIR); do \
		[ ! -d $(DESTDIR)$$d ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$$d; \
	done
	@[ -z '$(DESTDIR)' ] || [ ! -d '$(DESTDIR)' ] || (cd '$(DESTDIR)' && \
		for d in $(foreach i,$(INSTALLED),.$(dir $(lastword $(subst :, ,$(i))))); do \
			while [ "$$d" != . ]; do \
				[ ! -d "$$d" ] || rmdir --ignore-fail-on-non-empty "$$d"; \
				d=$$(dirname "$$d"); \
			done; \
		done)

# From a clone, what git tracks, at the time of its commit; from an unpacked tarball, what is there but for
# what was built, at its time. Owners, modes, order and umask leave no trace.
DIST := vhostctl-$(VERSION)
dist: ## the tarball, $(BUILD)/vhostctl-VERSION.tar.xz, the same bytes from the same commit
	@mkdir -p $(BUILD)
	@set -e; if [ -e .git ]; then \
		git ls-files -z; time=$$(git log -1 --format=%ct); \
		[ -z "$$(git status --porcelain -uno)" ] || echo "dist: with changes that are not committed" >&2; \
	else \
		find . -mindepth 1 -path './build*' -prune -o -type f -printf '%P\0'; time=$$(stat -c %Y Makefile); \
	fi >$(BUILD)/dist.files; \
	LC_ALL=C sort -z $(BUILD)/dist.files | tar -c --no-recursion --null -T - --format=gnu \
		--transform 's,^,$(DIST)/,S' --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		--mtime="@$${SOURCE_DATE_EPOCH:-$$time}" | xz -T1 >$(BUILD)/$(DIST).tar.xz.tmp
	@mv $(BUILD)/$(DIST).tar.xz.tmp $(BUILD)/$(DIST).tar.xz
	@echo $(BUILD)/$(DIST).tar.xz

# --nodeps: on a system that is not rpm's own, rpm's database has no packages.
rpm: dist ## source and binary package from the tarball, in $(BUILD)/rpm
	rpmbuild -ta --nodeps --define '_topdir $(abspath $(BUILD))/rpm' $(RPMBUILD_FLAGS) $(BUILD)/$(DIST).tar.xz

lint: ## compilers' warnings, analyzers, shellcheck, mandoc, house rules
	@MAKE='$(MAKE)' BUILD='$(BUILD)' tests/lint.sh

# What a tool that compiles without make needs to know.
print-flags:
	@echo $(ALL_CPPFLAGS) -isystem $(BUILD)/bpf $(ALL_CFLAGS)

clean: ## remove what was built
	rm -rf $(BUILD) $(BUILD)-*

help: ## this list
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  \1\t/' | expand -t 18

FORCE:
.PHONY: all install uninstall dist rpm lint print-flags clean help FORCE
.DEFAULT_GOAL := all
