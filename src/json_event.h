/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event as one line of JSON. */
#ifndef JSON_EVENT_H
#define JSON_EVENT_H

#include "monitor_event.h"

char *json_event(const struct event *e);

#endif
