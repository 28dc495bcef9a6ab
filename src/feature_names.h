/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of vhost feature bits. */
#ifndef FEATURE_NAMES_H
#define FEATURE_NAMES_H

#include "state.h"

/* "VIRTIO_F_VERSION_1" as the kernel's headers spell it; NULL for a bit with no name on @kind. */
const char *feature_name(enum device_kind kind, unsigned int bit);

#endif
