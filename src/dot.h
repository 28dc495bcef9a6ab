/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model as a graph for Graphviz: VM, devices, queues, and the threads that serve them. */
#ifndef DOT_H
#define DOT_H

#include "state.h"

/* To be freed. Names in it are escaped twice over: for terminals, then for Graphviz. */
char *dot_state(const struct state *s);

#endif
