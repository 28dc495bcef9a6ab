# SPDX-License-Identifier: GPL-2.0-or-later
#
# Knobs (make VAR=value):
#   CC CFLAGS LDFLAGS   compiler and flags, respected as given
#   BUILD=build         where everything is built; the source tree stays clean
#   SANITIZE=1          AddressSanitizer and UndefinedBehaviorSanitizer
#   KILLPOINTS=1        the kill points of tests/kill compiled in (never in a release)
#   DESTDIR= PREFIX=/usr/local   where install puts things
#   KERNEL="6.12"       the kernels of check-lab: 6.1 6.12 6.18 7.3, or host
#   N=2000              kills per victim of check-kill
# `make help` lists the targets.

CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BUILD  ?= build
INSTALL ?= install
PKG_CONFIG ?= pkg-config

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

SRCS := $(wildcard src/*.c)
OBJS := $(SRCS:src/%.c=$(BUILD)/%.o)
LIB_OBJS := $(filter-out $(BUILD)/main.o,$(OBJS))

all: $(BUILD)/vhostctl ## build the program

$(BUILD)/vhostctl: $(OBJS)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(OBJS) $(LIBS)

# Changed flags rebuild everything: the stamp's content is the flags.
FLAGS_NOW := $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $@

$(BUILD)/%.o: src/%.c $(BUILD)/flags Makefile
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

-include $(wildcard $(BUILD)/*.d)
include tests/tests.mk

INSTALL_PROGRAM = $(DESTDIR)$(PREFIX)/sbin/vhostctl
INSTALL_MAN = $(DESTDIR)$(PREFIX)/share/man/man8/vhostctl.8
INSTALL_SCHEMA = $(DESTDIR)$(PREFIX)/share/vhostctl/vhostctl.schema.json

install: all ## install under $(DESTDIR)$(PREFIX)
	$(INSTALL) -D -m 755 $(BUILD)/vhostctl $(INSTALL_PROGRAM)
	$(INSTALL) -D -m 644 man/vhostctl.8 $(INSTALL_MAN)
	$(INSTALL) -D -m 644 man/vhostctl.schema.json $(INSTALL_SCHEMA)

uninstall: ## remove what install put there
	rm -f $(INSTALL_PROGRAM) $(INSTALL_MAN) $(INSTALL_SCHEMA)
	[ ! -d $(dir $(INSTALL_SCHEMA)) ] || rmdir --ignore-fail-on-non-empty $(dir $(INSTALL_SCHEMA))

lint: ## compilers' warnings, analyzers, shellcheck, mandoc, house rules
	@MAKE='$(MAKE)' BUILD='$(BUILD)' tests/lint.sh

# What a tool that compiles without make needs to know.
print-flags:
	@echo $(ALL_CPPFLAGS) $(ALL_CFLAGS)

clean: ## remove what was built
	rm -rf $(BUILD) $(BUILD)-*

help: ## this list
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  \1\t/' | expand -t 18

FORCE:
.PHONY: all install uninstall lint print-flags clean help FORCE
.DEFAULT_GOAL := all
