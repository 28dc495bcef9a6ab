# SPDX-License-Identifier: GPL-2.0-or-later
# Everything that tests: included by the Makefile above.

# Unit tests: each tests/unit/test_X.c is a program that prints TAP.
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/unit/%)

$(BUILD)/unit/%: tests/unit/%.c tests/unit/unit.h $(LIB_OBJS)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MMD -MP -o $@ $< $(LIB_OBJS) $(LIBS) -lcmocka

-include $(wildcard $(BUILD)/unit/*.d)
unit-programs: $(UNIT_BINS)
.PHONY: unit-programs

# Tests that are scripts print TAP too; they look at the program as it was built.
UNIT_SCRIPTS := $(wildcard tests/unit/test_*.sh)
CASES ?= $(wildcard tests/cases/*.sh)
RUN_UNIT := --unit $(UNIT_BINS) $(UNIT_SCRIPTS)
RUN_LAB = --lab "$(KERNEL)" $(CASES)

# Packages first, then a make of its own: what pkg-config says has changed by then.
check: KERNEL ?= 6.12 7.3
check-lab: KERNEL ?= 6.12
check-matrix: KERNEL = 6.1 6.12 6.18 7.3
check: ## unit tests, then the cases on KERNEL="6.12 7.3"
check-unit: ## unit tests
check-lab: ## the cases of tests/cases on KERNEL="6.12"
check-matrix: ## the cases on 6.1, 6.12, 6.18 and 7.3
check check-unit check-lab check-matrix:
	@$(if $(filter no,$(DEPS)),,tests/deps.sh check)
	@$(MAKE) --no-print-directory -j"$$(nproc)" $(CHECK_NEEDS)
	@BUILD='$(BUILD)' tests/run.sh $(CHECK_RUNS)
check: CHECK_RUNS = $(RUN_UNIT) $(RUN_LAB)
check-unit: CHECK_RUNS = $(RUN_UNIT)
check-lab check-matrix: CHECK_RUNS = $(RUN_LAB)
check check-unit: CHECK_NEEDS = all unit-programs fixtures
check-lab check-matrix: CHECK_NEEDS = all fixtures

demo: ## the program on a real VM, in the lab on KERNEL=7.3 or on this host's own VMs
	@tests/deps.sh demo
	@$(MAKE) --no-print-directory -s -j"$$(nproc)" all
	@BUILD='$(BUILD)' tests/demo.sh $(KERNEL)

.PHONY: check check-unit check-lab check-matrix demo

# Fixtures: programs that stand for a VM. They share nothing with the program that is tested.
FIXTURES := $(BUILD)/tests/victim $(BUILD)/tests/vmm $(BUILD)/tests/killer
FIXTURE_CPPFLAGS := -D_GNU_SOURCE -Itests/fixture $(UAPI) $(CPPFLAGS)

$(BUILD)/tests/victim: $(wildcard tests/fixture/victim*.c) tests/fixture/victim.h $(BUILD)/flags
$(BUILD)/tests/vmm: $(wildcard tests/fixture/vmm*.c) tests/fixture/vmm.h $(BUILD)/flags
$(FIXTURES):
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(FIXTURE_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.c,$^) -lpthread

# tests/cases/40-coalesce.sh: many calls of the program's own functions in one process
$(BUILD)/tests/rounds: tests/fixture/rounds.c $(LIB_OBJS)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_OBJS) $(LIBS)

fixtures: $(FIXTURES) $(BUILD)/tests/rounds ## build the fixtures of the tests
.PHONY: fixtures

# The kill test: tests/kill/killer kills the tool; poke is the owner context without a vhost device.
$(BUILD)/tests/killer: $(wildcard tests/kill/killer*.c) tests/kill/killer.h $(BUILD)/flags

killpoints: ## the program with its kill points, in $(BUILD)/killpoints
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/killpoints KILLPOINTS=1 all

check-kill: all fixtures killpoints ## the kill test in the lab: N=2000 kills on victims, KERNEL="6.12"
	@for k in $(or $(KERNEL),6.12); do \
		N=$(or $(N),2000) LAB_PASS=N BUILD=$(BUILD) tests/run.sh --lab $$k tests/kill/kill.sh || exit 1; \
	done

# At full speed on this machine's own kernel, without vhost: what AVX-512 and fast CPUs bring.
check-kill-native: fixtures $(BUILD)/tests/poke ## the kill test of the owner context on this kernel, N=2000
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/killpoints KILLPOINTS=1 $(BUILD)/killpoints/tests/poke
	BUILD=$(BUILD) N=$(or $(N),2000) tests/kill/native.sh
.PHONY: killpoints check-kill check-kill-native
check check-lab check-matrix: CHECK_NEEDS += killpoints

POKE_OBJS := $(filter $(BUILD)/owner%.o,$(LIB_OBJS)) $(patsubst %,$(BUILD)/%.o,error procfs seccomp util)
$(BUILD)/tests/poke: tests/kill/poke.c $(POKE_OBJS) $(BUILD)/flags
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.c %.o,$^)

# Figures, not tests. BENCH_ROUNDS and BENCH_GDB_ROUNDS set how many rounds.
$(BUILD)/tests/bench_pause: tests/bench/pause.c $(LIB_OBJS)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_OBJS) $(LIBS) -lpthread

bench: all fixtures $(BUILD)/tests/bench_pause ## pause and wall time beside a bare stop and gdb; batches of a tap
	@BUILD=$(realpath $(BUILD)) tests/bench/bench.sh $(firstword $(KERNEL))
.PHONY: bench

$(BUILD)/tests/bench_walk: tests/bench/walk.c $(LIB_OBJS)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_OBJS) $(LIBS)

bench-snapshot: all fixtures $(BUILD)/tests/bench_walk ## kernel snapshot beside the owner context and readlink
	@BUILD=$(realpath $(BUILD)) tests/lab/boot.sh $(or $(firstword $(KERNEL)),6.12) --shell-cmd 'bash tests/bench/snapshot.sh'
.PHONY: bench-snapshot
