/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmocka's header wants these before it. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
