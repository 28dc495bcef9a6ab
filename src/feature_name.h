/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Not called features.h: the C library has a header of that name. */
#ifndef FEATURE_NAME_H
#define FEATURE_NAME_H

#include "state.h"

/* Name of a bit of VHOST_GET_FEATURES, as the virtio specification has it; NULL if it has none. */
const char *feature_name(enum device_kind kind, unsigned int bit);

/* Name of a bit of VHOST_GET_BACKEND_FEATURES; NULL if it has none. */
const char *backend_feature_name(unsigned int bit);

#endif
