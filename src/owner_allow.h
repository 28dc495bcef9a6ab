/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef OWNER_ALLOW_H
#define OWNER_ALLOW_H

#include <stdbool.h>

/* May this ioctl ever be issued in a VM's context, with an argument of @size bytes? */
bool owner_allows(unsigned int request, unsigned int size);

#endif
