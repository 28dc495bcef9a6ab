/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where members lie in the running kernel, kept so that its type information is parsed once a boot. */
#ifndef BTF_CACHE_H
#define BTF_CACHE_H

#include "snapshot_types.h"

#define BTF_CACHE_DIR "/run/vhostctl"

/*
 * What names the running kernel and its modules: release, build ids, size of their BTF below
 * @btf_dir. Changes when any of them is another. To be freed.
 */
char *btf_cache_key(const char *btf_dir);

/*
 * Read the layout kept in @dir for @key. -1 when there is none, or it is not to be trusted: of
 * another kernel or program, damaged, or a file or directory that somebody else may write.
 */
int btf_cache_load(const char *dir, const char *key, struct snap_layout *at);

/* Keep it. -1 and errno when that cannot be, as for users who may not write @dir. */
int btf_cache_store(const char *dir, const char *key, const struct snap_layout *at);

/* The modules whose types are needed, "vmlinux" first; NULL at the end. */
extern const char *const btf_modules[];

#endif
