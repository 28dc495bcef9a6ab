# SPDX-License-Identifier: GPL-2.0-or-later
# Everything that tests: included by the Makefile above.

# Unit tests: each tests/unit/test_X.c is a program that prints TAP.
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/unit/%)
# Functions that a test has in place of the program's.
WRAP_test_answers := vhost_run
WRAP_test_map := snapshot_take source_merge inspect_features vhost_run
WRAP_test_policy_plan := target_find source_take inspect_vm
WRAP_test_put_back := vhost_run session_read_map session_thread affinity_get affinity_set
WRAP_test_sampler := target_find inspect_vm

$(BUILD)/unit/%: tests/unit/%.c tests/unit/unit.h $(LIB_OBJS)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(WRAP_$*:%=-Wl,--wrap=%) -MMD -MP -o $@ $< $(LIB_OBJS) $(LIBS) -lcmocka

-include $(wildcard $(BUILD)/unit/*.d)
# Fuzzers: FUZZER=1 makes them libFuzzer's; else each is a unit test that replays its corpus.
# Those of the sources that a fuzzer includes must not be linked as well, hence the archive.
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
ifneq ($(HAVE_SNAPSHOT),1)
FUZZ_SRCS := $(filter-out %/fuzz_btf.c,$(FUZZ_SRCS))
endif
FUZZ_BINS := $(FUZZ_SRCS:tests/fuzz/%.c=$(BUILD)/unit/%)
FUZZ_LINK := $(if $(filter 1,$(FUZZER)),-fsanitize=fuzzer,tests/fuzz/replay.c)
UNIT_BINS += $(FUZZ_BINS)

$(BUILD)/sources.a: $(LIB_OBJS)
	$(say)
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIB_OBJS)

$(FUZZ_BINS): $(BUILD)/unit/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h tests/fuzz/replay.c $(BUILD)/sources.a
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) -DFUZZ_CORPUS='"$(CURDIR)/tests/fuzz/corpus/$*"' $(ALL_CFLAGS) $(ALL_LDFLAGS) \
		-MMD -MP -o $@ $< $(FUZZ_LINK) $(BUILD)/sources.a $(LIBS)

fuzz-programs: $(FUZZ_BINS)
fuzz: ## each fuzzer for T=60 seconds, as many at once as there are CPUs; FUZZERS="procfs target" picks
	@tests/deps.sh check
	@$(MAKE) --no-print-directory -s -j"$$(nproc)" BUILD=$(BUILD)/fuzzing CC=clang SANITIZE=1 FUZZER=1 \
		CFLAGS='-O1 -g -fsanitize=fuzzer-no-link' fuzz-programs
	@BUILD=$(BUILD)/fuzzing tests/fuzz/run.sh $(or $(T),60) $(FUZZERS)
.PHONY: fuzz fuzz-programs

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
FIXTURES := $(BUILD)/tests/victim $(BUILD)/tests/vmm $(BUILD)/tests/killer $(BUILD)/tests/churn $(BUILD)/tests/hostile
FIXTURE_CPPFLAGS := -D_GNU_SOURCE -Itests/fixture $(UAPI) $(CPPFLAGS)

$(BUILD)/tests/victim: $(wildcard tests/fixture/victim*.c) tests/fixture/victim.h $(BUILD)/flags
$(BUILD)/tests/vmm: $(wildcard tests/fixture/vmm*.c) tests/fixture/vmm.h $(BUILD)/flags
$(BUILD)/tests/churn: tests/fixture/churn.c $(BUILD)/flags
$(FIXTURES):
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(FIXTURE_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.c,$^) -lpthread

# Many calls of the program's own functions in one process: of tests/cases/40-coalesce.sh, 30-worker.sh
MANY_CALLS := $(BUILD)/tests/rounds $(BUILD)/tests/spreads
$(MANY_CALLS): $(BUILD)/tests/%: tests/fixture/%.c $(LIB_OBJS)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_OBJS) $(LIBS)

# Hostile VMs: a process that passes for one and misbehaves.
$(BUILD)/tests/hostile: $(wildcard tests/hostile/*.[ch]) tests/fixture/fuse_server.h $(BUILD)/flags

check-hostile: all fixtures ## hostile VMs, on KERNEL="6.1 6.12 7.3"; HOSTILE_ROUNDS=2
	@HOSTILE_ROUNDS=$(or $(HOSTILE_ROUNDS),2) LAB_PASS="HOSTILE_ROUNDS T_ONLY" BUILD=$(BUILD) \
		tests/run.sh --lab "$(or $(KERNEL),6.1 6.12 7.3)" tests/hostile/hostile.sh
.PHONY: check-hostile

# MINUTES of random commands against ten VMs, compared with a model.
soak: all fixtures ## MINUTES=10 of random commands against a model, on KERNEL="7.3"; SEED repeats one
	@MINUTES=$(or $(MINUTES),10) SEED='$(SEED)' LAB_PASS="MINUTES SEED" BUILD=$(BUILD) \
		tests/run.sh --lab "$(or $(KERNEL),7.3)" tests/soak/soak.sh
	@cat $(BUILD)/lab/$(lastword $(or $(KERNEL),7.3))/soak.txt
.PHONY: soak

coverage: ## lines of src/ that the unit tests and, on KERNEL=7.3, the cases run
	@tests/deps.sh check
	@MAKE='$(MAKE)' BUILD=$(abspath $(BUILD)) tests/coverage/coverage.sh $(or $(firstword $(KERNEL)),7.3) $(CASES)
.PHONY: coverage

# Failing system calls: tests/faults/faults runs a command and makes its calls fail, one a run.
$(BUILD)/tests/faults: $(wildcard tests/faults/*.[ch]) $(BUILD)/flags
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) -D_GNU_SOURCE $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.c,$^) -ljansson

check-faults-native: all fixtures $(BUILD)/tests/poke ## the same of what this machine's own kernel has, all faults
	@BUILD=$(BUILD) FAULTS_SHARE=1 tests/unit/test_faults.sh
check check-unit: CHECK_NEEDS += $(BUILD)/tests/poke

check-faults: all fixtures ## each system call of each command fails once (hours); KERNEL="7.3", FAULTS_SHARE=n: one in n
	@FAULTS_SHARE=$(or $(FAULTS_SHARE),1) LAB_PASS="FAULTS_SHARE T_ONLY" BUILD=$(BUILD) \
		tests/run.sh --lab "$(or $(KERNEL),7.3)" tests/faults/faults.sh; rc=$$?; \
		cat $(BUILD)/lab/$(lastword $(or $(KERNEL),7.3))/faults.txt; exit $$rc
.PHONY: check-faults check-faults-native

fixtures: $(FIXTURES) $(MANY_CALLS) $(BUILD)/tests/faults ## build the fixtures of the tests
.PHONY: fixtures

# The kill test: tests/kill/killer kills the tool; poke is the owner context without a vhost device.
$(BUILD)/tests/killer: $(wildcard tests/kill/killer*.c) tests/kill/killer.h $(BUILD)/flags

killpoints: ## the program with its kill points, in $(BUILD)/killpoints
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/killpoints KILLPOINTS=1 all

check-kill: all fixtures killpoints ## the kill test in the lab: N=2000 kills on victims, KERNEL="6.12"
	@for k in $(or $(KERNEL),6.12); do \
		N=$(or $(N),2000) LAB_PASS=N BUILD=$(BUILD) tests/run.sh --lab $$k tests/kill/kill.sh || exit 1; \
	done

# The same script as in check-matrix, for longer.
check-worker: all fixtures ## workers dealt out ROUNDS=500 times and KILLS=300 times killed at it, under I/O, on KERNEL="6.12 6.18 7.3"
	@T_ONLY='spread_under_io|kills|documents' WORKER_ROUNDS=$(or $(ROUNDS),500) WORKER_KILLS=$(or $(KILLS),300) \
		WORKER_LIMIT=1100 LAB_PASS='T_ONLY WORKER_ROUNDS WORKER_KILLS WORKER_LIMIT' BUILD='$(BUILD)' \
		tests/run.sh --lab "$(or $(KERNEL),6.12 6.18 7.3)" tests/cases/31-worker-load.sh
.PHONY: check-worker

check-snapshot: all fixtures ## VMS=200 VMs looked at while devices are opened and closed, on KERNEL="6.1 6.12 6.18 7.3"
	@T_ONLY=many_devices SNAP_VMS=$(or $(VMS),200) SNAP_CHURNERS=$(or $(CHURNERS),16) SNAP_LIMIT=800 \
		LAB_PASS='T_ONLY SNAP_VMS SNAP_CHURNERS SNAP_LIMIT' BUILD='$(BUILD)' \
		tests/run.sh --lab "$(or $(KERNEL),6.1 6.12 6.18 7.3)" tests/cases/50-snapshot.sh
.PHONY: check-snapshot

check-monitor: all fixtures ## the monitor under MINUTES=10 of churn, on KERNEL="6.12 7.3"
	@T_ONLY=churn MONITOR_MINUTES=$(or $(MINUTES),10) LAB_PASS='T_ONLY MONITOR_MINUTES' BUILD='$(BUILD)' \
		tests/run.sh --lab "$(or $(KERNEL),6.12 7.3)" tests/cases/82-monitor.sh
.PHONY: check-monitor

# At full speed on this machine's own kernel, without vhost: what AVX-512 and fast CPUs bring.
check-kill-native: fixtures $(BUILD)/tests/poke ## the kill test of the owner context on this kernel, N=2000
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/killpoints KILLPOINTS=1 $(BUILD)/killpoints/tests/poke
	BUILD=$(BUILD) N=$(or $(N),2000) tests/kill/native.sh
.PHONY: killpoints check-kill check-kill-native
check check-lab check-matrix: CHECK_NEEDS += killpoints

$(BUILD)/tests/poke: tests/kill/poke.c $(BUILD)/sources.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.c %.a,$^)

# Figures beside their goals; tests/bench/bench.sh says which variables set how much is run.
BENCH_PROGRAMS := $(BUILD)/tests/bench_pause $(BUILD)/tests/bench_walk
$(BENCH_PROGRAMS): $(BUILD)/tests/bench_%: tests/bench/%.c $(LIB_OBJS)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB_OBJS) $(LIBS) -lpthread

$(BUILD)/tests/bench_list: tests/bench/list.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say)
	$(Q)$(CC) -D_GNU_SOURCE $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $<

bench: all fixtures $(BENCH_PROGRAMS) $(BUILD)/tests/bench_list $(BUILD)/tests/poke ## one table of figures, natively and on KERNEL=7.3
	@tests/deps.sh check
	@BUILD=$(realpath $(BUILD)) tests/bench/bench.sh $(firstword $(KERNEL))
.PHONY: bench
