/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPLACE_FILE_H
#define REPLACE_FILE_H

#include "error.h"
#include "stopper.h"

/*
 * @text as the file @path: a reader sees the old text or the new, never a part. The new file is made
 * beside it, under a hidden name that ends in no ".prom", with mode and owner of the old. A symbolic link
 * is followed; what is no regular file, a device or a pipe that somebody reads, is written into, and a signal
 * ends that with a part of it written (stopper_write()).
 */
int replace_file(const char *path, const char *text, struct stopper *stopper, struct error *e);

#endif
