# SPDX-License-Identifier: GPL-2.0-or-later
# Everything that tests: included by the Makefile above.
