/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How check_host.c and check_vm.c add what they found. */
#ifndef CHECK_LIST_H
#define CHECK_LIST_H

#include "check.h"

void check_add(struct check_list *list, const char *name, int ok, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
