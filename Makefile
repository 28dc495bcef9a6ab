# SPDX-License-Identifier: GPL-2.0-or-later
#
# Knobs (make VAR=value):
#   CC CFLAGS LDFLAGS   compiler and flags, respected as given
#   BUILD=build         where everything is built; the source tree stays clean
#   SANITIZE=1          AddressSanitizer and UndefinedBehaviorSanitizer
#   KILLPOINTS=1        the kill points of tests/kill compiled in (never in a release)
#   SNAPSHOT=auto       the kernel snapshot: auto (if clang, bpftool and libbpf are there), yes, no
#   DESTDIR= PREFIX=/usr/local   where install puts things
#   KERNEL="6.12"       the kernels of check-lab: 6.1 6.12 6.18 7.3, or host
#   CASES="tests/cases/…"   the scripts of check-lab, all by default
#   N=2000              kills on victims of check-kill
#   V=1                 whole commands instead of one short line each
# `make help` lists the targets.

CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BUILD  ?= build
INSTALL ?= install
PKG_CONFIG ?= pkg-config

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
$(info no kernel snapshot in this build: no $(strip $(SNAPSHOT_LACKS)))
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

INSTALL_PROGRAM = $(DESTDIR)$(PREFIX)/sbin/vhostctl
INSTALL_MAN = $(DESTDIR)$(PREFIX)/share/man/man8/vhostctl.8
INSTALL_MAN5 = $(DESTDIR)$(PREFIX)/share/man/man5/vhostctl-policy.5
INSTALL_SHARE = $(DESTDIR)$(PREFIX)/share/vhostctl
INSTALL_DOC = $(DESTDIR)$(PREFIX)/share/doc/vhostctl
SCHEMAS := $(wildcard man/*.schema.json)
HOOKS := $(wildcard src/hooks/*)

install: all ## install under $(DESTDIR)$(PREFIX)
	$(INSTALL) -D -m 755 $(BUILD)/vhostctl $(INSTALL_PROGRAM)
	$(INSTALL) -D -m 644 man/vhostctl.8 $(INSTALL_MAN)
	$(INSTALL) -D -m 644 man/vhostctl-policy.5 $(INSTALL_MAN5)
	$(INSTALL) -d $(INSTALL_SHARE) $(INSTALL_DOC)/examples
	$(INSTALL) -m 644 $(SCHEMAS) $(INSTALL_SHARE)
	$(INSTALL) -m 755 $(filter-out %.service,$(HOOKS)) $(INSTALL_DOC)/examples
	sed 's|/usr/local/sbin|$(PREFIX)/sbin|' src/hooks/vhostctl-policy.service >$(INSTALL_DOC)/examples/vhostctl-policy.service
	chmod 644 $(INSTALL_DOC)/examples/vhostctl-policy.service

uninstall: ## remove what install put there
	rm -f $(INSTALL_PROGRAM) $(INSTALL_MAN) $(INSTALL_MAN5) $(SCHEMAS:man/%=$(INSTALL_SHARE)/%) \
		$(HOOKS:src/hooks/%=$(INSTALL_DOC)/examples/%)
	for d in $(INSTALL_SHARE) $(INSTALL_DOC)/examples $(INSTALL_DOC); do \
		[ ! -d $$d ] || rmdir --ignore-fail-on-non-empty $$d; done

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
.PHONY: all install uninstall lint print-flags clean help FORCE
.DEFAULT_GOAL := all
