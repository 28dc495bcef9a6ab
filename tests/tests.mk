# SPDX-License-Identifier: GPL-2.0-or-later
# Everything that tests: included by the Makefile above.

# Unit tests: each tests/unit/test_X.c is a program that prints TAP.
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/unit/%)

$(BUILD)/unit/%: tests/unit/%.c tests/unit/unit.h $(LIB_OBJS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MMD -MP -o $@ $< $(LIB_OBJS) $(LIBS) -lcmocka

-include $(wildcard $(BUILD)/unit/*.d)
unit-programs: $(UNIT_BINS)
.PHONY: unit-programs

# Tests that are scripts print TAP too; they look at the program as it was built.
UNIT_SCRIPTS := $(wildcard tests/unit/test_*.sh)
UNIT_LOGS := $(UNIT_BINS:%=%.log) $(UNIT_SCRIPTS:tests/unit/%=$(BUILD)/unit/%.log)

# A .log holds the TAP of one program; its last line is "exit STATUS" when that was not 0.
check-unit: $(UNIT_BINS) $(BUILD)/vhostctl ## unit tests
	@for t in $(UNIT_BINS) $(UNIT_SCRIPTS); do log=$(BUILD)/unit/$${t##*/}.log; \
		BUILD=$(BUILD) CMOCKA_MESSAGE_OUTPUT=TAP $$t > $$log 2>&1 || \
		{ s=$$?; echo "exit $$s" >> $$log; }; done
	@cat $(UNIT_LOGS) | awk '/^ok.*# [Ss][Kk][Ii][Pp]/ { s++; print; next } /^ok/ { p++ } \
		/^not ok/ { f++ } /^exit / { bad = 1 } !/^ok|^1\.\./ { print } \
		END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f || bad || !p }'

.PHONY: check-unit

# Fixtures: programs that stand for a VM. They share nothing with the program that is tested.
FIXTURES := $(BUILD)/tests/victim $(BUILD)/tests/vmm $(BUILD)/tests/killer
FIXTURE_CPPFLAGS := -D_GNU_SOURCE -Itests/fixture -isystem src/uapi $(CPPFLAGS)

$(BUILD)/tests/victim: $(wildcard tests/fixture/victim*.c) tests/fixture/victim.h $(BUILD)/flags
$(BUILD)/tests/vmm: $(wildcard tests/fixture/vmm*.c) tests/fixture/vmm.h $(BUILD)/flags
$(FIXTURES):
	@mkdir -p $(@D)
	$(CC) $(FIXTURE_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.c,$^) -lpthread

fixtures: $(FIXTURES) ## build the fixtures of the tests
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

POKE_OBJS := $(filter $(BUILD)/owner%.o,$(LIB_OBJS)) $(patsubst %,$(BUILD)/%.o,error procfs seccomp util)
$(BUILD)/tests/poke: tests/kill/poke.c $(POKE_OBJS) $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.c %.o,$^)
