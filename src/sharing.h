/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which vhost fds, of one process or several, are one and the same open file. */
#ifndef SHARING_H
#define SHARING_H

#include "state.h"

/*
 * Among the VMs of @s: drop the second and further fds of one file in one process, fill
 * device.holders, and drop processes that hold nothing but files of another process, one
 * that has vhost workers while they have none. Where no owner shows, all are kept.
 * A kernel or user that cannot compare files leaves an error in s->errors.
 */
void sharing_resolve(struct state *s);

#endif
